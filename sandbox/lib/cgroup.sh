# shellcheck shell=bash disable=SC2034,SC2154 # the files of lib/ share variables
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# The machine's cgroup hierarchies.  Every function here runs in a mount namespace of
# its own and mounts afresh what /proc/self/cgroup lists, so that the machine's layout
# of /sys/fs/cgroup does not matter, and a chroot that has none works too.
#
# v1 and hybrid: each host gets a group hpcb_<ID>_<host> below the caller's own in
# every hierarchy that Slurm or we write to, but not in `cpu`: the hosts' tasks stay in
# the caller's cpu group, as tasks do on a v1 site, where autogroup keeps nice values
# of different sessions apart.  Limits that hold for the caller hold for the hosts.
# v2: hpcb_<ID>/<host> below the root, the only group that may hold processes and
# hand out controllers at once.

V1_OURS='cpuset cpuacct freezer devices pids memory'

# v1 when Slurm's controllers are there, as on a hybrid machine; else v2.
cgroup_version() {
    if grep -qE '^[0-9]+:([a-z_]+,)*cpuset[,:]' /proc/self/cgroup; then echo 1; else echo 2; fi
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
    mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup || return 1
    if [ "$(cgroup_version)" = 2 ]; then
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        return
    fi
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

cgroup_join_v2() {
    local top=/sys/fs/cgroup/hpcb_$1 controller
    mkdir -p "$top/$2" || return 1
    for controller in cpu cpuset memory pids; do
        echo "+$controller" 2> /dev/null > /sys/fs/cgroup/cgroup.subtree_control
        echo "+$controller" > "$top/cgroup.subtree_control" ||
            say "cgroup v2: no $controller controller below $top"
    done
    echo $BASHPID > "$top/$2/cgroup.procs"
}

# What the root of the v2 hierarchy must be asked for, as one line for the state file.
cgroup_v2_missing() {
    local controller enabled missing=
    read -r enabled < /sys/fs/cgroup/cgroup.subtree_control || return 0
    for controller in cpu cpuset memory pids; do
        [[ " $enabled " == *" $controller "* ]] || missing+=" $controller"
    done
    echo "$missing"
}

# Inside a host, at the root of its cgroup namespace: prints the files by which a
# process joins the host's groups.  On v2 the root becomes a pure parent, and
# Slurm 22.05, which makes only the last directory of its path, finds the rest.
cgroup_prepare_host() {
    local where _ child
    if [ "$(cgroup_version)" = 1 ]; then
        while read -r where _; do
            ! cgroup_is_ours "$where" || echo "/sys/fs/cgroup/$where/cgroup.procs"
        done < <(cgroup_hierarchies)
        return
    fi
    mkdir /sys/fs/cgroup/init /sys/fs/cgroup/system.slice
    echo $$ > /sys/fs/cgroup/init/cgroup.procs
    for child in . system.slice; do
        for where in cpu cpuset memory pids; do
            echo "+$where" 2> /dev/null > "/sys/fs/cgroup/$child/cgroup.subtree_control"
        done
    done
    echo /sys/fs/cgroup/init/cgroup.procs
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

# Runs a function of this file with all hierarchies mounted, in a mount namespace that
# ends with it.
with_cgroups() { # with_cgroups FUNCTION ARG...
    unshare --mount --propagation unchanged -- bash "$HERE/host" cgroups "$HERE" "$@" 9>&-
}

cgroup_v2_release() { # cgroup_v2_release CONTROLLER...
    local controller
    for controller; do
        echo "-$controller" 2> /dev/null > /sys/fs/cgroup/cgroup.subtree_control
    done
    return 0
}
