#!/usr/bin/env bats
# A primary that grows into lent memory gets it: guests end, and are requeued.
#
# The machine's memory is every node's here.  A reserve that leaves 1 GiB of what is
# available now makes a small node of it, so that no test takes much.

load helpers
load guest

# MiB that the reserve leaves.
SMALL=1024

setup_file() {
    cluster_up || return 1
    export CONF=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf
    cp "$CONF" "$CONF.before"
    write_toucher
}
teardown_file() {
    cp "$CONF.before" "$CONF"
    reload_nodes
    cluster_down
}

setup() {
    cancel_all
    shrink_nodes
}

# touch MIB SECONDS [AFTER [RATE]]: hold MIB of anonymous memory (and ignore SIGTERM); begin
# after so many seconds, and touch RATE MiB a second.  Guests end for what grows fast.
write_toucher() {
    cat > "$WORK/touch.py" << 'END'
import mmap, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
size = int(sys.argv[1]) << 20
if len(sys.argv) > 3:
    time.sleep(float(sys.argv[3]))
start = time.monotonic()
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
rate = float(sys.argv[4]) * (1 << 20) if len(sys.argv) > 4 else 0
for i in range(0, size, 4096):
    memory[i] = 1
    if rate and i % (1 << 20) == 0:
        time.sleep(max(0, start + i / rate - time.monotonic()))
print("touched", sys.argv[1], f"{time.monotonic() - start:.2f}", flush=True)
time.sleep(float(sys.argv[2]))
print("done", flush=True)
END
    chmod 755 "$WORK/touch.py"
}

reload_nodes() {
    local n
    for n in n1 n2; do
        # shellcheck disable=SC2016 # expanded in the node
        run_in_node $n bash -c 'kill -HUP "$(cat /run/pids/hpcbd)"'
    done
}

# Tell both daemons of a reserve that leaves SMALL MiB of what is available.
shrink_nodes() {
    local available reserve
    available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
    reserve=$((available - SMALL))
    { cat "$CONF.before"; echo GuestMemory=unused; echo "GuestMemoryReserve=${reserve}M"; } > "$CONF"
    reload_nodes
    wait_until 20 reserve_is $((reserve * 1048576))
}

memory_of() { # memory_of NODE KEY: in bytes
    run_in_node "$1" "$HPCBCTL" status --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["memory"][sys.argv[1]])' "$2"
}

reserve_is() { [ "$(memory_of n1 reserve)" = "$1" ] && [ "$(memory_of n2 reserve)" = "$1" ]; }

# Slurm counts slurmstepd and the interpreter too.
holds() { # holds NODE KEY MIB: within a hundredth and 64 MiB
    local mib=$(($(memory_of "$1" "$2") / 1048576))
    [ $mib -ge $(($3 * 99 / 100)) ] && [ $mib -le $(($3 * 101 / 100 + 64)) ]
}

# What hpcb-report counts.
has_ended_for_memory() {
    as_root hpcb-report --records=/run/hpcb/collector --export=jsonl |
        grep "\"job_id\":$1,\"restart\":0," | grep -q '"ended_for":"memory"'
}

was_requeued() { [ "$(job_field "$1" Restarts)" = 1 ]; }

@test "status says what guests hold" {
    guest=$(submit --guest --mem=700 -w n1 -n1 --wrap "exec python3 $WORK/touch.py 200 60")
    wait_until 30 holds n1 guests 200
    [ "$(state_of "$guest")" = RUNNING ]
}

@test "a primary grows into lent memory: a guest that ignores SIGTERM ends and is requeued" {
    guest=$(OUT=$WORK/guest-%j submit --guest --requeue --mem=700 -w n1 -n1 \
        --wrap "exec python3 $WORK/touch.py 500 300")
    wait_until 30 holds n1 guests 500
    primary=$(OUT=$WORK/primary-%j submit --mem=1200 -w n1 -n1 \
        --wrap "exec python3 $WORK/touch.py 900 3")
    wait_until 30 was_requeued "$guest"
    grep -q 'slurm-hpc-balance: guest ended: a primary needed its memory' "$WORK/guest-$guest"
    [[ $(as_root scontrol -o show job "$guest") = *"Comment=guest ended: a primary needed its memory"* ]]
    wait_until 20 has_ended_for_memory "$guest"
    wait_for_end "$primary" 60
    grep -q '^done' "$WORK/primary-$primary"
    [ "$(state_of "$primary")" = COMPLETED ]
}

@test "a guest that cannot be requeued is cancelled" {
    guest=$(submit --guest --no-requeue --mem=700 -w n1 -n1 \
        --wrap "exec python3 $WORK/touch.py 500 300")
    wait_until 30 holds n1 guests 500
    primary=$(submit --mem=1200 -w n1 -n1 --wrap "exec python3 $WORK/touch.py 900 3")
    wait_for_end "$guest" 30
    wait_for_end "$primary" 60
    [ "$(state_of "$primary")" = COMPLETED ]
}

