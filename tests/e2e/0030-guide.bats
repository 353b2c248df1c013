#!/usr/bin/env bats
# doc/admin-guide.md: every command block, pasted on the controller as an admin would.

load helpers
load guest
load node-shell

setup_file() {
    cluster_up --fake-cpus 4
    node_shell_up 2
    mkdir "$WORK/bin"
    # ssh [-o OPTION]... NODE COMMAND...
    cat > "$WORK/bin/ssh" <<EOF2
#!/bin/bash
while [ "\$1" = -o ]; do shift 2; done
exec "$NODE_SHELL" "\$@"
EOF2
    chmod 755 "$WORK/bin/ssh"
}
teardown_file() { cluster_down; }
setup() {
    as_root hpcbctl guests resume > /dev/null
    cancel_all
}

# The NUMBER-th block of indented lines, or how many there are.
block() { # block NUMBER|count
    awk -v wanted="$1" '
        /^    / { if (!inside) number++; inside = 1; if (number == wanted) print substr($0, 5); next }
        { inside = 0 }
        END { if (wanted == "count") print number }' "$HPCB_TOP/doc/admin-guide.md"
}

# What is to go into a file (Key=Value) is not for the shell.
commands() { block "$1" | grep -vE '^[A-Z][A-Za-z]*='; }
settings() { block "$1" | grep -E '^[A-Z][A-Za-z]*='; }

paste() { # paste COMMANDS
    echo "$1"
    [ -n "$1" ]
    as_root bash -e -c "PATH=$WORK/bin:\$PATH
$1"
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

@test "each block has a test here" {
    [ "$(block count)" -eq 4 ]
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

@test "charging: a QOS of guests" {
    paste "$(commands 3)"
    [ "$(as_root sacctmgr -n -P show qos guest format=UsageFactor)" = 0.000000 ]
    settings 3 > "$WORK/hpc-balance.conf"
    [ -s "$WORK/hpc-balance.conf" ]
    run_in_node n1 hpcbctl --config "$WORK/hpc-balance.conf" status
}

charged() { paste "$(commands 4)" | grep -E "^$(as_user id -un)"$'\t''[0-9.]+$'; }

@test "charging: what guests used" {
    g=$(submit --guest --mem=16M --wrap 'python3 -c "
import time
while time.process_time() < 1: pass"')
    wait_for_end "$g" 60
    wait_until 60 charged
}
