#!/usr/bin/env bats
# A cluster from the sample files alone: nothing to complain, a guest, a report.

load helpers
load guest

setup_file() {
    sandbox_up --nodes 2 --cpus-per-node 1 --example || return 1
    export WORK=$HPCB_SANDBOX_DIR/work
    mkdir -p "$WORK"
    chmod 1777 "$WORK"
}
teardown_file() { sandbox_down; }

# The lines of FILE that set something, each once.
settings() { grep -hE '^ *[A-Za-z]+=' "$@" | sed 's/^ *//' | sort -u; }

@test "README's steps name nothing that the samples do not have" {
    # Of README's lines with PluginDir the version and the directory are a site's own.
    settings "$HPCB_TOP/README.md" | grep -vE '^(PluginDir|Prolog|Epilog|CollectorHost|YieldWaits)=' > "$BATS_TEST_TMPDIR/readme"
    echo "$(wc -l < "$BATS_TEST_TMPDIR/readme") lines"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/readme")" -ge 10 ]
    settings "$HPCB_TOP"/etc/*.example.in > "$BATS_TEST_TMPDIR/samples"
    missing=$(comm -23 "$BATS_TEST_TMPDIR/readme" "$BATS_TEST_TMPDIR/samples")
    echo "$missing"
    [ -z "$missing" ]
}

checked() { # checked HOST: 0 FAIL, 0 WARN
    local said
    said=$(run_in_node "$1" hpcbctl check) || true
    echo "$1: $said"
    grep -q ' ok, 0 warnings, 0 failed$' <<< "$said"
}

@test "hpcbctl check: 0 warnings, 0 failed, on the controller and on a node" {
    checked ctl
    checked n1
}

@test "a guest runs beside a primary that holds its core" {
    p=$(submit -N2 --mem=100M --wrap 'srun sleep 20')
    wait_for_state "$p" RUNNING 60
    g=$(OUT=$WORK/guest.out submit --guest -n1 --mem=100M --wrap 'sleep 4')
    wait_for_state "$g" RUNNING 60
    [ "$(state_of "$p")" = RUNNING ]
    said=$(run_in_node "$(node_of "$g")" hpcbctl top)
    echo "$said"
    grep -qE "^ *1 primaries +1 CPUs held" <<< "$said"
    grep -qE "^$g +guest +$(as_user id -un) +guest +1 +[0-9.]+ +[0-9.]+ +[0-9]+ +[a-z]" <<< "$said"
    wait_for_end "$g" 60
    cat "$WORK/guest.out"
    grep -qE 'hpc_balance: this guest got 00:00:0[0-9] of CPU time on this node, [0-9]+% of 1 CPU for 00:00:' "$WORK/guest.out"
    wait_for_end "$p" 60
}

figures() { # one primary and one guest, with CPU time of each
    as_root hpcb-report --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
print(found)
for name in "primary", "guest":
    assert found["by_class"][name]["jobs"] >= 1, name
    assert found["by_class"][name]["runs_measured"] >= 1, name
assert found["totals"]["guest_cpu_seconds"] > 0'
}

@test "the report has figures of both" {
    wait_until 60 figures
    as_root hpcb-report
}
