# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# Source packages of what is installed; for slurm-headers and mpi-suites.  apt works with
# sources and lists of our own below a temporary directory: /etc/apt and what apt knows of
# the system stay as they are.  The keys are the system's.
# shellcheck shell=bash

# apt_source_init DIR [ROOT]: use DIR for lists and archives; ROOT is the Debian that is
# asked instead of this one.
apt_source_init() {
    apt_work=$1 apt_root=${2:-}
    mkdir -p "$apt_work"/{lists,archives,parts} || return
    apt_lists=(-o "Dir::State::Lists=$apt_work/lists" -o "Dir::Cache=$apt_work/archives")
    apt_sources=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt_work/parts")
    # A mirror that stands still has the sources of a root file system that was made from it.
    [ -z "$apt_root" ] || apt_sources+=(-o Acquire::Check-Valid-Until=false)
}

quietly() { timeout 240 "$@" > "$apt_work/log" 2>&1 < /dev/null; }
last_lines() { grep '^E: ' "$apt_work/log" | tail -n 2 >&2 || tail -n 2 "$apt_work/log" >&2; }

# Prints the address that version VERSION of PACKAGE comes from.
apt_source_origin() { # apt_source_origin PACKAGE VERSION [APT OPTION]...
    apt-cache "${@:3}" madison "$1" 2> /dev/null |
        awk -F ' *[|] *' -v version="$2" '$2 == version { print $3; exit }' | cut -d' ' -f1
}

# The system's own entries for that address, for sources instead of packages; of a root
# file system all.
apt_source_entries() { # apt_source_entries ADDRESS
    local file etc=$apt_root/etc/apt
    for file in "$etc"/sources.list.d/*.sources; do
        [ ! -r "$file" ] || awk -v address="$1" 'BEGIN { RS = ""; ORS = "\n\n" }
            index($0, address) { sub(/Types:[^\n]*/, "Types: deb-src"); print }' "$file"
    done > "$apt_work/parts/ours.sources"
    for file in "$etc"/sources.list "$etc"/sources.list.d/*.list; do
        [ ! -r "$file" ] || awk -v address="$1" '$1 == "deb" && index($0, address) {
            sub(/deb/, "deb-src"); print }' "$file"
    done > "$apt_work/parts/ours.list"
}

# Fetch the list of source packages from where version VERSION of PACKAGE comes from.  If
# that fails, say why on stderr and return 1.
apt_source_lists() { # apt_source_lists PACKAGE VERSION
    local address=
    [ -n "$apt_root" ] || address=$(apt_source_origin "$1" "$2")
    if [ -z "$apt_root" ] && [ -z "$address" ]; then
        quietly apt-get "${apt_lists[@]}" update
        address=$(apt_source_origin "$1" "$2" "${apt_lists[@]}")
        [ -n "$address" ] || { complain "no source of packages has $1 $2" && return 1; }
    fi
    apt_source_entries "$address"
    quietly apt-get "${apt_lists[@]}" "${apt_sources[@]}" update || {
        last_lines
        complain "there is no list of source packages from ${address:-where $apt_root is from}"
        return 1
    }
}

# Put what `apt-get source --download-only OPTION...` fetches into the current directory.
apt_source_fetch() { # apt_source_fetch OPTION...
    quietly apt-get "${apt_lists[@]}" "${apt_sources[@]}" source --download-only "$@"
}
