#!/usr/bin/env bats
# Where the select plugin puts guests, and that primaries do not notice them: three nodes
# that claim to have four cores and two "acc" (a GRES) each.

load select

setup_file() { select_up; }
teardown_file() { sandbox_down; }

setup() {
    needs_plugins
    cancel_all
}

# The node that MemBUS prefers.  From standard input a line per node: name, what is left
# of memory and network bandwidth in G/s, processors that no guest has.  The guest needs
# MEM and NET of these, with one processor; capacities are 20 and 1.
oracle() { # oracle MEM NET [COUNT]
    awk -v mem="$1" -v net="$2" '
        $2 >= mem && $3 >= net {
            m = (mem - $2 / $4) / 20; n = (net - $3 / $4) / 1
            printf "%.6f %s\n", sqrt(m * m + n * n), $1
        }' | sort -n | head -n "${3:-1}" | awk '{ print $2 }' | sort | paste -sd' '
}

@test "the plugins are loaded, and hpcbctl check is content with them" {
    grep -q 'select/hpc_balance: before' "$CTLD_LOG"
    as_root scontrol show config | grep -q '^PreemptType *= preempt/hpc_balance'
    run as_root hpcbctl check
    echo "$output"
    good=$(sed -n '/^OK/,/^[A-NP-Z]/p' <<< "$output")
    for rule in select-plugin preempt-plugin preempt-type preempt-mode profile-store node-capacities; do
        grep -qw -- "$rule" <<< "$good"
    done
}

@test "guests go where primaries leave what they need" {
    primary_on n1 --bw-profile=mem=16G,net=100M
    primary_on n2 --bw-profile=mem=3G,net=800M
    primary_on n3 --bw-profile=mem=9G,net=400M
    nodes=$'n1 4 0.9 4\nn2 17 0.2 4\nn3 11 0.6 4'
    for need in "1 0.22" "4.5 0.04" "2.8 0.14"; do
        read -r mem net <<< "$need"
        job=$(guest -n1 --bw-profile="mem=${mem}G,net=${net}G")
        at=$(running "$job")
        echo "guest of $need on $at, oracle: $(oracle "$mem" "$net" <<< "$nodes")"
        [ "$at" = "$(oracle "$mem" "$net" <<< "$nodes")" ]
        as_root scancel "$job"
        wait_for_end "$job" 20
    done
}

@test "guests of several nodes, arrays and heterogeneous jobs do so as well" {
    primary_on n1 --bw-profile=mem=16G,net=100M
    primary_on n2 --bw-profile=mem=3G,net=800M
    primary_on n3 --bw-profile=mem=4G,net=700M
    nodes=$'n1 4 0.9 4\nn2 17 0.2 4\nn3 16 0.3 4'
    # Two nodes: the two best.
    job=$(guest -N2 -n2 --bw-profile=mem=4G,net=60M)
    [ "$(running "$job")" = "$(oracle 4 0.06 2 <<< "$nodes")" ]
    [ "$(running "$job")" = "n2 n3" ]
    as_root scancel "$job" && wait_for_end "$job" 20
    # Three tasks of 6G: n2 has room for two of them (17), n3 for two (16), n1 for none.
    job=$(guest --array=0-3 -n1 --bw-profile=mem=6G,net=10M)
    for i in 0 1 2 3; do running "${job}_$i"; done
    [ "$(for i in 0 1 2 3; do running "${job}_$i"; done | sort | uniq -c | xargs)" = "2 n2 2 n3" ]
    as_root scancel "$job" && wait_until 20 no_guests
    # Both components together fit beside no primary, each has its node.
    job=$(as_user sbatch --parsable -o /dev/null --guest -n1 --mem=50 --bw-profile=mem=3G,net=600M \
        : --guest -n1 --mem=50 --bw-profile=mem=10G,net=10M --wrap "sleep $(secs 300)")
    [ "$(running "$job+0")" = n1 ]
    [ "$(running "$job+1")" = "$(oracle 10 0.01 <<< "$nodes")" ]
}

