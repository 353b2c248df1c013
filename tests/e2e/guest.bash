# Helpers for the tests of guests, on top of helpers.bash (the sandbox).
# shellcheck shell=bash

cluster_up() { # cluster_up [UP OPTION]...: one cluster per test file
    sandbox_up --nodes 2 --cpus-per-node 1 "$@" || return 1
    export WORK=$HPCB_SANDBOX_DIR/work
    mkdir -p "$WORK"
    chmod 1777 "$WORK"
    export PROBE=$WORK/probe
    write_probe
    export HPCBCTL=hpcbctl
}

cluster_down() { sandbox_down; }

as_root() { (cd "$WORK" && sandbox_exec -- "$@"); }
as_user() { (cd "$WORK" && sandbox_exec --user user -- "$@"); }

# What the kernel says of the process (PID, or the caller): its cpu group; the level at
# which guests compete with primaries, which is the group of all guests on v1 and Slurm's
# directory of the job on v2, and the idle flag of that level and no other; nice value
# and scheduling policy.
write_probe() {
    cat > "$PROBE" <<'EOF'
#!/bin/bash
pid=${1:-self}
group=$(sed -n 's/^[0-9]*:\([^:]*,\)*cpu\(,[^:]*\)*://p' /proc/$pid/cgroup)
if [ -n "$group" ]; then
    mount=/sys/fs/cgroup/cpu
    [[ $group != */job_* ]] || level=${group%/job_*}
    [[ $group != */guest_* ]] || level=${group%/guest_*} # of slurmstepd
else
    mount=/sys/fs/cgroup
    group=$(sed -n 's/^0:://p' /proc/$pid/cgroup)
    [[ $group != */*slurmstepd.scope/*/step_* ]] || level=${group%%/step_*}
fi
[ -z "$level" ] || read -r idle 2> /dev/null < "$mount$level/cpu.idle"
read -ra stat < <(sed 's/^.*) //' /proc/$pid/stat)
echo "probe group=$group level=${level:-none} idle=${idle:-0} nice=${stat[16]} policy=${stat[38]}"
EOF
    chmod 755 "$PROBE"
}

# Every line of the probe must say that it ran where guests are lowered, and there must be
# one.
assert_probe_guest() {
    local lines bad
    lines=$(grep '^probe ' <<< "$1") || { echo "no probe line in: $1"; return 1; }
    bad=$(grep -vE 'group=/[^ ]* level=/[^ ]+ idle=1 ' <<< "$lines") || true
    [ -z "$bad" ] || { echo "not a guest: $bad"; return 1; }
}

submit() { as_user sbatch --parsable -o "${OUT:-/dev/null}" "$@"; }

job_field() { # job_field JOB FIELD
    as_root scontrol -o show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1
}

job_class() {
    job_field "$1" AdminComment | sed -n 's/.*"class": *"\([a-z]*\)".*/\1/p'
}

cancel_all() {
    as_root scancel --state=PENDING -p primary,guest 2> /dev/null || true
    as_root scancel -p primary 2> /dev/null || true
    as_root scancel -p guest 2> /dev/null || true
    wait_until 30 queue_empty
}

queue_empty() { [ -z "$(as_root squeue -h -o %i)" ]; }

# `run` with a time limit, three times at most while that ends it: MPICH 4.0.2 with UCX may
# wait for ever in MPI_Finalize (1 run of 400), stock srun 22.05 with all done for its PMIx
# agent.  What is killed leaves its allocation, and with it no node for the next.
run_mpi() { # run_mpi SECONDS [EXEC OPTION]... -- CMD...
    local limit=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    for _ in 1 2 3; do
        run sandbox_exec "${options[@]}" -- timeout -k 5 "$(secs "$limit")" "$@"
        # shellcheck disable=SC2154 # run sets it
        [ "$status" -eq 124 ] || [ "$status" -eq 137 ] || return 0
        cancel_all
    done
}

wait_until() { # wait_until SECONDS CMD...
    local end=$((SECONDS + $(secs "$1")))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || { echo "not within time: $*"; return 1; }
        sleep 0.3
    done
}

wait_for_end() { # wait_for_end JOB SECONDS
    wait_until "$2" job_ended "$1"
}

job_ended() { [ -z "$(as_root squeue -h -j "$1" -o %i 2> /dev/null)" ]; }

# Does every core hold exactly P running primaries and G running guests?
all_cores_hold() {
    local n p g
    for n in 1 2; do
        p=$(as_root squeue -h -t R -p primary -w "$(node_name $n)" -o %i | wc -l)
        g=$(as_root squeue -h -t R -p guest -w "$(node_name $n)" -o %i | wc -l)
        [ "$p" -eq "$1" ] && [ "$g" -eq "$2" ] || return 1
    done
}

# Is every process of JOB (but slurmstepd) on the node lowered as a guest?
guest_isolated() { # guest_isolated JOB [NODE]
    local job=$1 node=${2:-$(node_of "$1")} lines
    # shellcheck disable=SC2016,SC2046 # expanded in the node; a word a pid
    lines=$(run_in_node "$node" bash -c '
        probe=$1
        shift
        for pid; do
            exe=$(readlink "/proc/$pid/exe") || continue
            [[ ${exe##*/} = slurmstepd* ]] || "$probe" "$pid"
        done' isolated "$PROBE" $(job_pids "$job" "$node"))
    assert_probe_guest "$lines"
}

job_state() { as_root sacct -X -n -P -j "$1" -o State; }

node_memory() { as_root sinfo -h -N -n "$(node_name 1)" -p primary -o %m; } # in MiB
