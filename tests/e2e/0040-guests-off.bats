#!/usr/bin/env bats
# hpcbctl guests: off and on again from the controller, within ten seconds.

load helpers
load guest
load node-shell

setup_file() {
    cluster_up --nodes 4 --fake-cpus 16
    node_shell_up 4
}
teardown_file() { cluster_down; }
setup() {
    as_root hpcbctl guests resume > /dev/null
    cancel_all
}

guests_run() { # guests_run NUMBER
    [ "$(as_root squeue -h -r -p guest -t R -o %i | wc -l)" -eq "$1" ]
}

switch() { as_root hpcbctl guests "$@"; }

told() { python3 -c 'import json, sys; found = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

# On the node: no guest, no group of guests, no setting that release would undo.
node_is_clean() { # node_is_clean NODE
    local said
    said=$(run_in_node "$1" hpcbctl release --json)
    echo "$1: $said"
    python3 -c '
import json, sys
found = json.loads(sys.argv[1])
assert found["complete"], found
for job in found["jobs"]:
    assert not job["restored"] and not job["moved"] and not job["groups_removed"], job
' "$said" || return 1
    # Other sandboxes have groups, too.
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "$1" bash -c '
        [ -z "$(find /sys/fs/cgroup/ -maxdepth 3 -name "hpcb_$1_$HOSTNAME" -print -quit)" ] &&
            [ -z "$(find /run/hpc-balance/jobs -name "*.undo" -size +0 -print -quit)" ]
    ' clean "$(sed -n 's/^id=//p' "$HPCB_SANDBOX_DIR/state")"
}

@test "stop: 50 guests on 4 nodes are gone, and every setting, within 10 s" {
    p=$(as_user sbatch --parsable -o /dev/null -N4 --ntasks-per-node=4 --mem=32M --wrap \
        'srun sleep 900')
    wait_for_state "$p" RUNNING 60
    g=$(as_user sbatch --parsable -o /dev/null --guest --mem=16M -a 1-40 --wrap 'sleep 900')
    as_user sbatch --parsable -o /dev/null --guest --mem=16M --no-requeue -a 1-10 --wrap \
        'sleep 900'
    wait_until 240 guests_run 50
    said=$(switch stop --remote "$NODE_SHELL" --json)
    echo "$said"
    [ "$(told 'len(found["requeued"]), len(found["cancelled"]), found["left"]' <<< "$said")" = \
        "(40, 10, [])" ]
    [ "$(told 'sorted(found["released"]), found["complete"]' <<< "$said")" = \
        "(['n1', 'n2', 'n3', 'n4'], True)" ]
    echo "# stop took $(told 'found["seconds"]' <<< "$said") s" >&3
    [ "$(told "found['seconds'] <= $(secs 10)" <<< "$said")" = True ]
    guests_run 0
    [ "$(state_of "$p")" = RUNNING ]
    [ "$(state_of "${g}_1")" = PENDING ]
    for n in 1 2 3 4; do node_is_clean "n$n"; done
    # None starts, until they may again.
    new=$(submit --guest --mem=16M --wrap 'sleep 900')
    sleep "$(secs 5)"
    guests_run 0
    [ "$(state_of "$new")" = PENDING ]
    switch resume
    wait_for_state "$new" RUNNING 30
}

@test "stop --nodes: guests of the other nodes run on, and none starts on these" {
    as_user sbatch --parsable -o /dev/null --guest --mem=16M --no-requeue -n1 -a 1-8 -w n1 --wrap 'sleep 900'
    as_user sbatch --parsable -o /dev/null --guest --mem=16M --no-requeue -n1 -a 1-4 -w n3 --wrap 'sleep 900'
    wait_until 60 guests_run 12
    said=$(switch stop --nodes 'n[1-2]' --remote "$NODE_SHELL" --json)
    echo "$said"
    [ "$(told 'found["complete"], found["state"], found["partition_nodes"]' <<< "$said")" = \
        "(True, 'UP', 'n[3-4]')" ]
    guests_run 4
    node_is_clean n1
    n=$(submit --guest --mem=16M --wrap 'sleep 900')
    wait_for_state "$n" RUNNING 30
    [[ $(node_of "$n") = n[34] ]]
    said=$(switch resume --json)
    [ "$(told 'found["partition_nodes"]' <<< "$said")" = "n[1-4]" ]
    n=$(submit --guest --mem=16M -w n1 --wrap 'sleep 900')
    wait_for_state "$n" RUNNING 30
}

@test "a node that cannot be reached is named, and guests there have gone all the same" {
    as_user sbatch --parsable -o /dev/null --guest --mem=16M --no-requeue -n1 -a 1-4 -w n2 --wrap 'sleep 900'
    wait_until 60 guests_run 4
    mv "$WORK/doors/n2" "$WORK/doors/away"
    run switch stop --remote "$NODE_SHELL"
    mv "$WORK/doors/away" "$WORK/doors/n2"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output = *"n2: NOT released: node-shell: no way to n2"* ]]
    guests_run 0
}

@test "check --nodes: four nodes and the controller, each finding once" {
    said=$(as_root hpcbctl check --nodes ALL --remote "$NODE_SHELL" --json) || true
    echo "$said"
    [ "$(told 'found["nodes"], found["not_checked"]' <<< "$said")" = \
        "(['this host', 'n1', 'n2', 'n3', 'n4'], [])" ]
    [ "$(told '[len(row["nodes"]) for row in found["findings"] if row["rule"] == "guest-partition"]' \
        <<< "$said")" = "[5]" ]
    mv "$WORK/doors/n2" "$WORK/doors/away"
    run as_root hpcbctl check --nodes 'n[1-2]' --remote "$NODE_SHELL"
    mv "$WORK/doors/away" "$WORK/doors/n2"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output = *"n2: NOT checked: node-shell: no way to n2"* ]]
}

@test "ordinary users cannot" {
    run as_user hpcbctl guests stop --remote none
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$(as_root scontrol -o show partition guest | grep -c ' State=UP')" -eq 1 ]
}

@test "hpcb-guests tells users of room, waits and their guests" {
    as_user sbatch --parsable -o /dev/null --guest --mem=16M -a 1-3 --wrap 'sleep 900'
    held=$(submit --guest --mem=16M --hold --wrap 'sleep 900')
    wait_until 60 guests_run 3
    said=$(as_user hpcb-guests --json)
    echo "$said"
    [ "$(told 'sum(kind["free_cpus"] for kind in found["room"])' <<< "$said")" -eq $((64 - 3)) ]
    [ "$(told 'found["waits"]["running"], found["waits"]["pending"]' <<< "$said")" = "(3, 1)" ]
    [ "$(told '[one["why"] for one in found["mine"] if one["reason"]]' <<< "$said")" = \
        "['you hold it: scontrol release']" ]
    as_user hpcb-guests
    [ "$(as_user hpcb-guests | awk '{ if (length > most) most = length } END { print most }')" -le 80 ]
    as_user scancel "$held"
}
