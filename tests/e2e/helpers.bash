# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# Helpers for tests on a sandbox cluster.  A bats file calls sandbox_up in setup_file
# and sandbox_down in teardown_file.  When $HPCB_SANDBOX_DIR names a sandbox that is up
# already, the tests run on that one and leave it up.

HPCB_TOP=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
SANDBOX=${HPCB_SANDBOX:-$HPCB_TOP/sandbox/hpcb-sandbox}

# One cluster a file, in a directory of its own, exported as HPCB_SANDBOX_DIR.
sandbox_up() { # sandbox_up [UP OPTION]...
    export HPCB_SANDBOX_BORROWED=no
    if [ -n "${HPCB_SANDBOX_DIR:-}" ] && timeout 60 "$SANDBOX" status > /dev/null 2>&1; then
        HPCB_SANDBOX_BORROWED=yes
        return
    fi
    HPCB_SANDBOX_DIR=$(mktemp -d /tmp/hpcb-e2e.XXXXXX)
    export HPCB_SANDBOX_DIR
    timeout 600 "$SANDBOX" up "$@"
}

sandbox_down() {
    [ "${HPCB_SANDBOX_BORROWED:-no}" = no ] || return 0
    timeout 120 "$SANDBOX" down
}

sandbox_exec() { # sandbox_exec [EXEC OPTION]... -- CMD...
    "$SANDBOX" exec "$@"
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
    local end=$((SECONDS + $3)) state
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

# The process's group as the node sees it; CONTROLLER is "" for cgroup v2.
cgroup_of_pid() { # cgroup_of_pid NODE PID [CONTROLLER]
    run_in_node "$1" cat "/proc/$2/cgroup" | awk -F: -v name="${3:-}" '
        { n = split($2, part, ","); for (i = 1; i <= n; i++) if (part[i] == name) found = 1
          if (found || (name == "" && $2 == "")) { print $3; exit } }'
}
