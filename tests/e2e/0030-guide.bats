#!/usr/bin/env bats
# doc/admin-guide.md: every command block, pasted on the controller as an admin would.

load helpers
load guest
load node-shell
load guide

setup_file() {
    echo PriorityWeightFairshare=1000 > "$BATS_FILE_TMPDIR/append"
    cluster_up --fake-cpus 4 --append "$BATS_FILE_TMPDIR/append"
    node_shell_up 2
    admin_commands
}
teardown_file() { cluster_down; }
setup() {
    as_root hpcbctl guests resume > /dev/null
    cancel_all
}

partition_is() { as_root scontrol -o show partition guest | grep -q " State=$1 "; }

no_guests() { [ -z "$(as_root squeue -h -p guest -t R,CG -o %i)" ]; }

two_guests() {
    local first second
    first=$(submit --guest --mem=16M --wrap 'sleep 900')
    second=$(submit --guest --mem=16M --no-requeue --wrap 'sleep 900')
    wait_for_state "$first" RUNNING 60
    wait_for_state "$second" RUNNING 60
}

@test "each block has a test" {
    [ "$(block count)" -eq 10 ] # 3 to 8 are in 0037-pilot.bats
}

@test "an emergency: stop, resume, drain" {
    two_guests
    # Line by line: each undoes what the one before it did.
    paste "$(commands 1 | grep ' stop ')"
    no_guests
    partition_is DOWN
    paste "$(commands 1 | grep ' resume ')"
    partition_is UP
    paste "$(commands 1 | grep ' drain ')"
    partition_is DOWN
    [ "$(commands 1 | wc -l)" -eq 3 ]
}

@test "the same by hand" {
    two_guests
    paste "$(commands 2)"
    partition_is DOWN
    wait_until 60 no_guests
}

# What hpcbctl check says of charging.
charging() { # charging [OPTION]...
    as_root hpcbctl "$@" --json check | python3 -c '
import json, sys
print(*[one["verdict"] for one in json.load(sys.stdin)["findings"] if one["rule"] == "charging"])'
}

@test "charging: a QOS of guests" {
    [ "$(charging)" = warn ]
    paste "$(commands 9)"
    [ "$(as_root sacctmgr -n -P show qos guest format=UsageFactor)" = 0.000000 ]
    settings 9 > "$WORK/hpc-balance.conf"
    [ -s "$WORK/hpc-balance.conf" ]
    run_in_node n1 hpcbctl --config "$WORK/hpc-balance.conf" status
    [ "$(charging --config "$WORK/hpc-balance.conf")" = ok ]
}

charged() { paste "$(commands 10)" | grep -E "^$(as_user id -un)"$'\t''[0-9.]+$'; }

@test "charging: what guests used" {
    g=$(submit --guest --mem=16M --wrap 'python3 -c "
import time
while time.process_time() < 0.2: pass"')
    # On a busy machine a guest gets a hundredth of a CPU.
    wait_for_end "$g" 120
    wait_until 60 charged
}
