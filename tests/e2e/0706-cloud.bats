#!/usr/bin/env bats
# Nodes that Slurm powers down (SuspendProgram, State=CLOUD): which guests wake them.

load select

setup_file() {
    cat > "$BATS_FILE_TMPDIR/append" <<'EOF2'
SuspendProgram=/run/hpcb/power/suspend
ResumeProgram=/run/hpcb/power/resume
SuspendTime=3
SuspendTimeout=5
ResumeTimeout=60
SuspendRate=0
ResumeRate=0
EOF2
    select_up --append "$BATS_FILE_TMPDIR/append"
    mkdir "$HPCB_SANDBOX_DIR/power"
    chmod 777 "$HPCB_SANDBOX_DIR/power"
    for verb in suspend resume; do
        printf '#!/bin/sh\necho "$1" >> /run/hpcb/power/%s.log\n' $verb > "$HPCB_SANDBOX_DIR/power/$verb"
        chmod 755 "$HPCB_SANDBOX_DIR/power/$verb"
    done
}
teardown_file() { sandbox_down; }
setup() {
    needs_plugins
    cancel_all
}

woken() { cat "$HPCB_SANDBOX_DIR/power/resume.log" 2> /dev/null; }

is_down() { as_root scontrol -o show node "$1" | grep -qE 'State=[A-Z+]*POWER(ED_DOWN|ING_DOWN|_DOWN|_SAVE)|State=[A-Z]*[~%]'; }

# n1 is held by a primary, the others sleep.
asleep() {
    primary_on n1
    wait_until 60 is_down n2
    wait_until 60 is_down n3
    rm -f "$HPCB_SANDBOX_DIR/power/resume.log"
}

@test "GuestPinToPrimaries=yes: no node is woken for a guest" {
    echo GuestPinToPrimaries=yes >> "$CONF"
    as_root scontrol reconfigure
    asleep
    here=$(guest -n2) more=$(guest -N2 -n2)
    running "$here"
    sleep "$(secs 8)"
    sed -i /GuestPinToPrimaries/d "$CONF"
    [ "$(nodes_of "$here")" = n1 ]
    [ "$(state_of "$more")" = PENDING ]
    [ -z "$(woken)" ]
}

@test "without it, guests that do not fit elsewhere wake one" {
    as_root scontrol reconfigure
    asleep
    guest -N2 -n2
    wait_until 30 eval '[ -n "$(woken)" ]'
    woken
}
