# Helpers for the tests of guests, on top of helpers.bash (the sandbox).
# shellcheck shell=bash

cluster_up() { # cluster_up [UP OPTION]...: one cluster per test file
    sandbox_up --nodes 2 --cpus-per-node 1 "$@"
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

# What the kernel says of the process: its cpu group, the idle flag there or above (the
# group of guests on v1, the job's directory on v2), scheduling policy and nice value.
write_probe() {
    cat > "$PROBE" <<'EOF'
#!/bin/bash
group=$(sed -n 's/^[0-9]*:\([^:]*,\)*cpu\(,[^:]*\)*://p' /proc/self/cgroup)
mount=/sys/fs/cgroup/cpu
[ -n "$group" ] || { group=$(sed -n 's/^0:://p' /proc/self/cgroup) mount=/sys/fs/cgroup; }
idle=0
for ((dir = 0; dir < 6; dir++)); do
    up=$group
    for ((i = 0; i < dir; i++)); do up=${up%/*}; done
    [ -n "$up" ] || break
    [ "$(cat "$mount$up/cpu.idle" 2> /dev/null)" != 1 ] || idle=1
done
read -ra stat < <(sed 's/^.*) //' /proc/self/stat)
echo "probe group=$group idle=$idle nice=${stat[16]} policy=${stat[38]}"
EOF
    chmod 755 "$PROBE"
}

# Every line of the probe must say that it ran in an idle group of its job, and there
# must be one.
assert_probe_guest() {
    local lines bad
    lines=$(grep '^probe ' <<< "$1") || { echo "no probe line in: $1"; return 1; }
    bad=$(grep -vE 'group=[^ ]*/job_[0-9]+.* idle=1 ' <<< "$lines") || true
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

wait_until() { # wait_until SECONDS CMD...
    local end=$((SECONDS + $1))
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

# Is every process of JOB (but slurmstepd) on the node in the guests' group?
guest_isolated() {
    local job=$1 node=${2:-$(node_of "$1")}
    run_in_node "$node" bash -c '
        job=$1 n=0
        for p in $(find /sys/fs/cgroup/freezer -path "*job_$job/*" -name cgroup.procs -exec cat {} +); do
            [ "$(cat /proc/$p/comm 2>/dev/null)" != slurmstepd ] || continue
            [ -r /proc/$p/cgroup ] || continue
            grep -qE "^[0-9]+:([^:]*,)?cpu(,[^:]*)?:.*hpcb_.*/job_$job$" /proc/$p/cgroup || exit 1
            n=$((n + 1))
        done
        [ $n -gt 0 ]' isolated "$job"
}

job_state() { as_root sacct -X -n -P -j "$1" -o State; }
