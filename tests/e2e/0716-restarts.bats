#!/usr/bin/env bats
# A mixed queue in which slurmctld and nodes' hpcbd die (kill -9) at random moments: no job
# is lost, each primary starts as without guests, and no memory of a guest that has gone is
# kept.  $HPCB_SEED gives another sequence.
#
# Every primary has a whole node with all its memory, and ends when the test says.  So the
# test knows which ones run: the first of each node, whatever guests there are.  It waits for
# that after each step.
#
# What Slurm itself loses is no part of this: up to five seconds of its state.  slurmctld dies
# only when all jobs that the test knows of are on its disk.

load select

# Of each kind so many: a guest is submitted, a primary is, a primary ends, a guest is
# cancelled, slurmctld is killed and started, a node's hpcbd is killed, or started.
STEPS="guest:9 primary:8 end:6 cancel:2 slurmctld:4 hpcbd:6"
SEED=${HPCB_SEED:-19}

setup_file() {
    # Few jobs a cycle are looked at, as in 0715-queue.bats.
    export FEW=$BATS_FILE_TMPDIR/few.conf
    echo "SchedulerParameters=sched_interval=2,bf_interval=2,bf_continue,batch_sched_delay=1,default_queue_depth=10,partition_job_depth=5,bf_max_job_test=20,bf_max_job_part=5,bf_min_prio_reserve=1000" > "$FEW"
    select_up --append "$FEW"
    sed -i 's/^GuestMemory=.*/GuestMemory=unused/' "$CONF"
    as_root scontrol reconfigure
    for n in 1 2 3; do restart_hpcbd "n$n"; done
    export MEMORY
    MEMORY=$(node_memory)
}

teardown_file() { sandbox_down; }

setup() {
    needs_plugins
    cancel_all
}

kill_daemon() { # kill_daemon HOST NAME
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "$1" bash -c 'kill -9 "$(cat "/run/pids/$1")"
        while /run/hpcb/lib/daemon running "$1"; do sleep 0.1; done' kill "$2"
}
start_daemon() { run_in_node "$1" /run/hpcb/lib/daemon start "$2"; }
restart_hpcbd() { kill_daemon "$1" hpcbd && start_daemon "$1" hpcbd; }

allocated() { as_root scontrol -o show node "$1" | sed -n 's/.* AllocMem=\([0-9]*\).*/\1/p'; }
holds() { [ "$(allocated "$1")" = "$2" ]; } # holds NODE MIB
log_is_clean() { not grep -E 'overallocated|under-?allocated|underflow' "$CTLD_LOG"; }

# --- what the test knows ------------------------------------------------------------------

declare -gA running waiting silent # by node; silent: without hpcbd
primaries=() guests=() cancelled=()

# Until the test says so.
loop() { echo "until [ -e $WORK/end-$1 ]; do sleep 0.5; done"; } # loop NAME

any_node() { node=n$((RANDOM % 3 + 1)); }

settled() {
    local n memory
    for n in n1 n2 n3; do
        memory=0
        if [ -n "${running[$n]:-}" ]; then
            wait_for_state "${running[$n]}" RUNNING 120 || return 1
            memory=$MEMORY
        fi
        # Guests are none of its business.
        wait_until 60 holds "$n" "$memory" || { allocated "$n"; return 1; }
        [ -z "${waiting[$n]:-}" ] || [ "$(state_of "${waiting[$n]}")" = PENDING ] || return 1
    done
}

# --- steps ----------------------------------------------------------------------------------

submit_guest() {
    local part=$((RANDOM % 2 ? 30 : 5))
    any_node
    guests+=("$(submit --guest --requeue -n1 -w "$node" --mem=$((MEMORY * part / 100)) \
        --wrap "$(loop guests)")")
}

submit_primary() {
    local job
    any_node
    # As many as wait are looked at in each cycle.
    [ -z "${waiting[$node]:-}" ] || return 0
    job=$(submit --no-requeue -N1 -w "$node" --exclusive --mem=0 --wrap "$(loop "\$SLURM_JOB_ID")")
    primaries+=("$job")
    if [ -n "${running[$node]:-}" ]; then waiting[$node]=$job; else running[$node]=$job; fi
}

may_end() { touch "$WORK/end-${running[$node]}"; }

has_ended() {
    wait_for_end "${running[$node]}" 120
    running[$node]=${waiting[$node]:-} waiting[$node]=''
}

