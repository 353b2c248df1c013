#!/usr/bin/env bats
# The cluster side with something broken on purpose: no job is lost, primaries run as with
# stock Slurm, and the log says once what is wrong.

load select

setup_file() {
    select_up || return 1
    export DIR=$HPCB_SANDBOX_DIR PLUGINS
    PLUGINS=$(plugin_dir)
    PLUGINS=$DIR${PLUGINS#/run/hpcb}
    export STORE=$DIR/spool/hpc-balance/profiles.json SLURM_CONF_FILE=$DIR/etc/slurm.conf
    cp -a "$PLUGINS" "$WORK/plugins"
    cp -a "$CONF" "$WORK/hpc-balance.conf"
    cp -a "$SLURM_CONF_FILE" "$WORK/slurm.conf"
}

teardown_file() { sandbox_down; }
setup() { needs_plugins && cancel_all && mark; }

teardown() {
    rm -rf "$CONF" "$STORE"
    cp -a "$WORK/hpc-balance.conf" "$CONF"
    cp -a "$WORK/slurm.conf" "$SLURM_CONF_FILE"
    put_plugins
    if answers; then as_root scontrol reconfigure; else restart_slurmctld; fi
}

# New files, as packages make them: slurmctld runs the old ones.
put_plugins() {
    local plugin
    for plugin in "$WORK"/plugins/*; do
        cmp -s "$plugin" "$PLUGINS/${plugin##*/}" ||
            { cp -a "$plugin" "$PLUGINS/new" && mv "$PLUGINS/new" "$PLUGINS/${plugin##*/}"; }
    done
}

# What slurmctld has logged since mark.
mark() { MARK=$(wc -l < "$CTLD_LOG"); }
logged() { tail -n +$((MARK + 1)) "$CTLD_LOG"; }
said_times() { [ "$(logged | grep -cE -- "$2")" -eq "$1" ]; } # said_times COUNT PATTERN
said() { logged | grep -qE -- "$1"; }

assert_sound() {
    wait_until 10 all_run
    answers
    not said 'fatal|Invalid job|under-allocated|mis-count|double free|Bad core count'
    not grep -qE 'down|drain|fail' <<< "$(as_root sinfo -h -o %T)"
}

# Primaries as with stock Slurm: wide ones, --exclusive ones.  Guests get a place.
assert_works() {
    local job
    job=$(submit -n8 -N2 -w n2,n3 --mem=10 -t1 --wrap "sleep 1")
    wait_for_state "$job" COMPLETED 30
    job=$(submit -N1 -w n3 --exclusive --mem=10 -t1 --wrap "sleep 1")
    wait_for_state "$job" COMPLETED 30
    job=$(guest -n1 --bw-profile=mem=1G)
    running "$job" && as_root scancel "$job"
}

# Jobs on all nodes, n2 and n3 with room for more primaries.
start_few() {
    some=$(primary_on n1 --exclusive --bw-profile=mem=16G)
    for n in 1 2 3; do some+=" $(guest -n2 -w "n$n" --bw-profile=mem=1G)"; done
    for job in $some; do running "$job" > /dev/null; done
}

@test "hpc-balance.conf becomes junk: what was read stays in force, said once by each plugin" {
    start_few
    head -c 3000 /dev/urandom > "$CONF"
    as_root scontrol reconfigure
    assert_works
    assert_sound
    for plugin in select preempt job_submit; do
        said_times 1 "$plugin/hpc_balance: .*hpc-balance.conf.*stay in force"
    done
    # Also over a restart, with defaults: the partition is the same here.
    restart_slurmctld
    said 'select/hpc_balance: .*defaults are used'
    assert_works
    assert_sound
}

@test "hpc-balance.conf is no file, cannot be read, is gone" {
    start_few
    for how in 'mkdir "$CONF"' 'ln -s /nowhere "$CONF"' 'touch "$CONF"; chmod 0 "$CONF"' :; do
        rm -rf "$CONF"
        eval "$how"
        as_root scontrol reconfigure
        assert_works
        assert_sound
    done
}

