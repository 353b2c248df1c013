#!/usr/bin/env bats
# A primary that grows into lent memory gets it: guests end, and are requeued.
#
# Each node has memory of its own, as its daemons see it (tests/e2e/meminfo.py): what
# others on the machine take or give back is none of theirs.  A reserve that leaves 1 GiB of
# it makes a small node, so that no test takes much.
#
# A guest has only the CPU time that nobody else wants: tests wait long for it, and what it
# runs computes little.

load helpers
load guest

# MiB of a node, and what the reserve leaves of it.
NODE=8192
SMALL=1024
LONG=180 # seconds, for what a guest or Slurm does on a loaded machine

setup_file() {
    cluster_up || return 1
    export CONF=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf
    cp "$CONF" "$CONF.before"
    write_toucher
    give_memory n1 && give_memory n2
}
teardown_file() {
    cp "$CONF.before" "$CONF"
    take_memory n1
    take_memory n2
    reload_nodes
    cluster_down
}

setup() {
    cancel_all
    shrink_nodes
}

# Without a memory controller nobody knows what a node takes: it has the machine's.
give_memory() { # give_memory NODE
    [[ $CONTROLLERS = *" memory "* ]] || return 0
    local file=$WORK/meminfo.$1
    : > "$file"
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "$1" bash -c 'setsid "$@" > /dev/null 2>&1 & echo $! > "$2.pid"' give \
        "$HPCB_TOP/tests/e2e/meminfo.py" "$file" $NODE 3>&- < /dev/null
    wait_until 30 test -s "$file"
    run_in_node "$1" mount --bind "$file" /proc/meminfo
}

take_memory() { # take_memory NODE
    [ -e "$WORK/meminfo.$1.pid" ] || return 0
    run_in_node "$1" umount /proc/meminfo
    run_in_node "$1" kill "$(cat "$WORK/meminfo.$1.pid")"
}