# Slurm keeps the nodes of a component that could start for it, and in the main scheduler
# those of its whole partition, as long as it stands before the primaries.
@test "a heterogeneous guest that waits for one node keeps no primary off the other" {
    first=$(primary_on n2 --exclusive --mem=0)
    het=$(as_user sbatch --parsable -o /dev/null --guest -n1 --mem=50 -w n1 \
        : --guest -n1 --mem=50 -w n2 --wrap "sleep $(secs 300)")
    # Until both schedulers have seen it.
    sleep "$(secs 5)"
    [ "$(state_of "$het+0")" = PENDING ] && [ "$(state_of "$het+1")" = PENDING ]
    job=$(submit -N1 --exclusive -w n1 --mem=100 --wrap "sleep $(secs 300)")
    running "$job" 10
    [ "$(state_of "$het+0")" = PENDING ]
    as_root scancel "$first"
    running "$het+0" && running "$het+1"
    [ "$(state_of "$job")" = RUNNING ]
}

@test "a guest that would saturate every node waits, says why, and starts when one is free" {
    one=$(primary_on n1 --bw-profile=mem=16G)
    primary_on n2 --bw-profile=mem=17G
    primary_on n3 --bw-profile=mem=18G
    job=$(guest -n1 --bw-profile=mem=5G)
    wait_until 10 grep -q "JobId=$job waits: .*saturate 3 of the 3 nodes" "$CTLD_LOG"
    [ "$(state_of "$job")" = PENDING ]
    as_root scancel "$one"
    [ "$(running "$job")" = n1 ]
}

@test "a guest takes idle cores of the best node first, and never another guest's" {
    primary_on n1 -n2 --bw-profile=mem=4G,net=200M
    first=$(guest -n2 -w n1 --bw-profile=mem=1G,net=10M)
    running "$first"
    [ "$(job_cpus "$first" n1)" = 2-3 ]
    second=$(guest -n2 -w n1 --bw-profile=mem=1G,net=10M)
    running "$second"
    [ "$(job_cpus "$second" n1)" = 0-1 ]
}

@test "guests do not spread primaries, whatever cores they hold" {
    for n in 1 2 3; do running "$(guest -n2 -w "n$n")"; done
    job=$(submit -n4 --mem=100 --wrap "sleep $(secs 60)")
    [ "$(running "$job" 10 | wc -w)" = 1 ]
    job=$(submit -n8 -N2 --mem=100 --wrap "sleep $(secs 60)")
    [ "$(running "$job" 10 | wc -w)" = 2 ]
}

@test "--exclusive primaries start beside guests, and guests beside them; primaries do not" {
    guests=$(for n in 1 2 3; do guest -n4 -w "n$n"; done)
    for job in $guests; do running "$job"; done
    job=$(submit -N3 --exclusive --mem=100 --wrap "sleep $(secs 60)")
    [ "$(running "$job" 10)" = "n1 n2 n3" ]
    for other in $guests; do [ "$(state_of "$other")" = RUNNING ]; done
    as_root scancel -p guest && wait_until 20 no_guests
    running "$(guest -n1)"
    other=$(submit -n1 --mem=100 --wrap "sleep $(secs 60)")
    sleep "$(secs 4)"
    [ "$(state_of "$other")" = PENDING ]
}

@test "a guest's memory goes back to a primary, and only that guest is requeued" {
    memory=$(node_memory)
    bystander=$(guest -n1 -w n1)
    elsewhere=$(guest -n1 -w n2)
    big=$(short_guest -n1 -w n1 --mem=$((memory - 300)))
    for job in "$bystander" "$elsewhere" "$big"; do running "$job"; done
    job=$(submit -n1 -w n1 --mem=1000 --wrap "sleep $(secs 8)")
    running "$job" 15
    wait_until 10 requeued "$big"
    [ "$(job_field "$bystander" Restarts)" = 0 ] && [ "$(state_of "$bystander")" = RUNNING ]
    [ "$(job_field "$elsewhere" Restarts)" = 0 ] && [ "$(state_of "$elsewhere")" = RUNNING ]
    grep -q "preempted JobId=$big has been requeued" "$CTLD_LOG"
    comes_back "$big"
}