@test "NodeName lines that name nothing, everything, or no bandwidth" {
    start_few
    for line in 'NodeName=x[1-1000] MemBandwidth=1G' 'NodeName=n[3-1] MemBandwidth=1G' \
        'NodeName=ALL MemBandwidth=1' 'NodeName=n1 Mem=1G' 'NodeName=n[1-'; do
        { cat "$WORK/hpc-balance.conf"; echo "$line"; } > "$CONF"
        as_root scontrol reconfigure
        job=$(submit -N1 -w n3 --exclusive --mem=10 -t1 --wrap "sleep 1")
        wait_for_state "$job" COMPLETED 30
        assert_sound
    done
    said_times 1 'NodeName=x\[1-1000\].* 1000 of these'
}

@test "a profile store of junk, one that is not trusted, a directory: said once, jobs run" {
    start_few
    mkdir -p "${STORE%/*}"
    for how in 'head -c 100000 /dev/urandom > "$STORE"' 'mkdir "$STORE"' \
        'echo "{\"version\":1,\"profiles\":[" > "$STORE"' \
        'echo "{}" > "$STORE"; chmod 666 "$STORE"' 'mkfifo "$STORE"'; do
        rm -rf "$STORE"
        eval "$how"
        sleep 1.5 # the store is looked at once a second
        mark
        submit -n1 -H --mem=10 --wrap true
        wait_until 10 said 'job_submit/hpc_balance: .*profiles read before stay in force'
        assert_works
        said_times 1 'profiles read before stay in force'
        assert_sound
    done
}

# Tags of an administrator's hand: no text at all, JSON that is none of ours, wrong types,
# figures beyond all bounds, deep and long ones.
tags() {
    printf '%s\n' '{' '[]' 'null' '"hpcb"' '{"hpcb":1}' '{"hpcb":{"bw":[]}}' \
        '{"hpcb":{"bw":{"mem":"12G","net":{}},"program":7}}' \
        '{"hpcb":{"bw":{"mem":-1,"net":99999999999999999999999999}}}' \
        '{"hpcb":{"bw":{"mem":9223372036854775807,"net":9223372036854775807}}}' \
        '{"hpcb":{"class":"primary","bw":{"mem":1e308}}}' \
        "$(printf '[%.0s' {1..5000})" "$(printf 'x%.0s' {1..60000})"
    echo "{\"hpcb\":{\"program\":\"$(printf 'p%.0s' {1..50000})\"}}"
}

@test "junk for a tag: the guest is one of unknown demand, also after a restart" {
    start_few
    tagged=()
    while IFS= read -r tag; do
        job=$(guest --hold -n1 --mem=10 -w n2)
        as_root scontrol update JobId="$job" AdminComment="$tag"
        tagged+=("$job")
    done < <(tags)
    # Running ones as well: what is taken from a node's sums is what was added.
    for job in $some; do
        as_root scontrol update JobId="$job" AdminComment="$(tags | sed -n 9p)"
    done
    for job in "${tagged[@]}"; do as_root scontrol release "$job"; done
    # The others wait for cores: two of n2's four are left.
    wait_until 20 guests_run 3
    restart_slurmctld
    assert_sound
    for job in "${tagged[@]}"; do as_root scancel "$job"; done
    # No node has room beside such a demand.
    wait_until 30 refused_by_all
    for job in $some; do as_root scontrol update JobId="$job" AdminComment='{}'; done
    as_root scontrol reconfigure
    assert_works
}

# A node is a candidate when it has answered the new slurmctld and no job is completing
# there; why a guest waits is said once a minute, so each time another one asks.
refused_by_all() {
    local job
    job=$(guest -n1 --bw-profile=mem=1G)
    sleep "$(secs 3)"
    as_root scancel "$job"
    said "JobId=$job waits: .*saturate 3 of the 3"
}

guests_run() { [ "$(as_root squeue -h -t R -p guest -w n2 -o %i | wc -l)" -ge "$1" ]; }

@test "restarts and reconfigurations while guests and primaries come and go" {
    start_few
    for i in 1 2 3 4 5 6; do
        submit -n2 --mem=10 -t1 -J churn --wrap "sleep 1" > /dev/null
        submit --guest -n1 --mem=10 -t1 -J churn --bw-profile=mem=2G --wrap "sleep 1" > /dev/null
        if [ $((i % 3)) = 0 ]; then restart_slurmctld; else as_root scontrol reconfigure; fi
    done
    wait_until 60 churned
    [ "$(as_root sacct -X -n -P -a -o State --name=churn -S now-10minutes | sort | uniq -c | xargs)" = "12 COMPLETED" ]
    assert_sound
}

