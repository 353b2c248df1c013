# shellcheck shell=bash disable=SC2034,SC2154 # the files of lib/ share variables
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# Messages, the state file, the lock, and finding and entering hosts.
#
# DIR/state is the only thing that `down` needs.  It is written before anything else
# is made and holds the sandbox's number ID, which is part of every name that leaves
# the directory: cgroups hpcb_<ID>_* and the argument hpcb-host=<ID>:<DIR> of every
# host's processes, by which they are found again without trusting recorded pids.

# How many times slower than a usual machine this one is (emulation): the factor of all
# waits.  The end-to-end tests use it too.
SLOWNESS=${HPCB_E2E_SLOWNESS:-1}
[[ $SLOWNESS =~ ^[1-9][0-9]?$ ]] || SLOWNESS=1
ANSWER=$((5 * SLOWNESS)) # seconds that a command of Slurm's may take

# What load_state reads.
ID='' NODES=0 PLAIN=no USER_NAME='' SHARED=no V2_ENABLED='' UP=no

say() { printf 'hpcb-sandbox: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }
usage_error() { say "$* (see hpcb-sandbox --help)"; exit 2; }

# True when DIR is a directory of ours that nobody else could have prepared.
is_ours() {
    [ -d "$DIR" ] && [ ! -L "$DIR" ] && [ -f "$DIR/state" ] && [ ! -L "$DIR/state" ] ||
        return 1
    local owner mode file_owner
    { read -r owner mode && read -r file_owner _; } < <(stat -c '%u %a' -- "$DIR" "$DIR/state")
    [ "$owner:$file_owner" = 0:0 ] && [ $((0$mode & 022)) = 0 ]
}

# True for a directory of root's in which nothing is, or as an early end of `up` left it.
is_unused() {
    [ -d "$DIR" ] && [ ! -L "$DIR" ] && [ "$(stat -c %u -- "$DIR")" = 0 ] &&
        [ -z "$(find "$DIR" -mindepth 1 ! -name lock -print -quit)" ]
}

# Reads DIR/state.  Fails without one.
load_state() {
    ID='' NODES=0 PLAIN=no USER_NAME='' SHARED=no V2_ENABLED='' UP=no
    is_ours || return 1
    local key value
    while IFS='=' read -r key value; do
        case $key in
        id) ID=$value ;;
        nodes) NODES=$value ;;
        plain) PLAIN=$value ;;
        user) USER_NAME=$value ;;
        shared) SHARED=$value ;;
        v2_enabled) V2_ENABLED=$value ;;
        up) UP=$value ;;
        esac
    done < "$DIR/state"
    [[ $ID =~ ^[0-9]+$ && $NODES =~ ^[0-9]+$ ]]
}

add_state() { printf '%s\n' "$@" >> "$DIR/state"; } # add_state KEY=VALUE...

# One `up` or `down` at a time on a directory.  Descriptor 9 holds the lock; nothing
# that outlives the command may inherit it.  A `down` that ends meanwhile removes the
# file, so that the lock is good only while the name still leads to it.
lock_dir() {
    while :; do
        exec 9<> "$DIR/lock" || die "cannot write $DIR/lock"
        flock -n 9 || die "$DIR: another hpcb-sandbox up or down is at work here"
        [ "$DIR/lock" -ef /proc/self/fd/9 ] && return
        mkdir -p -- "$DIR"
    done
}

host_token() { printf 'hpcb-host=%s:%s' "$1" "$DIR"; } # host_token ID

# Pids of every process of this sandbox's hosts that runs in our own PID namespace:
# the launching unshare and process 1 of each.
host_processes() { # host_processes ID
    # From a file, or grep's own arguments would match.
    grep -lszxF -f <(host_token "$1") /proc/[0-9]*/cmdline | cut -d/ -f3
}

# Prints the pid of process 1 of HOST as seen from here, or fails.
host_pid() { # host_pid HOST
    local pid word
    read -r pid 2> /dev/null < "$DIR/hosts/$1/pid" || return 1
    [[ $pid =~ ^[0-9]+$ ]] || return 1
    # Without a process of our own: `exec` comes through here.
    while read -r -d '' word; do
        [ "$word" != "hpcb-host=$ID:$DIR" ] || { echo "$pid" && return; }
    done 2> /dev/null < "/proc/$pid/cmdline"
    return 1
}

host_names() { # every host, controller first
    local i
    echo ctl
    for ((i = 1; i <= NODES; i++)); do echo "n$i"; done
}

# Replaces the caller by CMD inside HOST, as USER, in CWD where that exists.  Joins the
# host's cgroups first (0 is the writer): from inside its cgroup namespace the kernel
# may refuse that (v2 with nsdelegate).  9 is the lock.
enter_host() { # enter_host HOST USER CWD CMD...
    local pid procs
    pid=$(host_pid "$1") || {
        say "$DIR: host $1 is not running"
        exit 1
    }
    shift
    while read -r procs; do
        echo 0 > "/proc/$pid/root$procs"
    done < "/proc/$pid/root/run/cgroups" 2> /dev/null
    exec nsenter -t "$pid" -m -u -i -n -p -C -r -w -- /run/hpcb/lib/enter "$@" 9>&-
}

in_host() { # in_host HOST CMD...: the same as root in /, and come back
    local host=$1
    shift
    (enter_host "$host" root / "$@")
}

# Waits until CMD succeeds; says once for what, if that takes longer than a second.
wait_for() { # wait_for SECONDS WHAT CMD...
    local limit=$(($1 * SLOWNESS)) what=$2 start=$SECONDS told=no
    shift 2
    until "$@" > /dev/null 2>&1; do
        [ $((SECONDS - start)) -lt "$limit" ] || return 1
        if [ $told = no ] && [ $((SECONDS - start)) -ge 1 ]; then
            say "waiting for $what ..."
            told=yes
        fi
        sleep 0.1
    done
}
