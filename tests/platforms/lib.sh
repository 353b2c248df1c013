# shellcheck shell=bash disable=SC2034 # used by the scripts that read this
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# What the scripts of this directory share: names of platforms, messages, the cache.

TOP=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
CACHE=${HPCB_CACHE:-/var/cache/slurm-hpc-balance}

# The exit code for what cannot be here and is nobody's fault: a suite that has moved on.
NOT_AVAILABLE=3

# Every platform of doc/platforms.md, in its order.  bookworm's and trixie's Slurm stay as
# they are; forky's is the one that was there when this was written.
SUITES=(bookworm trixie forky)
PLATFORMS=(22.05-v1 22.05-v2 24.11-v1 24.11-v2 26.05-v1 26.05-v2)

PROGRAM=${0##*/}
say() { printf '%s: [%s] %s\n' "$PROGRAM" "$(date +%T)" "$*" >&2; }
die() { say "$@" && exit 1; }
usage_error() { echo "$PROGRAM: $* (see --help)" >&2 && exit 2; }

# The release of Slurm that a suite has.
release_of() { # release_of SUITE
    case $1 in
    bookworm) echo 22.05 ;;
    trixie) echo 24.11 ;;
    forky) echo 26.05 ;;
    *) return 1 ;;
    esac
}

suite_of() { # suite_of RELEASE
    local suite
    for suite in "${SUITES[@]}"; do
        [ "$(release_of "$suite")" != "$1" ] || { echo "$suite" && return; }
    done
    return 1
}

# A testing suite changes under us: that it cannot be had is no fault of this project.
is_moving() { [ "$1" = forky ]; } # is_moving SUITE

# A command as a reader of this tree types it, wherever the tree and its cache are.
as_typed() { # as_typed WORD...
    local word words=()
    for word; do
        word=${word#"$TOP/"}
        case $word in
        "$CACHE"/rootfs/*) word="\$(tests/platforms/rootfs ${word##*/})" ;;
        *[!A-Za-z0-9_./=+:,@%-]* | '') word=${word@Q} ;;
        esac
        words+=("$word")
    done
    echo "${words[*]}"
}

is_root() { [ "$(id -u)" = 0 ] || die "must be run as root"; }

# Waits until nobody else makes the same thing; the lock ends with the process.
lock() { # lock FILE
    mkdir -p "${1%/*}" || die "cannot make ${1%/*}"
    exec 9> "$1" || die "cannot write $1"
    flock -n 9 || {
        say "waiting for another run ($1) ..."
        flock -w 1800 9 || die "$1 is still locked after 30 minutes"
    }
}

# A package of the machine's own, where a script needs it.
need() { # need COMMAND PACKAGE
    command -v "$1" > /dev/null || {
        say "installing $2 ..."
        DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -q -y -o DPkg::Lock::Timeout=200 \
            install --no-install-recommends "$2" > /dev/null 2>&1 < /dev/null ||
            { timeout 200 apt-get -q update > /dev/null 2>&1 < /dev/null &&
                DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -q -y install \
                    --no-install-recommends "$2" > /dev/null 2>&1 < /dev/null; }
    }
    command -v "$1" > /dev/null || die "$1 is needed: install the package $2"
}
