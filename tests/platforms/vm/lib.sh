# shellcheck shell=bash disable=SC2034 # variables for those who read this
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# What the scripts of this folder share: messages, the cache, locks, packages.
# Everything in the cache can be made from nothing; what is being made has another name
# until it is complete.

VM_CACHE=${HPCB_CACHE:-/var/cache/slurm-hpc-balance}/vm
# Statuses of the machine's command are below this one (see the README).
VM_BROKEN=125
# The suite whose stock kernel and kernel source qemu runs.
VM_KERNEL_SUITE=trixie

say() { echo "vm: $*" >&2; }

die() {
    say "$*"
    exit $VM_BROKEN
}

# Runs a function while no other run on this machine does the same.
with_lock() { # with_lock NAME FUNCTION ARG...
    local lock=$VM_CACHE/$1.lock
    shift
    mkdir -p "$VM_CACHE" || die "cannot make $VM_CACHE"
    (
        flock --nonblock 8 || {
            say "waiting for another run that makes the same ($lock) ..."
            flock 8
        }
        "$@"
    ) 8> "$lock"
}

# Installs a package unless its command is there.
need() { # need COMMAND PACKAGE
    ! command -v "$1" > /dev/null || return 0
    say "installing $2 ..."
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install \
        --no-install-recommends "$2" < /dev/null > "$VM_CACHE/apt.log" 2>&1 ||
        { tail -n 5 "$VM_CACHE/apt.log" >&2 && die "cannot install $2"; }
}

# The Debian mirror that this machine's apt uses.
mirror() {
    apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' |
        grep -m 1 -E '/debian/?$'
}

# An apt of its own for another suite, that knows nothing of what is installed here.
suite_apt() { # suite_apt SUITE apt-get|apt-cache ARG...
    local dir=$VM_CACHE/apt-$1 tool=$2
    shift 2
    "$tool" -q -o Dir::State="$dir/state" -o Dir::State::status="$dir/status" \
        -o Dir::Cache="$dir/cache" -o Dir::Etc::sourcelist="$dir/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o APT::Sandbox::User=root "$@" < /dev/null
}

suite_lists() { # suite_lists SUITE
    local dir=$VM_CACHE/apt-$1 from
    [ ! -e "$dir/ready" ] || return 0
    from=$(mirror) || die "this machine's apt has no Debian mirror"
    say "reading the package lists of $1 ..."
    mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
    : > "$dir/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from $1 main" \
        > "$dir/sources.list"
    suite_apt "$1" apt-get update > "$dir/log" 2>&1 ||
        { tail -n 3 "$dir/log" >&2 && die "apt-get update for $1 failed"; }
    touch "$dir/ready"
}

# Downloads PACKAGE of SUITE ("host": of this machine's own) into DIR.
download() { # download SUITE PACKAGE DIR
    local get=(apt-get -q)
    [ "$1" = host ] || { suite_lists "$1" && get=(suite_apt "$1" apt-get); }
    say "downloading $2 ..."
    mkdir -p "$3"
    (cd "$3" && "${get[@]}" download "$2" > download.log 2>&1) && return
    # The lists are older than the mirror.
    if [ "$1" = host ]; then
        apt-get -q update > "$3/download.log" 2>&1
    else
        rm -f "$VM_CACHE/apt-$1/ready"
        suite_lists "$1"
    fi
    (cd "$3" && "${get[@]}" download "$2" > download.log 2>&1) ||
        { tail -n 3 "$3/download.log" >&2 && die "cannot download $2"; }
}

# Unpacks PACKAGE into $VM_CACHE/NAME without installing it.
unpack() { # unpack SUITE PACKAGE NAME
    local new=$VM_CACHE/$3.new
    [ ! -d "$VM_CACHE/$3" ] || return 0
    rm -rf "$new"
    download "$1" "$2" "$new/deb"
    dpkg-deb -x "$new"/deb/*.deb "$new" || die "cannot unpack $2"
    rm -rf "$new/deb"
    mv "$new" "$VM_CACHE/$3"
}

busybox() { "$VM_CACHE/busybox/bin/busybox" "$@"; }

have_busybox() {
    [ -x "$VM_CACHE/busybox/bin/busybox" ] || with_lock busybox make_busybox || exit
}

make_busybox() {
    unpack host busybox-static busybox.deb
    mkdir -p "$VM_CACHE/busybox/bin"
    cp -L "$VM_CACHE"/busybox.deb/{,usr/}bin/busybox "$VM_CACHE/busybox/bin/" 2> /dev/null
    busybox true || die "Debian's busybox-static does not run here"
}
