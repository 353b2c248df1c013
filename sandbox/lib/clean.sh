# shellcheck shell=bash disable=SC2034,SC2154 # the files of lib/ share variables
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# down: from DIR/state alone, whatever state the sandbox is in.

sandbox_down() {
    if [ ! -e "$DIR" ]; then
        ID=$(id_of_lost_dir)
        [ -n "$ID" ] || { say "$DIR: nothing to remove" && return; }
        remove_sandbox
        return
    fi
    is_ours || is_unused || die "$DIR is not a sandbox's directory"
    lock_dir
    load_state || ID=
    remove_sandbox || die "$DIR: could not remove everything; try down again"
    say "down"
}

# The number of a sandbox whose directory somebody has deleted, from its processes.
# Another root directory (a chroot) may have a sandbox in a directory of the same name.
id_of_lost_dir() {
    local pid word
    while read -r pid; do
        [ "/proc/$pid/root" -ef / ] || continue
        while read -r -d '' word; do
            [[ $word == hpcb-host=*:"$DIR" ]] || continue
            word=${word#hpcb-host=}
            echo "${word%%:*}"
            return
        done < "/proc/$pid/cmdline"
    done < <(grep -lsazE '^hpcb-host=[0-9]+:' /proc/[0-9]*/cmdline | cut -d/ -f3)
}

# Processes first, then cgroups, then the directory.  With "keep", the directory
# itself and the lock stay.
# shellcheck disable=SC2120 # up gives the argument
remove_sandbox() { # remove_sandbox [keep]
    if [ -n "$ID" ]; then
        end_processes && wait_for 20 "cgroups to empty" with_cgroups cgroup_remove "$ID" ||
            return 1
        release_v2
    fi
    if [ "${1:-}" = keep ]; then
        find "$DIR" -xdev -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf --one-file-system {} +
    else
        rm -rf --one-file-system -- "$DIR"
    fi
}

end_processes() {
    local deadline=$((SECONDS + 30)) pids
    with_cgroups cgroup_thaw "$ID"
    while :; do
        mapfile -t pids < <(host_processes "$ID")
        [ ${#pids[@]} -gt 0 ] || return 0
        [ $SECONDS -lt $deadline ] || break
        kill -9 "${pids[@]}" 2> /dev/null
        sleep 0.05
    done
    say "processes ${pids[*]} do not end"
    return 1
}

# Controllers that `up` switched on at the root of a v2 hierarchy; the kernel refuses
# while somebody else uses them, and rightly.
release_v2() {
    [ -z "${V2_ENABLED// /}" ] || with_cgroups cgroup_v2_release $V2_ENABLED
}