# touch MIB SECONDS [AFTER [RATE]]: hold MIB of anonymous memory (and ignore SIGTERM); begin
# after so many seconds, and touch at most RATE MiB a second.  Guests end for what grows fast:
# what was late is not made up for.
write_toucher() {
    cat > "$WORK/touch.py" << 'END'
import mmap, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
MIB = 1 << 20
size = int(sys.argv[1]) * MIB
if len(sys.argv) > 3:
    time.sleep(float(sys.argv[3]))
start = time.monotonic()
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
pause = 1 / float(sys.argv[4]) if len(sys.argv) > 4 else 0
block = b"1" * MIB
for i in range(0, size, MIB):
    memory[i:i + MIB] = block
    time.sleep(pause) if pause else None
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

# What is available in a node, MiB.
available() { run_in_node "$1" awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo; }

# Tell both daemons of a reserve that leaves SMALL MiB of what is available.
shrink_nodes() {
    local reserve n1 n2
    n1=$(available n1) n2=$(available n2)
    reserve=$(((n1 < n2 ? n1 : n2) - SMALL))
    { cat "$CONF.before"; echo GuestMemory=unused; echo "GuestMemoryReserve=${reserve}M"; } > "$CONF"
    reload_nodes
    wait_until $LONG reserve_is $((reserve * 1048576))
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

says_why() { # says_why JOB
    [[ $(as_root scontrol -o show job "$1") = *"Comment=guest ended: a primary needed its memory"* ]]
}

was_requeued() { [ "$(job_field "$1" Restarts)" = 1 ]; }

@test "status says what guests hold" {
    guest=$(submit --guest --mem=700 -w n1 -n1 --wrap "exec python3 $WORK/touch.py 200 60")
    wait_until $LONG holds n1 guests 200
    [ "$(state_of "$guest")" = RUNNING ]
}

@test "a primary grows into lent memory: a guest that ignores SIGTERM ends and is requeued" {
    guest=$(OUT=$WORK/guest-%j submit --guest --requeue --mem=700 -w n1 -n1 \
        --wrap "exec python3 $WORK/touch.py 500 300")
    wait_until $LONG holds n1 guests 500
    primary=$(OUT=$WORK/primary-%j submit --mem=1200 -w n1 -n1 \
        --wrap "exec python3 $WORK/touch.py 900 3")
    wait_until $LONG was_requeued "$guest"
    grep -q 'slurm-hpc-balance: guest ended: a primary needed its memory' "$WORK/guest-$guest"
    wait_until 30 says_why "$guest"
    wait_until $LONG has_ended_for_memory "$guest"
    wait_for_end "$primary" $LONG
    grep -q '^done' "$WORK/primary-$primary"
    [ "$(state_of "$primary")" = COMPLETED ]
}

@test "a guest that cannot be requeued is cancelled" {
    guest=$(submit --guest --no-requeue --mem=700 -w n1 -n1 \
        --wrap "exec python3 $WORK/touch.py 500 300")
    wait_until $LONG holds n1 guests 500
    primary=$(submit --mem=1200 -w n1 -n1 --wrap "exec python3 $WORK/touch.py 900 3")
    wait_for_end "$guest" $LONG
    wait_for_end "$primary" $LONG
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
    wait_until $LONG holds n1 guests 450 || true
    primary=$(submit --mem=1200 -w n1 -n1 --wrap "exec python3 $WORK/touch.py 900 3")
    wait_until $LONG was_requeued "$guest"
    wait_for_end "$primary" $LONG
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

@test "the limit of guests follows what primaries leave, and comes back" {
    [[ $CONTROLLERS = *" memory "* ]] || skip "this kernel has no memory controller"
    local SMALL=2048
    local own=$((SMALL * 3 / 4)) grown=$((SMALL * 5 / 8)) rate=$((SMALL / 16))
    shrink_nodes
    guest=$(submit --guest --mem=$own -w n1 -n1 --wrap "exec python3 $WORK/touch.py 100 300")
    wait_until $LONG holds n1 guests 100
    limit_is "$guest" $own
    grow() {
        primary=$(submit --mem=$((grown + 500)) -w n1 -n1 \
            --wrap "exec python3 $WORK/touch.py $grown 300 0 $rate")
        wait_until $LONG limit_is_below "$guest" $own
        [ "$(state_of "$guest")" = RUNNING ]
    }
    grow
    as_root scancel "$primary"
    wait_until $LONG limit_is "$guest" $own
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
    wait_for_state "$guest" RUNNING $LONG
    primary=$(submit --mem=$((grown + 500)) -w n1 -n1 \
        --wrap "exec python3 $WORK/touch.py $grown 300 0 $rate")
    wait_until $LONG limit_is_below "$guest" $own
    wait_until $LONG holds n1 primaries_expected $grown
    [ "$(state_of "$guest")" = RUNNING ]
    touch "$WORK/go"
    wait_until $LONG was_requeued "$guest"
    rm -f "$WORK/go"
    wait_until $LONG grep -q 'slurm-hpc-balance: guest ended: a primary needed its memory' \
        "$WORK/killed-$guest"
    wait_until 30 says_why "$guest"
    [ "$(state_of "$primary")" = RUNNING ]
}

@test "a guest of two nodes ends on both" {
    guest=$(submit --guest --requeue --mem=700 -N2 -n2 \
        --wrap "srun -K1 python3 $WORK/touch.py 200 300")
    wait_until $LONG holds n1 guests 200
    wait_until $LONG holds n2 guests 200
    primary=$(submit --mem=1200 -w n1 -n1 --wrap "exec python3 $WORK/touch.py 1000 3")
    wait_until $LONG was_requeued "$guest"
    wait_until $LONG holds n2 guests 0
    wait_for_end "$primary" $LONG
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
    wait_until $LONG holds n1 guests 300
    sleep "$(secs 7)"
    [ "$(state_of "$guest")" = RUNNING ] && [ "$(job_field "$guest" Restarts)" = 0 ]
}
