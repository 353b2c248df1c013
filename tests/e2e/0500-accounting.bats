#!/usr/bin/env bats
# Tags, records, hpcbctl, and no trace of a job after its end.

load helpers
load guest

setup_file() { cluster_up; }
teardown_file() { cluster_down; }
setup() { cancel_all; }

record_of() { # record_of JOB NODE
    cat "$HPCB_SANDBOX_DIR/spool/hpc-balance/records/$1.$2.json"
}

field() { python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

@test "sacct shows the class in AdminComment after the end" {
    g=$(submit --guest -n1 --wrap true)
    p=$(submit -n1 --wrap true)
    wait_for_end "$g" 30
    wait_for_end "$p" 30
    wait_until 20 sacct_has "$g" '"class":"guest"'
    wait_until 20 sacct_has "$p" '"class":"primary"'
}

sacct_has() { as_root sacct -X -n -P -j "$1" -o AdminComment | tr -d ' ' | grep -q "$2"; }

@test "one record per job and node, with what was used" {
    p=$(submit -N2 -n2 --wrap 'srun bash -c "end=\$((SECONDS+3)); while [ \$SECONDS -lt \$end ]; do :; done"')
    wait_for_end "$p" 40
    for n in 1 2; do
        node=$(node_name $n)
        wait_until 10 record_of "$p" "$node"
        r=$(record_of "$p" "$node")
        echo "$r"
        [ "$(field class <<< "$r")" = primary ]
        python3 - "$r" <<'EOF'
import json, sys
r = json.loads(sys.argv[1])
assert r["cpu_seconds"] >= 1.5, r
assert r["cpu_seconds"] <= r["wall_seconds"] + 1, r
assert r["run_delay_seconds"] >= 0, r
assert r["memory_peak_bytes"] > 100000, r
EOF
    done
}

@test "guests' records say guest and count their CPU time" {
    g=$(submit --guest -n1 --wrap 'timeout 3 sh -c "while :; do :; done"; true')
    wait_for_end "$g" 40
    node=$(as_root sacct -X -n -P -j "$g" -o NodeList)
    wait_until 10 record_of "$g" "$node"
    r=$(record_of "$g" "$node")
    echo "$r"
    [ "$(field class <<< "$r")" = guest ]
    python3 -c 'import json,sys; assert json.loads(sys.argv[1])["cpu_seconds"] > 2' "$r"
}

@test "after the end no trace of the job is left on the node" {
    g=$(submit --guest -N2 -n2 --wrap 'srun sleep 1; setsid sleep 1000 & sleep 1')
    wait_for_end "$g" 40
    for n in 1 2; do
        wait_until 15 no_trace "$g" "$(node_name $n)"
    done
}

no_trace() { # no_trace JOB NODE
    ! run_in_node "$2" find /run/hpc-balance /sys/fs/cgroup -path "*hpc*" -name "*$1*" 2> /dev/null |
        grep -v /sys/fs/cgroup/freezer/slurm | grep -q .
}

@test "hpcbctl check finds the sandbox in order, on the controller and on a node" {
    run as_root hpcbctl check
    echo "$output"
    [ "$status" -eq 0 ]
    run run_in_node "$(node_name 1)" hpcbctl check
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "hpcbctl check --json is JSON and says the same" {
    as_root hpcbctl check --json | python3 -c 'import json,sys; json.load(sys.stdin)'
}

@test "hpcbctl check names a broken setting and the mending line" {
    as_root cp "$HPCB_SANDBOX_DIR/etc/slurm.conf" "$WORK/slurm.conf.saved"
    as_root sed -i 's/^\(PartitionName=guest.*\)PriorityTier=20/\1PriorityTier=5/' "$HPCB_SANDBOX_DIR/etc/slurm.conf"
    as_root scontrol reconfigure
    run as_root hpcbctl check
    as_root cp "$WORK/slurm.conf.saved" "$HPCB_SANDBOX_DIR/etc/slurm.conf"
    as_root scontrol reconfigure
    echo "$output"
    [ "$status" -eq 1 ]
    grep -q 'PriorityTier' <<< "$output"
}

@test "hpcbctl status shows a running guest with its mechanism" {
    g=$(submit --guest -n1 -w "$(node_name 1)" --wrap 'sleep 60')
    wait_for_state "$g" RUNNING 20
    wait_until 5 guest_isolated "$g"
    run run_in_node "$(node_name 1)" hpcbctl status
    echo "$output"
    [ "$status" -eq 0 ]
    grep -qE "$g.*guest" <<< "$output"
    grep -q idle-group <<< "$output"
    run_in_node "$(node_name 1)" hpcbctl status --json |
        python3 -c 'import json,sys; json.load(sys.stdin)'
}

@test "prolog and epilog: under 50 ms and 5 MB each" {
    run run_in_node "$(node_name 1)" bash -c '
        export SLURM_JOB_ID=4000000 SLURM_JOB_UID=0 SLURM_JOB_PARTITION=guest SLURMD_NODENAME=$(hostname)
        for verb in begin end; do
            /usr/bin/env python3 - $verb <<EOF
import os, resource, subprocess, sys, time
best = 1e9
for i in range(5):
    t = time.monotonic()
    subprocess.run(["hpcbctl", "job", sys.argv[1]], check=True)
    best = min(best, time.monotonic() - t)
rss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(sys.argv[1], "ms", round(best * 1000, 1), "maxrss KiB", rss)
assert rss < 5 * 1024, rss
assert best < 0.05, best
EOF
        done'
    echo "$output"
    [ "$status" -eq 0 ]
}
