# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# Helpers for tests on a sandbox cluster.  A bats file calls sandbox_up in setup_file
# and sandbox_down in teardown_file.  When $HPCB_SANDBOX_DIR names a sandbox that is up
# already, the tests run on that one and leave it up.
#
# HPCB_E2E_SLOWNESS (1 to 99, default 1) is the factor of all times on an emulated
# machine: what the tests wait for, and how long their jobs run.
#
# A test that a platform or a release of Slurm cannot pass says `skip` with the reason
# (needs_cpuset, needs_cpus, ...).  Cgroups are looked up through /proc/PID/cgroup, never
# put together: v1 and v2 differ, and so do releases (job_<id>, or since 26.05 a SLUID).

HPCB_TOP=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
SANDBOX=${HPCB_SANDBOX:-$HPCB_TOP/sandbox/hpcb-sandbox}

secs() { echo $(($1 * ${HPCB_E2E_SLOWNESS:-1})); } # secs N: N seconds, or minutes

# In a bats test a line that begins with `!` never fails; this does.
not() { ! "$@"; } # not CMD...

# A borrowed sandbox whose maker left its options in a file beside it is made anew where
# the test wants others.
reshape() { # reshape [UP OPTION]...
    local file=$HPCB_SANDBOX_DIR.shape
    [ -e "$file" ] && [ "$(cat "$file")" != "$*" ] || return 0
    timeout -k 5 "$(secs 120)" "$SANDBOX" down
    timeout -k 5 "$(secs 600)" "$SANDBOX" up "$@" && echo "$*" > "$file"
}

# One cluster a file, in a directory of its own, exported as HPCB_SANDBOX_DIR.
sandbox_up() { # sandbox_up [UP OPTION]...
    export HPCB_SANDBOX_BORROWED=no
    if [ -n "${HPCB_SANDBOX_DIR:-}" ] && timeout -k 5 "$(secs 60)" "$SANDBOX" status > /dev/null 2>&1; then
        HPCB_SANDBOX_BORROWED=yes
        reshape "$@" || return 1
    else
        HPCB_SANDBOX_DIR=$(mktemp -d /tmp/hpcb-e2e.XXXXXX)
        export HPCB_SANDBOX_DIR
        timeout -k 5 "$(secs 600)" "$SANDBOX" up "$@" || return 1
    fi
    look_at_platform
}

# Sets CGROUP (1 or 2), CONTROLLERS (each between blanks) and SLURM (22.05.8) to what the
# nodes have.
look_at_platform() {
    CGROUP=1 CONTROLLERS=$(run_in_node n1 sh -c \
        'cat /sys/fs/cgroup/cgroup.controllers 2> /dev/null || ls /sys/fs/cgroup')
    ! run_in_node n1 test -e /sys/fs/cgroup/cgroup.controllers || CGROUP=2
    CONTROLLERS=" ${CONTROLLERS//$'\n'/ } "
    SLURM=$(sandbox_exec -- sinfo -V | awk '{ print $2 }')
    export CGROUP CONTROLLERS SLURM
    echo "# Slurm $SLURM, cgroup v$CGROUP ($CONTROLLERS), $(nproc --all) CPU(s)" >&3
}

needs_cpus() { # needs_cpus NUMBER
    [ "$(nproc --all)" -ge "$1" ] || skip "this machine has fewer than $1 CPUs"
}

needs_cgroup() { # needs_cgroup VERSION REASON
    [ "$CGROUP" = "$1" ] || skip "cgroup v$CGROUP: $2"
}

needs_cpuset() {
    [[ $CONTROLLERS = *" cpuset "* ]] || skip "this kernel has no cpuset controller"
}

sandbox_down() {
    [ "${HPCB_SANDBOX_BORROWED:-no}" = no ] || return 0
    timeout -k 5 "$(secs 120)" "$SANDBOX" down
}

# With a limit, so that what waits for ever fails its test and not the whole run.
sandbox_exec() { # sandbox_exec [EXEC OPTION]... -- CMD...
    timeout --foreground -k 5 "$(secs 900)" "$SANDBOX" exec "$@"
}

sandbox_user() { sed -n 's/^user=//p' "$HPCB_SANDBOX_DIR/state"; }

node_name() { echo "n$1"; } # node_name NUMBER

# CMD as root in all namespaces and cgroups of the node.
run_in_node() { # run_in_node NODE CMD...
    local node=$1
    shift
    sandbox_exec --host "$node" -- "$@"
}

slurmd_log() { echo "$HPCB_SANDBOX_DIR/log/slurmd.n$1.log"; } # slurmd_log NUMBER

# As after a crash: nothing is told to the running steps.
restart_slurmd() { # restart_slurmd NUMBER
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "n$1" bash -c 'kill -9 "$(cat /run/pids/slurmd)"; sleep 0.2'
    run_in_node "n$1" /run/hpcb/lib/daemon start slurmd
}

# The state of a job or array task, also for a while after slurmctld forgot it.
state_of() { # state_of JOB
    local state
    state=$(sandbox_exec -- scontrol -o show job "$1" 2> /dev/null |
        sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p' | head -n 1)
    [ -n "$state" ] || state=$(sandbox_exec -- sacct -X -n -P -j "$1" -o State | head -n 1)
    echo "${state%% *}"
}

wait_for_state() { # wait_for_state JOB STATE SECONDS
    local end=$((SECONDS + $(secs "$3"))) state
    while :; do
        state=$(state_of "$1")
        [ "$state" != "$2" ] || return 0
        [ $SECONDS -lt $end ] || break
        sleep 0.2
    done
    echo "job $1 is ${state:-unknown} and not $2 after $3 s"
    return 1
}

nodes_of() { # nodes_of JOB: one name a line
    local list
    list=$(sandbox_exec -- scontrol -o show job "$1" | sed -n 's/.* NodeList=\([^ ]*\) .*/\1/p')
    sandbox_exec -- scontrol show hostnames "$list"
}

node_of() { nodes_of "$1" | head -n 1; } # node_of JOB: its first node

# Slurm's numbers of the job's CPUs on a node, for instance "0" or "2-3".
job_cpus() { # job_cpus JOB [NODE]
    local node=${2:-$(node_of "$1")} nodes cpus
    while read -r nodes cpus; do
        if sandbox_exec -- scontrol show hostnames "$nodes" < /dev/null | grep -qx "$node"; then
            echo "$cpus"
            return 0
        fi
    done < <(sandbox_exec -- scontrol -d -o show job "$1" |
        grep -oE ' Nodes=[^ ]+ CPU_IDs=[^ ]+' | sed -E 's/ Nodes=([^ ]+) CPU_IDs=/\1 /')
    return 1
}

# Pids in the node of all processes of the job that Slurm knows of, slurmstepd's too.
job_pids() { # job_pids JOB NODE
    run_in_node "$2" scontrol listpids "$1" "$2" 2> /dev/null | awk '$1 > 0 { print $1 }'
}

# The directories, as the node sees them, of the job's groups that hold a process.
job_groups() { # job_groups JOB NODE
    # shellcheck disable=SC2016,SC2046 # expanded in the node; a word a pid
    run_in_node "$2" bash -c '
        for pid; do
            while IFS=: read -r _ names path; do
                [[ $path = */step_* || $path = */job_* ]] || continue
                [ -n "$names" ] || [ ! -d /sys/fs/cgroup/unified ] || names=unified
                echo "/sys/fs/cgroup${names:+/$names}$path"
            done < "/proc/$pid/cgroup"
        done 2> /dev/null' groups $(job_pids "$1" "$2") | sort -u
}
