#!/usr/bin/env bats
# What guests cost a primary is found by experiment, and guests that cost too much are
# restricted until long slices of the primary's cure it.  They do not here: the harm is
# a helper's, which takes a part of the primary's CPU while the guest may run.

load helpers
load guest

setup_file() {
    cluster_up || return 1
    export CONF=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf
    cp "$CONF" "$CONF.before"
    { grep -v '^GuestMaxSlowdown=' "$CONF.before"; echo GuestMaxSlowdown=1%; } > "$CONF"
    reload_node
    write_programs
}

teardown_file() {
    cp "$CONF.before" "$CONF"
    reload_node
    cluster_down
}

teardown() {
    rm -f "$WORK/harm"
    cancel_all
    tail -n 5 "$(hpcbd_log)"
}

hpcbd_log() { echo "$HPCB_SANDBOX_DIR/log/hpcbd.n1.log"; }

reload_node() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -HUP "$(cat /run/pids/hpcbd)"'
}

# spin: computes for four fifths of the time, so that a guest gets more than crumbs.  The
# guest computes all the time: one that sleeps and wakes does harm of its own.
# harm: takes a tenth of its CPU while the guest, whose cgroup.freeze these are, is not
# asked to stop, and ends with WORK/harm.
write_programs() {
    cat > "$WORK/spin.py" << 'END'
import time
while True:
    until = time.monotonic() + 0.008
    while time.monotonic() < until:
        pass
    time.sleep(0.002)
END
    cat > "$WORK/slice.py" << 'END'
import ctypes, platform, sys
number = {"x86_64": 315, "aarch64": 275, "ppc64le": 356}[platform.machine()]
attr = (ctypes.c_uint64 * 6)()
call, pid = ctypes.CDLL(None).syscall, int(sys.argv[1])
call(number, pid, ctypes.byref(attr), 48, 0)
if len(sys.argv) > 2:
    attr[3] = int(sys.argv[2])
    sys.exit(call(number - 1, pid, ctypes.byref(attr), 0) != 0)
print(attr[3])
END
    cat > "$WORK/harm.py" << 'END'
import os, sys, time
flag, names = sys.argv[1], sys.argv[2:]
while os.path.exists(flag):
    if not any("1" in open(name).read() for name in names):
        until = time.monotonic() + 0.001
        while time.monotonic() < until:
            pass
    time.sleep(0.009)
END
}

needs_freezer() {
    [ "$CGROUP" = 2 ] || run_in_node n1 test -d /sys/fs/cgroup/unified || skip "no cgroup2 mount"
}

costs_a_tenth() { # costs_a_tenth JOB: hpcbctl says so
    run_in_node n1 "$HPCBCTL" status --json | python3 -c '
import json, sys
jobs = json.load(sys.stdin)["hpcbd"]["jobs"]
cost, = [job["guest_cost"] for job in jobs if job["job"] == int(sys.argv[1])]
print(cost)
assert 0 < cost["low"] < cost["high"] and 0.05 < cost["cost"] < 0.2' "$1"
}

log_says() { grep -qE "$1" "$(hpcbd_log)"; } # log_says PATTERN

begin() {
    needs_freezer
    primary=$(submit -w n1 -n1 --wrap "exec python3 $WORK/spin.py")
    wait_for_state "$primary" RUNNING 30
    guest=$(submit --guest -w n1 -n1 --wrap 'while :; do :; done')
    wait_for_state "$guest" RUNNING 60
}

# Where the guest is asked to stop: who gets no CPU does not come to a stop
# (cgroup.events).
freezers() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c '
        if [ -d /sys/fs/cgroup/unified ]; then
            find /sys/fs/cgroup/unified -path "*/job_$1/cgroup.freeze"
        else
            find /sys/fs/cgroup/system.slice -path "*/job_$1/*" -name cgroup.freeze
        fi' freezers "$guest"
}

has_freezers() { [ -n "$(freezers)" ]; }

# On the CPU of the primary, and before it.
harm() {
    local pid cpu
    wait_until 20 has_freezers
    pid=$(job_pids "$primary" n1 | tail -n 1)
    cpu=$(run_in_node n1 taskset -cp "$pid" | sed 's/.*: //')
    touch "$WORK/harm"
    # shellcheck disable=SC2046 # a word a file
    run_in_node n1 chrt -f 1 taskset -c "$cpu" python3 "$WORK/harm.py" "$WORK/harm" $(freezers) 3>&- &
}

# In one process: an experiment stops it for a fifth of a second.
is_stopped_within() { # is_stopped_within SECONDS
    # shellcheck disable=SC2016,SC2046 # expanded in the node; a word a file
    run_in_node n1 timeout "$(secs "$1")" bash -c \
        'until grep -qsx 1 "$@"; do sleep 0.01; done' stopped $(freezers)
}

is_asked_to_stop() {
    # shellcheck disable=SC2046 # a word a file
    run_in_node n1 grep -qsx 1 $(freezers)
}

is_going() { not is_asked_to_stop; }

# hpcbd gives a primary slices of one nanosecond less than the 100 ms of guests.
slice_of() { # slice_of JOB: of its last process, ns; 0: the kernel does not tell
    run_in_node n1 python3 "$WORK/slice.py" "$(job_pids "$1" n1 | tail -n 1)"
}

has_slices() { [ "$(slice_of "$primary")" != 0 ]; }
slice_is() { [ "$(slice_of "$1")" = "$2" ]; } # slice_is JOB NS

@test "a guest that costs a tenth is restricted, and the primary has long slices" {
    local own
    begin
    own=$(slice_of "$primary")
    harm
    wait_until 150 log_says "job $primary: guests cost it .* they run in half of the time.*job $guest of uid"
    grep "job $primary: guests cost it" "$(hpcbd_log)"
    costs_a_tenth "$primary"
    if has_slices; then
        log_says "job $primary: guests cost it .* half of the time, and its tasks have slices of 100 ms"
        wait_until 3 slice_is "$primary" 99999999
        slice_is "$guest" 100000000
    fi
    wait_until 150 log_says "job $primary: guests cost it .* they run in a quarter of the time"
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -9 "$(cat /run/pids/hpcbd)"'
    wait_until 3 slice_is "$primary" "$own"
    wait_until 3 is_going
    run_in_node n1 /run/hpcb/lib/daemon start hpcbd
}

@test "slices that a daemon has left are given back, those that a program has chosen are not" {
    local own pid
    primary=$(submit -w n1 -n1 --wrap "exec python3 $WORK/spin.py")
    wait_for_state "$primary" RUNNING 30
    wait_until 20 has_slices || skip "this kernel has no slices"
    own=$(slice_of "$primary")
    pid=$(job_pids "$primary" n1 | tail -n 1)
    run_in_node n1 python3 "$WORK/slice.py" "$pid" 99999999
    slice_is "$primary" 99999999
    run_in_node n1 "$HPCBCTL" release windows
    slice_is "$primary" "$own"
    run_in_node n1 python3 "$WORK/slice.py" "$pid" 50000000
    run_in_node n1 "$HPCBCTL" release windows
    slice_is "$primary" 50000000
}

@test "hpcbd is killed during an experiment: the guest goes on" {
    begin
    wait_until 20 has_freezers
    is_stopped_within 60
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -9 "$(cat /run/pids/hpcbd)"'
    wait_until 2 is_going
    run_in_node n1 /run/hpcb/lib/daemon start hpcbd
}
