#!/usr/bin/env bats
# Which guests go when a primary needs their memory or GRES: those, and no other.

load select

setup_file() {
    # A partition whose jobs had whole nodes by OverSubscribe=EXCLUSIVE.
    export WHOLE=$BATS_FILE_TMPDIR/whole.conf
    echo "PartitionName=whole Nodes=ALL PriorityTier=10 PriorityJobFactor=1 OverSubscribe=FORCE:1 MaxTime=INFINITE State=UP" > "$WHOLE"
    select_up --append "$WHOLE" || return 1
    echo ExclusivePartitions=whole >> "$CONF"
    as_root scontrol reconfigure
}

teardown_file() { sandbox_down; }

setup() {
    needs_plugins
    cancel_all
    as_root scontrol update PartitionName=guest GraceTime=0
    memory=$(node_memory)
}

share() { echo $((memory * $1 / 100)); } # share PERCENT: of a node's memory, in MiB

stays() { [ "$(state_of "$1")" = RUNNING ] && [ "$(job_field "$1" Restarts)" = 0 ]; }

# Guests start one after the other: Slurm removes the youngest first.
start_guest() { # start_guest SBATCH-OPTION...
    local job
    job=$(guest -n1 --requeue "$@") && running "$job" > /dev/null && sleep 1.1 && echo "$job"
}

@test "two guests must go: none of the others does, whatever their order" {
    others=$(start_guest -w n1 --mem=10)
    one=$(start_guest -w n1 --mem="$(share 30)")
    others+=" $(start_guest -w n1 --mem=10)"
    two=$(start_guest -w n1 --mem="$(share 30)")
    job=$(submit -n1 -w n1 --mem="$(share 90)" --wrap "sleep $(secs 5)")
    running "$job" 20
    requeued "$one" && requeued "$two"
    for other in $others; do stays "$other"; done
}

@test "two nodes: on each the guest that has the memory goes" {
    wide=$(start_guest -N2 -n2 -w n1,n2 --mem=10)
    has="$(start_guest -w n1 --mem="$(share 80)") $(start_guest -w n2 --mem="$(share 70)")"
    other=$(start_guest -w n2 --mem=10)
    elsewhere=$(start_guest -w n3 --mem="$(share 80)")
    job=$(submit -N2 -n2 -w n1,n2 --mem="$(share 50)" --wrap "sleep $(secs 5)")
    running "$job" 20
    for guest in $has; do requeued "$guest"; done
    for guest in $wide $other $elsewhere; do stays "$guest"; done
}

@test "of an array the tasks in the way go, of a heterogeneous job all components" {
    array=$(guest --requeue --array=0-1 -n1 -w n1 --mem="$(share 30)")
    running "${array}_0" && running "${array}_1"
    het=$(as_user sbatch --parsable -o /dev/null --guest --requeue -n1 -w n3 --mem=10 \
        : --guest -n1 -w n2 --mem="$(share 60)" --wrap "sleep $(secs 300)")
    running "$het+0" && running "$het+1"
    first=$(submit -n1 -w n1 --mem="$(share 60)" --wrap "sleep $(secs 5)")
    second=$(submit -n1 -w n2 --mem="$(share 60)" --wrap "sleep $(secs 5)")
    running "$first" 20 && running "$second" 20
    states=$(for i in 0 1; do state_of "${array}_$i"; done | sort | xargs)
    echo "tasks: $states"
    [ "$states" = "PENDING RUNNING" ]
    for part in 0 1; do wait_for_state "$het+$part" PENDING 20; done
}

# Slurm stops a component that has started, and keeps the job back for two minutes, where
# a later one finds that it has to preempt.
@test "no component of a heterogeneous primary starts before another one's guests are gone" {
    has=$(start_guest -w n2 --mem="$(share 80)")
    other=$(start_guest -w n3 --mem="$(share 80)")
    job=$(as_user sbatch --parsable -o /dev/null -n1 -w n1 --mem=10 \
        : -n1 -w n2 --mem="$(share 50)" --wrap "sleep $(secs 20)")
    running "$job+0" 20
    running "$job+1" 5
    requeued "$has"
    stays "$other"
    not grep "Deallocate JobId=$job+0.* due to hetjob start failure" "$CTLD_LOG"
}

@test "in its grace time a guest is signalled, and nobody goes in its place" {
    as_root scontrol update PartitionName=guest GraceTime="$(secs 8)"
    # shellcheck disable=SC2016 # expanded by the job
    polite=$(submit --guest --requeue -n1 -w n1 --mem="$(share 50)" --wrap '
        trap "echo signalled >> '"$WORK"'/grace" TERM
        for i in $(seq 300); do sleep 1; done')
    running "$polite"
    sleep 1.1
    other=$(start_guest -w n1 --mem="$(share 30)")
    # Either would do by its size, in this order of their age; asked for more than once.
    big=$(submit -n1 -w n1 --mem="$(share 60)" --wrap "sleep $(secs 5)")
    # The grace time, KillWait (5 s) and a few cycles; Slurm alone takes up to 30 s more.
    running "$big" 22
    echo "restarts: $(job_field "$polite" Restarts) $(job_field "$other" Restarts)"
    [ $(($(job_field "$polite" Restarts) + $(job_field "$other" Restarts))) -eq 1 ]
    if requeued "$polite"; then grep -q signalled "$WORK/grace"; fi
}

@test "--exclusive takes a guest's GRES back, and only that guest goes" {
    has=$(start_guest -w n1 --gres=acc:1)
    other=$(start_guest -w n1)
    job=$(submit -N1 --exclusive -w n1 --mem=100 --wrap "sleep $(secs 5)")
    running "$job" 20
    requeued "$has"
    stays "$other"
}

@test "a partition that was OverSubscribe=EXCLUSIVE: whole nodes beside guests" {
    for n in 1 2 3; do start_guest -w "n$n"; done
    big=$(start_guest -w n1 --mem="$(share 80)")
    job=$(submit -p whole -n1 -w n1 --mem="$(share 50)" --wrap "sleep $(secs 60)")
    running "$job" 20
    requeued "$big"
    [ "$(job_field "$job" NumCPUs)" = 4 ]
    # No other primary, but guests.
    other=$(submit -n1 -w n1 --mem=10 --wrap "sleep $(secs 60)")
    running "$(guest -n1 -w n1)"
    [ "$(state_of "$other")" = PENDING ]
    # Whatever the job says, and with several partitions.
    job=$(submit -p primary,whole -n1 -w n2 --oversubscribe --mem=10 --wrap "sleep $(secs 60)")
    running "$job" 20
    [ "$(job_field "$job" NumCPUs)" = 4 ]
}
