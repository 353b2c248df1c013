#!/usr/bin/env bats
# --bw-spread: fewer tasks a node for jobs that would saturate the memory of their nodes;
# four nodes that claim to have four cores each and can move 20G.

load helpers
load guest
load select

setup_file() {
    sandbox_up --nodes 4 --fake-cpus 4 || return 1
    export WORK=$HPCB_SANDBOX_DIR/work
    mkdir -p "$WORK" && chmod 1777 "$WORK"
    export CTLD_LOG=$HPCB_SANDBOX_DIR/log/slurmctld.log
    export CONF=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf
    printf '%s\n' 'GuestMemory=allocated' 'NodeName=n[1-4] MemBandwidth=20G NetBandwidth=1G' >> "$CONF"
    as_root scontrol reconfigure
    ! has_plugins || wait_until 10 conf_is_read
}
teardown_file() { sandbox_down; }

setup() {
    needs_plugins
    cancel_all
}

# What sbatch says of it is in $WORK/said, where its tasks are in $WORK/tasks.
job() { # job [SBATCH OPTION]...
    rm -f "$WORK/tasks"
    as_user sbatch --parsable -o "$WORK/tasks" --mem=50 "$@" \
        --wrap "srun sh -c 'echo \$SLURMD_NODENAME'; echo all; sleep $(secs 300)" 2> "$WORK/said"
}

has_run() { grep -qx all "$WORK/tasks"; }

# How many tasks each of its nodes has, the fewest first: "1 1 1 1".
tasks_of() { # tasks_of JOB
    wait_for_state "$1" RUNNING 30 >&2 || return 1
    wait_until 30 has_run >&2 || return 1
    sed '/^all$/d' "$WORK/tasks" | sort | uniq -c | awk '{ print $1 }' | sort -n | xargs
}

says() { grep -qF -- "$1" "$WORK/said" && [ "$(wc -l < "$WORK/said")" = 1 ]; }

comment_of() { # comment_of JOB: what scontrol shows
    as_root scontrol show job "$1" | sed -n 's/^ *SystemComment=//p'
}

@test "four tasks of 20G each have a node each, as asked for; without, they have one" {
    packed=$(job -n4 --bw-profile=mem=80G)
    [ "$(tasks_of "$packed")" = 4 ]
    [ ! -s "$WORK/said" ]
    [ -z "$(comment_of "$packed")" ]
    cancel_all
    spread=$(job -n4 --bw-profile=mem=80G --bw-spread)
    [ "$(tasks_of "$spread")" = "1 1 1 1" ]
    says 'sbatch: --bw-spread: SystemComment of scontrol show job shows'
    [ "$(job_field "$spread" NumNodes)" = 4 ]
    [ "$(job_field "$spread" NumCPUs)" = 4 ]
    [ "$(as_root squeue -h -j "$spread" -o %D)" = 4 ]
    comment_of "$spread" | grep -F 'at most 1 of 4 tasks a node, not 4, which would use 80.0G/s of'
    grep -F "JobId=$spread: --bw-spread: at most 1 of 4" "$CTLD_LOG"
}

@test "as many nodes as it takes, and no more than --nodes allows" {
    some=$(job -n4 --bw-profile=mem=30G --bw-spread)
    [ "$(tasks_of "$some")" = "2 2" ]
    cancel_all
    ranged=$(job -n4 -N1-2 --bw-profile=mem=80G --bw-spread)
    [ "$(tasks_of "$ranged")" = "2 2" ]
    cancel_all
    exact=$(job -n4 -N1 --bw-profile=mem=80G --bw-spread)
    [ "$(tasks_of "$exact")" = 4 ]
    comment_of "$exact" | grep -F 'nothing changed: no more nodes were available'
    cancel_all
    light=$(job -n4 --bw-profile=mem=18G --bw-spread)
    [ "$(tasks_of "$light")" = 4 ]
    comment_of "$light" | grep -F 'nothing changed: it does not saturate a node'
}

@test "who says --ntasks-per-node has that, and --exclusive has whole nodes" {
    given=$(job -n4 --ntasks-per-node=4 --bw-profile=mem=80G --bw-spread)
    [ "$(tasks_of "$given")" = 4 ]
    says '--bw-spread changes nothing: the job sets its own layout'
    cancel_all
    whole=$(job -n4 --exclusive --bw-profile=mem=80G --bw-spread)
    [ "$(tasks_of "$whole")" = "1 1 1 1" ]
    [ "$(job_field "$whole" NumCPUs)" = 16 ]
}

@test "what nobody knows changes nothing, and what was learned counts" {
    unknown=$(job -J stream -n4 --bw-spread)
    [ "$(tasks_of "$unknown")" = 4 ]
    says '--bw-spread changes nothing: the memory bandwidth of the job is not known'
    cancel_all
    uid=$(as_user id -u)
    run_in_node ctl hpcbctl profile set --user "$uid" --name stream --executable '' mem=20G
    wait_until 30 knows_stream
    learned=$(job -J stream -n4 --bw-spread)
    # A full node does not say what its tasks wanted: half of them.
    [ "$(tasks_of "$learned")" = "2 2" ]
}

knows_stream() {
    job=$(submit -H -J stream -n1 --wrap true)
    found=$(job_field "$job" AdminComment)
    as_root scancel "$job"
    [[ $found == *'"learned"'* ]]
}

@test "no job waits for being spread" {
    for n in 1 2 3; do primary_on "n$n"; done
    spread=$(job -n4 --bw-profile=mem=80G --bw-spread)
    [ "$(tasks_of "$spread")" = 4 ]
    [ "$(nodes_of "$spread")" = n4 ]
    comment_of "$spread" | grep -F 'nothing changed: no more nodes were available'
}

@test "each component of a heterogeneous job is spread" {
    job=$(submit --bw-spread --bw-profile=mem=80G --mem=50 -n2 : \
        --bw-spread --bw-profile=mem=80G --mem=50 -n2 --wrap "sleep $(secs 300)")
    wait_for_state "$job" RUNNING 60
    [ "$(as_root squeue -h -j "$job" -o %D | xargs)" = "2 2" ]
}

@test "guests see what a job moves that is spread" {
    for n in 3 4; do primary_on "n$n" --bw-profile=mem=20G; done
    # 10G on each of the others, where packed it would be 20G.
    spread=$(job -n4 --bw-profile=mem=20G --bw-spread)
    [ "$(tasks_of "$spread")" = "2 2" ]
    guest=$(guest -n1 --bw-profile=mem=8G)
    [[ $(running "$guest") = n[12] ]]
}

@test "bad values and guests are refused in one line" {
    for bad in --bw-spread=yes --bw-spread=2; do
        run as_user sbatch "$bad" -n1 --wrap true
        echo "$output"
        [ "$status" -ne 0 ]
        [ "$(grep -c -- --bw-spread <<< "$output")" -eq 1 ]
    done
    run as_user sbatch --guest --bw-spread -n1 --wrap true
    [ "$status" -eq 1 ]
    [ "$output" = "sbatch: error: hpc_balance: --guest and --bw-spread exclude each other: a guest takes what primaries leave; drop one of the two" ]
    as_user sbatch --help | grep -- '--bw-spread'
}
