# shellcheck shell=bash disable=SC2034,SC2154 # the files of lib/ share variables
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# The machine's cgroup hierarchies.  Every function here but the first three runs in a
# mount namespace of its own and mounts afresh what /proc/self/cgroup lists, so that the
# machine's layout of /sys/fs/cgroup does not matter, and a chroot that has none works
# too.
#
# v1 and hybrid: each host gets a group hpcb_<ID>_<host> below the caller's own in
# every hierarchy that Slurm or we write to, but not in `cpu`: the hosts' tasks stay in
# the caller's cpu group, as tasks do on a v1 site, where autogroup keeps nice values
# of different sessions apart.  Limits that hold for the caller hold for the hosts.
#
# v2: hpcb_<ID>/<host> below the root, the only group that may hold processes and hand
# out controllers at once.  That group is the root which the host sees, and a pure
# parent, since it hands out controllers itself:
#   init                     process 1, all daemons but slurmd, what `exec` runs
#   door                     who waits outside for what runs inside: of another PID
#                            namespace, which slurmd (24.11) refuses to have beside it
#   system.slice             as systemd has it
#     slurmd.<N>.service     slurmd; Slurm makes <node>_slurmstepd.scope here by itself

V1_OURS='cpuset cpuacct freezer devices pids memory'
V2_OURS='cpu cpuset memory pids'

# Slurm takes any v1 hierarchy, also one without controllers, for a v1 or hybrid machine.
cgroup_version() {
    if grep -q '^[1-9]' /proc/self/cgroup; then echo 1; else echo 2; fi
}

# Prints the controllers of the version that is used, each between blanks.
cgroup_controllers() {
    local names
    if [ "$(cgroup_version)" = 1 ]; then
        names=$(awk -F: '$1 > 0 { gsub(/,/, " ", $2); printf "%s ", $2 }' /proc/self/cgroup)
    else
        names=$(with_cgroups cat /sys/fs/cgroup/cgroup.controllers)
    fi
    echo " $names "
}

# Runs a function of this file, or a command, with all hierarchies mounted, in a mount
# namespace that ends with it.
with_cgroups() { # with_cgroups FUNCTION ARG...
    unshare --mount --propagation unchanged -- bash "$HERE/host" cgroups "$HERE" "$@" 9>&-
}

# Prints "MOUNT PATH" for each hierarchy: its place below /sys/fs/cgroup and the
# caller's group in it.
cgroup_hierarchies() {
    local controllers path unified=
    [ "$(cgroup_version)" = 2 ] || unified=unified
    while IFS=: read -r _ controllers path; do
        case $controllers in
        '') echo "${unified:-.} $path" ;;
        name=*) ;;
        *) echo "$controllers $path" ;;
        esac
    done < /proc/self/cgroup
}

