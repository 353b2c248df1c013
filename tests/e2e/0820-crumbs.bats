#!/usr/bin/env bats
# A guest next to a primary that never waits is stopped, goes on when the primary waits, and
# is requeued if that takes too long.  Whatever happens, nothing stays stopped.

load helpers
load guest

# Seconds until a guest that starves is requeued, in the test of that.
STARVED=20

setup_file() {
    cluster_up || return 1
    export CONF=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf
    cp "$CONF" "$CONF.before"
    write_spinner
}

teardown_file() {
    cp "$CONF.before" "$CONF"
    reload_node
    cluster_down
}

setup() {
    rm -f "$WORK/waits"
    configure 0
}

teardown() {
    cancel_all
    hpcbd_runs || start_node_daemon
    tail -n 5 "$(hpcbd_log)"
}

hpcbd_log() { echo "$HPCB_SANDBOX_DIR/log/hpcbd.n1.log"; }

hpcbd_runs() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -0 "$(cat /run/pids/hpcbd)"' 2> /dev/null
}

start_node_daemon() { run_in_node n1 /run/hpcb/lib/daemon start hpcbd; }

reload_node() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -HUP "$(cat /run/pids/hpcbd)"'
}

configure() { # configure STARVED_AFTER
    {
        grep -v '^GuestMinShare=' "$CONF.before"
        echo GuestMinShare=1%
        echo "GuestStarvedAfter=$1"
    } > "$CONF"
    reload_node
}

# Spins, without a child and without a wait, unless WORK/waits is there.
write_spinner() {
    cat > "$WORK/spin.py" << 'END'
import os, sys, time
flag, n = sys.argv[1], 0
while True:
    n += 1
    if n % 20000 == 0 and os.path.exists(flag):
        time.sleep(0.05)
END
    chmod 755 "$WORK/spin.py"
}

primary() { submit -w n1 -n1 --wrap "exec python3 $WORK/spin.py $WORK/waits"; }
guest() { # guest [SBATCH OPTION]...
    submit --guest -w n1 -n1 "$@" --wrap 'while :; do :; done'
}

# Does the kernel run none of its tasks, whoever has stopped them?
is_frozen() { # is_frozen JOB
    # shellcheck disable=SC2046 # a word a group
    run_in_node n1 grep -qsx 'frozen 1' $(job_groups "$1" n1 | sed 's,$,/cgroup.events,')
}

is_going() { not is_frozen "$1"; } # is_going JOB

log_says() { grep -qE "$1" "$(hpcbd_log)"; } # log_says PATTERN

needs_freezer() {
    [ "$CGROUP" = 2 ] || run_in_node n1 test -d /sys/fs/cgroup/unified || skip "no cgroup2 mount"
    run_in_node n1 test -e /proc/pressure/cpu || skip "this kernel accounts no pressure"
}

# Both run on the one CPU of the node, the guest is stopped.
begin_stopped() { # begin_stopped [GUEST OPTION]...
    needs_freezer
    primary=$(primary)
    wait_for_state "$primary" RUNNING 30
    guest=$(guest "$@")
    wait_for_state "$guest" RUNNING 60
    wait_until 60 is_frozen "$guest"
}

@test "a guest with crumbs is stopped, and is back within 2 seconds when the primary waits" {
    begin_stopped
    log_says "job $guest: stopped: primaries leave it 0\.[0-9]+ % of its 1 CPUs"
    sleep "$(secs 5)"
    is_frozen "$guest"
    touch "$WORK/waits"
    wait_until 3 is_going "$guest"
    wait_until 3 log_says "job $guest: goes on after"
    # The primary waits for most of the time: it stays so.
    sleep "$(secs 15)"
    is_going "$guest"
    as_root scancel "$guest"
    wait_until 90 has_starved "$guest"
}

# Its record says for how long it was stopped.
has_starved() { # has_starved JOB
    as_root hpcb-report --records=/run/hpcb/collector --export=jsonl |
        grep "\"job_id\":$1,.*\"stopped_seconds\":0.0*,\"starved_seconds\":[1-9]"
}

@test "a guest goes on when the primary ends" {
    begin_stopped
    as_root scancel "$primary"
    wait_until 10 is_going "$guest"
    [ "$(state_of "$guest")" = RUNNING ]
}

@test "hpcbd is killed: the guest goes on; it is stopped again by the next daemon" {
    begin_stopped
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -9 "$(cat /run/pids/hpcbd)"'
    wait_until 3 is_going "$guest"
    start_node_daemon
    wait_until 60 is_frozen "$guest"
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill "$(cat /run/pids/hpcbd)"'
    wait_until 5 is_going "$guest"
}

@test "a hung hpcbd is killed by its watchdog, and the guest goes on" {
    begin_stopped
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -STOP "$(cat /run/pids/hpcbd)"'
    wait_until 15 is_going "$guest"
    wait_until 5 log_says 'hpcbd hung while guests were stopped: killed'
}

# CPU time of all of its processes, in ticks.
used_by() { # used_by JOB
    # shellcheck disable=SC2016,SC2046 # expanded in the node; a word a pid
    run_in_node n1 bash -c 'for pid; do sed "s/^.*) //" "/proc/$pid/stat"; done 2> /dev/null' used \
        $(job_pids "$1" n1) | awk '{ sum += $12 + $13 } END { print sum }'
}

rests() { # rests JOB
    local before
    before=$(used_by "$1")
    sleep 2
    [ "$(used_by "$1")" -le $((before + 2)) ] # slurmstepd may answer somebody
}

runs() { not rests "$1"; } # runs JOB

saved() { [ -e "$WORK/saved" ]; }

@test "a guest that is stopped hears of its end" {
    rm -f "$WORK/saved"
    needs_freezer
    primary=$(primary)
    wait_for_state "$primary" RUNNING 30
    guest=$(submit --guest -w n1 -n1 \
        --wrap "trap 'echo > $WORK/saved; exit' TERM; while :; do :; done")
    wait_for_state "$guest" RUNNING 60
    wait_until 60 is_frozen "$guest"
    as_root scancel "$guest"
    # Before SIGKILL comes (KillWait).
    wait_until 20 saved
    log_says "job $guest: is asked to end while it is stopped"
    wait_for_end "$guest" 60
}

@test "Slurm suspends a guest that is stopped: it stays so, and does not starve" {
    configure $STARVED
    begin_stopped --requeue
    as_root scontrol suspend "$guest"
    sleep "$(secs $((STARVED + 10)))"
    touch "$WORK/waits"
    sleep "$(secs 5)"
    rests "$guest"
    [ "$(state_of "$guest")" = SUSPENDED ]
    as_root scontrol resume "$guest"
    wait_until 10 runs "$guest"
    [ "$(job_field "$guest" Restarts)" = 0 ]
}

was_requeued() { [ "$(job_field "$1" Restarts)" = 1 ]; } # was_requeued JOB

@test "a guest that starves is requeued; one that may not be stays" {
    configure $STARVED
    begin_stopped --requeue
    wait_until $((STARVED + 20)) was_requeued "$guest"
    [[ $(as_root scontrol -o show job "$guest") = *"Comment=guest starved: primaries left it no CPU time"* ]]
    log_says "job $guest: starves: it lacks"
    as_root scancel "$guest"
    wait_for_end "$guest" 60
    guest=$(guest --no-requeue)
    wait_for_state "$guest" RUNNING 60
    wait_until $((STARVED + 60)) log_says "job $guest: cannot be requeued; it stays here"
    [ "$(state_of "$guest")" = RUNNING ]
}
