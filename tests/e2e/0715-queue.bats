#!/usr/bin/env bats
# Many guests wait, and the scheduler looks at a few jobs a cycle: guests come first in
# its queue, and primaries must be looked at all the same (rule queue-depth of `hpcbctl
# check`).

load select

setup_file() {
    # Full cycles are far apart: what starts in between, the end of a job brings about.
    export FEW=$BATS_FILE_TMPDIR/few.conf
    echo "SchedulerParameters=sched_interval=300,bf_interval=300,batch_sched_delay=1,default_queue_depth=10,partition_job_depth=5,bf_max_job_test=20,bf_max_job_part=5,bf_min_prio_reserve=1000" > "$FEW"
    select_up --append "$FEW"
}

teardown_file() { sandbox_down; }

setup() {
    needs_plugins
    cancel_all
}

waiting() { [ "$(as_root squeue -h -t PD -p guest -o %i | wc -l)" -ge "$1" ]; }

@test "a primary starts when the one before it ends, however many guests wait" {
    for n in 1 2 3; do running "$(guest -n4 -w "n$n")"; done
    first=$(submit -N3 -n12 --mem=100 --wrap "sleep $(secs 15)")
    running "$first"
    # shellcheck disable=SC2016 # expanded by the user's shell
    as_user bash -c 'for i in $(seq 30); do sbatch -Q -o /dev/null --guest -n4 --mem=50 --wrap "sleep 300"; done'
    next=$(submit -N3 -n12 --mem=100 --wrap "sleep $(secs 60)")
    waiting 30
    [ "$(state_of "$first")" = RUNNING ] && [ "$(state_of "$next")" = PENDING ]
    wait_for_end "$first" 30
    running "$next" 8
    waiting 30
}

# Slurm's main scheduler starts none, and takes its partition's nodes from who comes next.
@test "a primary starts at once although a heterogeneous guest waits" {
    het=$(as_user sbatch --parsable -o /dev/null --guest -n1 --mem=50 -w n1 \
        : --guest -n1 --mem=50 -w n2 --wrap "sleep $(secs 300)")
    [ "$(state_of "$het+0")" = PENDING ]
    running "$(submit -N3 -n12 --mem=100 --wrap "sleep $(secs 60)")" 8
}

@test "hpcbctl check is content with these depths, and not with Slurm's defaults" {
    run as_root hpcbctl check
    grep -qw queue-depth <<< "$(sed -n '/^OK/,/^[A-NP-Z]/p' <<< "$output")"
    sed -i 's/^SchedulerParameters=.*/SchedulerParameters=bf_min_prio_reserve=1000/' \
        "$HPCB_SANDBOX_DIR/etc/slurm.conf"
    as_root scontrol reconfigure
    run as_root hpcbctl check
    echo "$output"
    grep -q 'partition_job_depth=100' <<< "$output"
}