end_primary() {
    any_node
    [ -n "${running[$node]:-}" ] || return 0
    may_end
    has_ended
}

cancel_guest() {
    [ ${#guests[@]} -gt 0 ] || return 0
    local job=${guests[RANDOM % ${#guests[@]}]}
    as_root scancel "$job" || true # twice
    cancelled+=("$job")
}

# A change of a job that never starts is saved with all that came before it.
saved() { # saved SECONDS
    awk -v since="$1" -v at="$(run_in_node ctl stat -c %.9Y /run/hpcb/spool/slurmctld/job_state)" \
        'BEGIN { exit !(at > since) }'
}
save_state() {
    local since
    since=$(date +%s.%N) # before: slurmctld may save at once
    as_root scontrol update JobId="$marker" Comment="$RANDOM"
    wait_until 60 saved "$since"
}

# Half of the times a primary ends while there is no slurmctld.
crash_slurmctld() {
    local ends
    any_node
    ends=${running[$node]:+$((RANDOM % 2))}
    save_state
    kill_daemon ctl slurmctld
    [ "$ends" != 1 ] || may_end
    sleep $((RANDOM % 3))
    start_daemon ctl slurmctld
    wait_until 60 answers
    [ "$ends" != 1 ] || has_ended
}

crash_or_start_hpcbd() {
    any_node
    if [ -z "${silent[$node]:-}" ]; then
        kill_daemon "$node" hpcbd && silent[$node]=yes
    else
        start_daemon "$node" hpcbd && silent[$node]=''
    fi
}

step() { # step KIND
    case $1 in
    guest) submit_guest ;;
    primary) submit_primary ;;
    end) end_primary ;;
    cancel) cancel_guest ;;
    slurmctld) crash_slurmctld ;;
    hpcbd) crash_or_start_hpcbd ;;
    esac
}

# All kinds of STEPS, in an order by the seed.
shuffled() {
    local kind count steps=() i other
    for kind in $STEPS; do
        for ((count = ${kind#*:}; count > 0; count--)); do steps+=("${kind%:*}"); done
    done
    for ((i = ${#steps[@]} - 1; i > 0; i--)); do
        other=$((RANDOM % (i + 1)))
        kind=${steps[i]} steps[i]=${steps[other]} steps[other]=$kind
    done
    order=("${steps[@]}")
}

# --- at the end -----------------------------------------------------------------------------

start_what_is_down() {
    for node in n1 n2 n3; do
        [ -z "${silent[$node]:-}" ] || start_daemon "$node" hpcbd
        silent[$node]=''
    done
}

is_listed() { [[ " $2 " == *" $1 "* ]]; } # is_listed WORD WORDS

# Who was cancelled may be there no longer.
guests_are_there() {
    local queue job
    queue=$(as_root squeue -h -o %i | paste -sd' ')
    for job in "${guests[@]}" "$marker"; do
        is_listed "$job" "${cancelled[*]}" || is_listed "$job" "$queue" ||
            { echo "guest $job is lost: $(state_of "$job")"; return 1; }
    done
}

primaries_have_run() {
    local job
    for job in "${primaries[@]}"; do
        [ "$(state_of "$job")" = COMPLETED ] || { echo "primary $job: $(state_of "$job")"; return 1; }
    done
}

end_primaries() {
    while [ -n "${running[n1]:-}${running[n2]:-}${running[n3]:-}" ]; do
        end_primary
        settled
    done
}

@test "no job is lost, primaries start, no guest's memory stays: slurmctld and hpcbd are killed" {
    RANDOM=$SEED
    echo "# HPCB_SEED=$SEED" >&3
    marker=$(submit -H -p primary -n1 --mem=1 --wrap true)
    shuffled
    for kind in "${order[@]}"; do
        step "$kind"
        echo "$kind ${node:-}: running n1 ${running[n1]:-} n2 ${running[n2]:-} n3 ${running[n3]:-}"
        settled
    done
    start_what_is_down
    guests_are_there
    end_primaries
    primaries_have_run
    as_root scancel -p guest
    as_root scancel "$marker"
    wait_until 120 queue_empty
    for n in n1 n2 n3; do wait_until 30 holds $n 0; done
    # What guests had is lent again, to one that needs most of it.
    for n in n1 n2 n3; do
        job=$(submit --guest -n1 -w $n --mem=$((MEMORY * 40 / 100)) --wrap "sleep $(secs 300)")
        wait_for_state "$job" RUNNING 120
        holds $n 0
    done
    log_is_clean
}
