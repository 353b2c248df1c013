#!/usr/bin/env bats
# Where guests and primaries land: two queues over one set of cores.
# Two nodes of one core each.

load helpers
load guest

setup_file() { cluster_up; }
teardown_file() { cluster_down; }
setup() { cancel_all; }

@test "a guest starts on a core that a primary holds, within 10 s" {
    primary=$(submit -N2 -n2 --wrap "srun sleep $(secs 60)")
    wait_for_state "$primary" RUNNING 20
    guest=$(submit --guest -N1 -n1 -w "$(node_name 1)" --wrap "sleep $(secs 60)")
    wait_for_state "$guest" RUNNING 10
    wait_for_state "$primary" RUNNING 1
    [ "$(job_cpus "$guest")" = "$(job_cpus "$primary" "$(node_name 1)")" ]
}

@test "a guest starts within 10 s also behind a queue of pending primaries" {
    primary=$(submit -N2 -n2 --wrap "sleep $(secs 60)")
    wait_for_state "$primary" RUNNING 20
    for _ in 1 2 3 4 5 6; do submit -N2 -n2 -t"$(secs 5)" --wrap "sleep $(secs 60)"; done
    guest=$(submit --guest -N2 -n2 -t"$(secs 5)" --wrap "sleep $(secs 60)")
    wait_for_state "$guest" RUNNING 10
}

@test "a primary starts on a core that a guest holds, also with a queue of pending guests" {
    guest=$(submit --guest -N2 -n2 -t"$(secs 10)" --wrap "sleep $(secs 60)")
    wait_for_state "$guest" RUNNING 20
    for _ in 1 2 3 4 5 6; do submit --guest -N2 -n2 -t"$(secs 5)" --wrap "sleep $(secs 60)"; done
    primary=$(submit -N2 -n2 -t"$(secs 5)" --wrap "sleep $(secs 60)")
    wait_for_state "$primary" RUNNING 10
    wait_for_state "$guest" RUNNING 1
    node=$(node_name 2)
    [ "$(job_cpus "$guest" "$node")" = "$(job_cpus "$primary" "$node")" ]
}

@test "two primaries never share a core, two guests never share a core" {
    for _ in 1 2 3 4; do
        submit -n1 --wrap "sleep $(secs 30)"
        submit --guest -n1 --wrap "sleep $(secs 30)"
    done
    # Both classes fill both cores, and no more than that, over several looks.
    wait_until 20 all_cores_hold 1 1
    for _ in 1 2 3 4 5; do
        all_cores_hold 1 1
        sleep "$(secs 1)"
    done
}

@test "guests arrive by the partition alone (no SPANK option), and are guests" {
    guest=$(submit -p guest -n1 --wrap "sleep $(secs 30)")
    wait_for_state "$guest" RUNNING 20
    [ "$(job_class "$guest")" = guest ]
    wait_until 5 guest_isolated "$guest"
}

# The shortest of five, in ms, of salloc on both nodes.
salloc_ms() { # salloc_ms [EXEC OPTION]...
    local best=99999 begin took
    for _ in 1 2 3 4 5; do
        begin=$(date +%s%N)
        sandbox_exec "$@" -- salloc -Q -N2 -n2 true || return 1
        took=$((($(date +%s%N) - begin) / 1000000))
        [ "$took" -ge "$best" ] || best=$took
    done
    echo "$best"
}

@test "salloc takes less than 0.5 s longer than with stock Slurm" {
    stock_dir=$(mktemp -d /tmp/hpcb-stock.XXXXXX)
    echo 'PrologFlags=Serial' > "$BATS_TEST_TMPDIR/lines"
    ours=$(salloc_ms)
    timeout -k 5 "$(secs 300)" "$SANDBOX" up --dir "$stock_dir" --plain --append "$BATS_TEST_TMPDIR/lines"
    stock=$(salloc_ms --dir "$stock_dir") || true
    timeout -k 5 "$(secs 120)" "$SANDBOX" down --dir "$stock_dir"
    echo "# salloc: $ours ms, stock $stock ms" >&3
    [ "$ours" -lt $((stock + $(secs 500))) ]
}

@test "arrays, srun and salloc take --guest" {
    array=$(submit --guest --array=0-1 -n1 --wrap "sleep $(secs 20)")
    wait_for_state "${array}_0" RUNNING 20
    [ "$(job_class "${array}_0")" = guest ]
    cancel_all
    run as_user timeout -k 5 "$(secs 60)" srun --guest -n1 "$PROBE"
    [ "$status" -eq 0 ]
    assert_probe_guest "$output"
    run as_user timeout -k 5 "$(secs 60)" salloc -Q --guest -n1 srun "$PROBE"
    [ "$status" -eq 0 ]
    assert_probe_guest "$output"
}