@test "a guest's GRES goes back to a primary" {
    keeps=$(guest -n1 -w n2 --gres=acc:2)
    has=$(short_guest -n1 -w n1 --mem=50 --gres=acc:2)
    other=$(guest -n1 -w n1)
    for job in "$keeps" "$has" "$other"; do running "$job"; done
    job=$(submit -n1 -w n1 --mem=100 --gres=acc:1 --wrap "sleep $(secs 8)")
    running "$job" 15
    wait_until 10 requeued "$has"
    [ "$(state_of "$keeps")" = RUNNING ] && [ "$(state_of "$other")" = RUNNING ]
    comes_back "$has"
}

@test "a guest of CPUs alone starts next to a primary that holds all GRES" {
    p=$(primary_on n1 --gres=acc:2)
    cpu=$(guest -n1 -w n1)
    running "$cpu"
    # One that asks for GRES waits for the primary's.
    gres=$(guest -n1 -w n1 --gres=acc:1)
    sleep "$(secs 4)"
    [ "$(state_of "$gres")" = PENDING ] && [ "$(state_of "$p")" = RUNNING ]
    as_root scancel "$p"
    running "$gres"
    [ "$(state_of "$cpu")" = RUNNING ]
}

@test "a released guest does not climb over bf_min_prio_reserve" {
    primary_on n1 && primary_on n2 && primary_on n3
    for n in 1 2 3; do running "$(guest -n4 -w "n$n")"; done
    job=$(guest -n1)
    as_root scontrol update JobId="$job" Priority=50000
    wait_until 10 priority_is "$job" 100
}

priority_is() { [ "$(job_field "$1" Priority)" = "$2" ]; }

@test "GuestPinToPrimaries: guests only on cores of primaries" {
    primary_on n2 -n2
    echo GuestPinToPrimaries=yes >> "$CONF"
    as_root scontrol reconfigure
    one=$(guest -n1) two=$(guest -n1) three=$(guest -n1)
    at=$(running "$one"; running "$two")
    [ "$(xargs <<< "$at")" = "n2 n2" ]
    [ "$(for job in $one $two; do job_cpus "$job" n2; done | sort | xargs)" = "0 1" ]
    sleep "$(secs 3)"
    state=$(state_of "$three")
    sed -i '/GuestPin/d' "$CONF"
    as_root scontrol reconfigure
    [ "$state" = PENDING ]
    running "$three"
}

# -- what happens to slurmctld --

@test "restart and reconfiguration lose no job, and usage is counted again" {
    start_some
    restart_slurmctld
    wait_until 10 all_run
    as_root scontrol reconfigure
    wait_until 10 all_run
    # n1 has 16G and 1G of 20G: the guest of 4G goes elsewhere, also after the restart.
    job=$(guest -n1 --bw-profile=mem=4G)
    [ "$(running "$job")" != n1 ]
    not grep -E 'Invalid|under-allocated|mis-count|fatal' "$CTLD_LOG"
}

@test "a plugin for another version is logged and passed over; without it no job is lost" {
    start_some
    dir=$(plugin_dir)
    plugin=$HPCB_SANDBOX_DIR${dir#/run/hpcb}/select_cons_tres.so
    cp "$plugin" "$WORK/ours.so"
    damage_version "$plugin"
    restart_slurmctld
    grep -E "Incompatible Slurm plugin .*select_cons_tres.so" "$HPCB_SANDBOX_DIR"/log/slurmctld*
    wait_until 10 all_run
    running "$(submit -n1 --mem=100 --wrap "sleep $(secs 60)")"
    rm "$plugin"
    restart_slurmctld
    wait_until 10 all_run
    running "$(guest -n1)"
    cp "$WORK/ours.so" "$plugin"
    restart_slurmctld
    wait_until 10 all_run
}