# Mounts every hierarchy below /sys/fs/cgroup, v1 names as symlinks where controllers
# share a hierarchy.  The mount namespace must be private.  In a new network namespace
# sysfs is mounted anew and shows that; in the old one the kernel refuses.
cgroup_mount_all() {
    local where _ name
    mount -t sysfs sysfs /sys 2> /dev/null || [ -d /sys/fs/cgroup ] || return 1
    if [ "$(cgroup_version)" = 2 ]; then
        # The kernel refuses the same mount on top of itself.
        umount -R -l /sys/fs/cgroup 2> /dev/null
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        return
    fi
    mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup || return 1
    while read -r where _; do
        mkdir "/sys/fs/cgroup/$where"
        if [ "$where" = unified ]; then
            mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified || return 1
            continue
        fi
        mount -t cgroup -o "$where" cgroup "/sys/fs/cgroup/$where" || return 1
        for name in ${where//,/ }; do
            [ -e "/sys/fs/cgroup/$name" ] || ln -s "$where" "/sys/fs/cgroup/$name"
        done
    done < <(cgroup_hierarchies)
}

# True for a v1 hierarchy in which hosts get groups of their own.
cgroup_is_ours() { # cgroup_is_ours CONTROLLERS
    local name
    [ "$1" != unified ] || return 0
    for name in ${1//,/ }; do [ "$name" != cpu ] || return 1; done
    for name in ${1//,/ }; do [[ " $V1_OURS " != *" $name "* ]] || return 0; done
    return 1
}

# Moves the calling shell into the host's groups, making them.
cgroup_join() { # cgroup_join ID HOST
    if [ "$(cgroup_version)" = 2 ]; then
        cgroup_join_v2 "$1" "$2"
    else
        cgroup_join_v1 "$1" "$2"
    fi
}

cgroup_join_v1() {
    local where path group knob
    while read -r where path; do
        cgroup_is_ours "$where" || continue
        group=/sys/fs/cgroup/$where${path%/}/hpcb_$1_$2
        mkdir -p "$group" || return 1
        for knob in cpuset.cpus cpuset.mems; do
            [ ! -e "$group/$knob" ] || cat "$group/../$knob" > "$group/$knob"
        done
        echo $BASHPID > "$group/cgroup.procs" || return 1
    done < <(cgroup_hierarchies)
}

# The controllers of ours that a v2 group has, or with subtree_control: hands out.
cgroup_v2_list() { # cgroup_v2_list DIR controllers|subtree_control
    local name have
    read -r have 2> /dev/null < "$1/cgroup.$2" || have=
    for name in $V2_OURS; do
        [[ " $have " != *" $name "* ]] || echo "$name"
    done
}

# Lets a v2 group hand out what it has.
cgroup_v2_enable() { # cgroup_v2_enable DIR
    local name
    for name in $(cgroup_v2_list "$1" controllers); do
        echo "+$name" > "$1/cgroup.subtree_control" || return 1
    done
}

cgroup_join_v2() {
    local top=/sys/fs/cgroup/hpcb_$1
    mkdir -p "$top/$2" && cgroup_v2_enable /sys/fs/cgroup && cgroup_v2_enable "$top" || {
        say "cgroup v2: the uppermost group that is seen here holds processes and is not" \
            "the kernel's root: it cannot hand out controllers"
        return 1
    }
    echo $BASHPID > "$top/$2/cgroup.procs"
}

# What the root of the v2 hierarchy must be asked for, as one line for the state file.
cgroup_v2_missing() {
    comm -23 <(cgroup_v2_list /sys/fs/cgroup controllers | sort) \
        <(cgroup_v2_list /sys/fs/cgroup subtree_control | sort) | paste -sd ' '
}

# Inside a host, at the root of its cgroup namespace: prints the files by which a
# process joins the host's groups.
cgroup_prepare_host() {
    local where _
    if [ "$(cgroup_version)" = 2 ]; then
        cgroup_prepare_host_v2 && echo /sys/fs/cgroup/door/cgroup.procs
        return
    fi
    while read -r where _; do
        ! cgroup_is_ours "$where" || echo "/sys/fs/cgroup/$where/cgroup.procs"
    done < <(cgroup_hierarchies)
}

# Slurm before 24.11 makes only the last directory of its path, and moves an ending
# slurmstepd into the root of CgroupMountpoint, which only the machine's root allows.
# Hence for it a directory (write_cgroup_conf) with another cgroup.procs; it only ever
# puts names together.
cgroup_prepare_host_v2() {
    local name
    mkdir /sys/fs/cgroup/init /sys/fs/cgroup/door /sys/fs/cgroup/system.slice /run/cgroup &&
        echo $$ > /sys/fs/cgroup/init/cgroup.procs || return 1
    cgroup_v2_enable /sys/fs/cgroup && cgroup_v2_enable /sys/fs/cgroup/system.slice || return 1
    for name in init door system.slice cgroup.controllers cgroup.subtree_control; do
        ln -s "/sys/fs/cgroup/$name" /run/cgroup/
    done
    ln -s /sys/fs/cgroup/init/cgroup.procs /run/cgroup/cgroup.procs
}

# Every group of sandbox ID in every hierarchy, deepest first.
cgroup_find() { # cgroup_find ID
    find /sys/fs/cgroup -depth -type d \
        \( -name "hpcb_$1" -o -name "hpcb_$1_*" \) -print 2> /dev/null |
        while read -r top; do find "$top" -depth -type d 2> /dev/null; done | awk '!seen[$0]++'
}

# A frozen task of a v1 freezer does not die of SIGKILL before it is thawed.
cgroup_thaw() { # cgroup_thaw ID
    local group
    while read -r group; do
        [ ! -e "$group/freezer.state" ] || echo THAWED > "$group/freezer.state"
        [ ! -e "$group/cgroup.freeze" ] || echo 0 > "$group/cgroup.freeze"
    done < <(cgroup_find "$1") 2> /dev/null
}

# Removes every group of sandbox ID; fails while one of them is busy.
cgroup_remove() { # cgroup_remove ID
    local group ok=0
    while read -r group; do
        rmdir "$group" 2> /dev/null || [ ! -d "$group" ] || ok=1
    done < <(cgroup_find "$1")
    return $ok
}

cgroup_v2_release() { # cgroup_v2_release CONTROLLER...
    local controller
    for controller; do
        echo "-$controller" 2> /dev/null > /sys/fs/cgroup/cgroup.subtree_control
    done
    return 0
}