churned() {
    [ -z "$(as_root squeue -h -n churn -o %i)" ] &&
        [ "$(as_root sacct -X -n -P -a -o State --name=churn -S now-10minutes | grep -c COMPLETED)" -ge 12 ]
}

@test "a preempt plugin for another version: slurmctld says so and hpcbctl check too" {
    start_few
    damage_version "$PLUGINS/preempt_hpc_balance.so"
    run as_root hpcbctl check
    grep -qE 'preempt-plugin' <<< "$(sed -n '/^FAIL/,/^[A-EG-Z]/p' <<< "$output")"
    run_in_node ctl /run/hpcb/lib/daemon restart slurmctld
    wait_until 20 grep -qE 'Incompatible Slurm plugin|annot create preempt context|cannot create preempt' \
        "$CTLD_LOG" "$DIR/log/slurmctld.out"
    sleep 1
    not answers
    # The jobs run on meanwhile; with the plugin that fits nothing is lost.
    put_plugins
    mark
    restart_slurmctld
    assert_sound
    assert_works
}

@test "all our slurmctld plugins are removed with jobs running, and come back" {
    start_few
    waits=$(guest -n1 --bw-profile=mem=19G)
    rm "$PLUGINS"/{select_cons_tres,preempt_hpc_balance,job_submit_hpc_balance}.so
    sed -i -e '/^JobSubmitPlugins/d' -e 's/^PreemptType=.*/PreemptType=preempt\/none/' \
        -e 's/^PreemptMode=.*/PreemptMode=OFF/' "$SLURM_CONF_FILE"
    mark
    restart_slurmctld
    assert_sound
    job=$(submit -N1 -w n3 --mem=10 -t1 --wrap "sleep 1")
    wait_for_state "$job" COMPLETED 30
    cp -a "$WORK/slurm.conf" "$SLURM_CONF_FILE"
    put_plugins
    restart_slurmctld
    assert_sound
    assert_works
    state=$(state_of "$waits")
    [ "$state" = RUNNING ] || [ "$state" = PENDING ]
}

kill_slurmctld() { run_in_node ctl bash -c 'kill -9 "$(cat /run/pids/slurmctld)"'; }

is_told() { [[ $(job_field "$1" PreemptTime) = 20* ]]; }

# Slurm writes what it knows of jobs within five seconds; what changed after that is lost
# with the process, whichever plugins it has.
@test "slurmctld is killed in the middle of a preemption: the primary starts, no job is lost" {
    start_few
    memory=$(node_memory)
    as_root scontrol update PartitionName=guest GraceTime="$(secs 14)"
    # It does not hear SIGTERM, and would run for longer than the preemption lasts, which
    # is the grace time.
    # shellcheck disable=SC2016 # expanded by the job
    big=$(submit --guest --requeue -n1 -w n2 --mem=$((memory - 400)) \
        --wrap 'trap "" TERM; for i in $(seq 35); do sleep 1; done')
    running "$big"
    other=$(guest -n1 -w n2 --mem=10)
    running "$other"
    some+=" $other"
    job=$(submit -H -n1 -w n2 --mem=1000 --wrap "sleep $(secs 8)")
    sleep "$(secs 6)"
    mark
    as_root scontrol release "$job"
    wait_until 10 is_told "$big"
    sleep "$(secs 6)"
    kill_slurmctld
    sleep 1
    restart_slurmctld
    running "$job" 60
    wait_for_state "$job" COMPLETED 40
    wait_until 30 is_back "$big" || { as_root scontrol show job "$big"; return 1; }
    as_root scontrol update JobId="$big" StartTime=now 2> /dev/null || true
    wait_for_state "$big" COMPLETED 90
    [ "$(job_field "$big" Restarts)" -ge 1 ]
    [ "$(job_field "$other" Restarts)" = 0 ]
    assert_sound
}

is_back() { [[ $(state_of "$1") =~ ^(PENDING|RUNNING|COMPLETED)$ ]]; }
