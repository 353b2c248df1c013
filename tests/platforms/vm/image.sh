# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# Disks.  A directory becomes an ext4 file by mke2fs -d: no loop device, no mount that
# could be left behind.  What is mounted below the directory, and what a machine makes
# itself, stays out: the copy is taken in a mount namespace of its own.
#
# The disk of a root file system is kept in the cache under a stamp of its content
# (names, sizes, times, owners) and never written to: machines write elsewhere.  A
# machine holds a shared lock on its disk, so that disks nobody needs can be removed.

# Runs CMD where DIR is seen at /mnt without what is mounted in it, and of a root file
# system only what a machine keeps.
in_copy() { # in_copy DIR root|plain CMD...
    # shellcheck disable=SC2016 # expanded in there
    unshare --mount --propagation private -- sh -ec '
        mount --bind "$1" /mnt
        for name in tmp run var/cache/apt var/lib/apt/lists root/slurm-hpc-balance root/out; do
            if [ "$2" = root ] && [ -d "/mnt/$name" ] && [ ! -L "/mnt/$name" ]; then
                mount -t tmpfs -o mode=755 hpcb "/mnt/$name"
                touch -d @0 "/mnt/$name"
            fi
        done
        shift 2
        exec "$@"' sh "$@"
}

root_stamp() { # root_stamp DIR
    in_copy "$1" root find /mnt -printf '%P %y %m %U:%G %s %T@ %l\n' |
        LC_ALL=C sort | sha256sum | cut -c 1-16
}

make_disk() { # make_disk DIR root|plain FILE FREE-MB
    local used inodes
    read -r used inodes < <(in_copy "$1" "$2" sh -c \
        'echo "$(du -sm /mnt | cut -f 1) $(find /mnt | wc -l)"')
    [ -n "${used:-}" ] || return 1
    rm -f "$3"
    in_copy "$1" "$2" mke2fs -q -F -t ext4 -O ^has_journal -m 0 \
        -N $((inodes + 200000)) -E root_owner=0:0,lazy_itable_init=1 -d /mnt \
        "$3" $((used + used / 8 + $4))M > /dev/null
}

# How often a disk is made of a directory that changes meanwhile, and seconds between.
DISK_TRIES=3
DISK_PAUSE=10

# Prints the name of the disk for the root file system DIR, which is locked as file
# descriptor 7 of the caller once that opens it.
root_disk() { # root_disk DIR
    local stamp disk try
    mkdir -p "$VM_CACHE/disks"
    for ((try = 1; try <= DISK_TRIES; try++)); do
        [ $try -eq 1 ] || sleep $DISK_PAUSE
        stamp=$(root_stamp "$1") && [ -n "$stamp" ] || die "cannot read $1"
        disk=$VM_CACHE/disks/$stamp.ext4
        if [ -e "$disk" ] || with_lock disks make_root_disk "$1" "$disk"; then
            echo "$disk" && return
        fi
        say "no disk of $1 (try $try of $DISK_TRIES)"
    done
    die "$1 is changing, or there is no room in $VM_CACHE"
}

# Fails where DIR is not any more what DISK is named after.
make_root_disk() { # make_root_disk DIR DISK
    [ ! -e "$2" ] || return 0
    say "making a disk of $1 ..."
    make_disk "$1" root "$2.new" 3072 || { rm -f "$2.new" && say "mke2fs failed" && return 1; }
    [ "$VM_CACHE/disks/$(root_stamp "$1").ext4" = "$2" ] ||
        { rm -f "$2.new" && say "$1 has changed meanwhile" && return 1; }
    echo "$1" > "$2.from"
    mv "$2.new" "$2"
    forget_disks "$1" "$2"
}

# Removes disks of the same directory that it has outgrown, unless a machine runs on
# one, disks of directories that are no more, and what killed runs did not finish.  With
# the lock under which disks are made.
forget_disks() { # forget_disks DIR DISK
    local from other
    for from in "$VM_CACHE"/disks/*.from; do
        other=${from%.from}
        [ "$other" != "$2" ] || continue
        [ "$(cat "$from")" = "$1" ] || [ ! -d "$(cat "$from")" ] || continue
        # Without its disk, too: flock would make one that is empty.
        if [ -e "$other" ]; then
            flock --nonblock "$other" rm -f "$other" "$from"
        else
            rm -f "$from"
        fi
    done
    rm -f "$VM_CACHE"/disks/*.new
}