@test "a hostile guest: forks, mlocks, fills tmpfs, ignores SIGTERM" {
    cat > "$WORK/hostile.sh" << 'END'
#!/bin/bash
trap '' TERM
for i in 1 2 3 4; do (trap '' TERM; while :; do sleep 0.1 & wait; done) & done
dd if=/dev/zero of=/dev/shm/hostile-$SLURM_JOB_ID bs=1M count=50 2> /dev/null
exec python3 "$1" 400 300
END
    chmod 755 "$WORK/hostile.sh"
    guest=$(submit --guest --requeue --mem=700 -w n1 -n1 \
        --wrap "exec $WORK/hostile.sh $WORK/touch.py")
    wait_until 30 holds n1 guests 450 || true
    primary=$(submit --mem=1200 -w n1 -n1 --wrap "exec python3 $WORK/touch.py 900 3")
    wait_until 30 was_requeued "$guest"
    wait_for_end "$primary" 60
    [ "$(state_of "$primary")" = COMPLETED ]
}

# The limit of the job in the kernel, in MiB.
limit_of() { # limit_of JOB NODE
    local group knob=memory.max
    [ "$CGROUP" = 2 ] || knob=memory.limit_in_bytes
    group=$(job_groups "$1" "$2" | grep -E "/memory/|^/sys/fs/cgroup/[^/]*slice" | head -n 1)
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "$2" bash -c 'group=${1%/step_*}; echo $(($(cat "$group/$2") >> 20))' limit \
        "$group" $knob
}
limit_is() { [ "$(limit_of "$1" n1)" = "$2" ]; }
limit_is_below() { [ "$(limit_of "$1" n1)" -lt "$2" ]; }

# What others on the machine take or give back moves the limit too: by a quarter of what the
# reserve leaves it may, and so that is more here if the machine has it.
@test "the limit of guests follows what primaries leave, and comes back" {
    [[ $CONTROLLERS = *" memory "* ]] || skip "this kernel has no memory controller"
    [ "$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)" -lt 6000 ] || SMALL=2048
    local own=$((SMALL * 3 / 4)) grown=$((SMALL * 5 / 8)) rate=$((SMALL / 16))
    shrink_nodes
    guest=$(submit --guest --mem=$own -w n1 -n1 --wrap "exec python3 $WORK/touch.py 100 300")
    wait_until 30 holds n1 guests 100
    limit_is "$guest" $own
    grow() {
        primary=$(submit --mem=$((grown + 500)) -w n1 -n1 \
            --wrap "exec python3 $WORK/touch.py $grown 300 0 $rate")
        wait_until 30 limit_is_below "$guest" $own
        [ "$(state_of "$guest")" = RUNNING ]
    }
    grow
    as_root scancel "$primary"
    wait_until 30 limit_is "$guest" $own
    shrink_nodes
    grow
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -9 "$(cat /run/pids/hpcbd)"'
    run_in_node n1 "$HPCBCTL" release
    limit_is "$guest" $own
    run_in_node n1 /run/hpcb/lib/daemon start hpcbd
}

# With its only process all that could tell of it goes.
@test "a guest that the kernel kills at our limit is requeued, and its user reads why" {
    [[ $CONTROLLERS = *" memory "* ]] || skip "this kernel has no memory controller"
    local own=$((SMALL * 3 / 4)) grown=$((SMALL * 5 / 8)) rate=$((SMALL / 16))
    rm -f "$WORK/go"
    guest=$(OUT=$WORK/killed-%j submit --guest --requeue --mem=$own -w n1 -n1 --wrap \
        "while [ ! -e $WORK/go ]; do sleep 0.2; done; exec python3 $WORK/touch.py $((own - 64)) 300")
    wait_for_state "$guest" RUNNING 30
    primary=$(submit --mem=$((grown + 500)) -w n1 -n1 \
        --wrap "exec python3 $WORK/touch.py $grown 300 0 $rate")
    wait_until 30 limit_is_below "$guest" $own
    wait_until 30 holds n1 primaries_expected $grown
    [ "$(state_of "$guest")" = RUNNING ]
    touch "$WORK/go"
    wait_until 120 was_requeued "$guest"
    rm -f "$WORK/go"
    wait_until 10 grep -q 'slurm-hpc-balance: guest ended: a primary needed its memory' \
        "$WORK/killed-$guest"
    [[ $(as_root scontrol -o show job "$guest") = *"Comment=guest ended: a primary needed its memory"* ]]
    [ "$(state_of "$primary")" = RUNNING ]
}

@test "a guest of two nodes ends on both" {
    guest=$(submit --guest --requeue --mem=700 -N2 -n2 \
        --wrap "srun -K1 python3 $WORK/touch.py 200 300")
    wait_until 30 holds n1 guests 200
    wait_until 30 holds n2 guests 200
    primary=$(submit --mem=1200 -w n1 -n1 --wrap "exec python3 $WORK/touch.py 1000 3")
    wait_until 30 was_requeued "$guest"
    wait_until 30 holds n2 guests 0
    wait_for_end "$primary" 60
    [ "$(state_of "$primary")" = COMPLETED ]
}

@test "GuestMemory=allocated: what a guest has is its own" {
    cp "$CONF.before" "$CONF"
    echo GuestMemory=allocated >> "$CONF"
    echo GuestMemoryReserve=90% >> "$CONF"
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -HUP "$(cat /run/pids/hpcbd)"'
    guest=$(submit --guest --requeue --mem=700 -w n1 -n1 \
        --wrap "exec python3 $WORK/touch.py 300 300")
    wait_until 30 holds n1 guests 300
    sleep "$(secs 7)"
    [ "$(state_of "$guest")" = RUNNING ] && [ "$(job_field "$guest" Restarts)" = 0 ]
}
