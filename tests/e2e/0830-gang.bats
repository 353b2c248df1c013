#!/usr/bin/env bats
# Jobs that share a core take turns: quantum by quantum, at edges of the clock.  Whatever
# happens, nothing stays stopped.

load helpers
load guest

setup_file() {
    cluster_up || return 1
    export CONF=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf SLURM_CONF_FILE=$HPCB_SANDBOX_DIR/etc/slurm.conf
    cp "$CONF" "$CONF.before"
    cp "$SLURM_CONF_FILE" "$SLURM_CONF_FILE.before"
    export CGROUP_CONF=$HPCB_SANDBOX_DIR/etc/cgroup.conf
    cp "$CGROUP_CONF" "$CONF.cgroup"
    oversubscribe guest 2
    oversubscribe primary 2
    as_root scontrol reconfigure
}

teardown_file() {
    cp "$CONF.before" "$CONF"
    cp "$SLURM_CONF_FILE.before" "$SLURM_CONF_FILE"
    cp "$CONF.cgroup" "$CGROUP_CONF"
    as_root scontrol reconfigure
    reload_node n1
    reload_node n2
    cluster_down
}

setup() { configure GuestOversubscribe=2; }

teardown() {
    cancel_all
    ! grep -q '^ConstrainCores=no' "$CGROUP_CONF" || with_constrain_cores
    hpcbd_runs || start_node_daemon
    tail -n 5 "$(hpcbd_log)"
}

oversubscribe() { # oversubscribe PARTITION JOBS
    sed -i "/^PartitionName=$1 /s/OverSubscribe=[^ ]*/OverSubscribe=FORCE:$2/" "$SLURM_CONF_FILE"
}

hpcbd_log() { echo "$HPCB_SANDBOX_DIR/log/hpcbd.n1.log"; }

hpcbd_runs() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -0 "$(cat /run/pids/hpcbd)"' 2> /dev/null
}

start_node_daemon() { run_in_node n1 /run/hpcb/lib/daemon start hpcbd; }

reload_node() { # reload_node NODE
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "$1" bash -c 'kill -HUP "$(cat /run/pids/hpcbd)"'
}

configure() { # configure LINE...
    { cat "$CONF.before" && printf '%s\n' "$@"; } > "$CONF"
    reload_node n1
    reload_node n2
}

begin_two() { # begin_two [SBATCH OPTION]...: sets one and two
    needs_freezer
    one=$(submit -w n1 -n1 --mem=50 "$@" --wrap 'while :; do :; done')
    two=$(submit -w n1 -n1 --mem=50 "$@" --wrap 'while :; do :; done')
    wait_for_state "$one" RUNNING 60
    wait_for_state "$two" RUNNING 60
    wait_until 30 take_turns "$one" "$two"
}

needs_freezer() {
    [ "$CGROUP" = 2 ] || run_in_node n1 test -d /sys/fs/cgroup/unified || skip "no cgroup2 mount"
}

gang_list() { run_in_node n1 hpcbctl gang list --json; }

# A figure of a job, by what hpcbd says.
figure() { # figure JOB NAME
    gang_list | python3 -c '
import json, sys
print(*(job[sys.argv[2]] for job in json.load(sys.stdin)["jobs"] if job["job"] == int(sys.argv[1])))' "$@"
}

# Has each of them had turns?
take_turns() { # take_turns JOB...
    local job turns
    for job; do
        turns=$(figure "$job" turns)
        [ "${turns:-0}" -gt 2 ] || return 1
    done
}

# Looks 100 times in some 5 s whether one and two may run.  Prints how often one alone might,
# two alone, both and neither.  Not cgroup.events: a guest that primaries of another node leave
# no CPU time does not come to its stop.
watch_both() {
    local first second
    first=$(freeze_files "$one") second=$(freeze_files "$two")
    run_in_node n1 python3 -c '
import sys, time
jobs = [[open(name) for name in names.split()] for names in sys.argv[1:]]
def may_run(files):
    for file in files:
        file.seek(0)
    return all(file.read().strip() == "0" for file in files)
seen = [(may_run(jobs[0]), may_run(jobs[1]), time.sleep(0.05)) for _ in range(100)]
print(*(sum(look[:2] == pair for look in seen)
        for pair in ((True, False), (False, True), (True, True), (False, False))))' \
        "$first" "$second"
}

# cgroup.freeze of the groups of the job and of those above them.
freeze_files() { # freeze_files JOB [NODE]
    # shellcheck disable=SC2016,SC2046 # expanded in the node; a word a group
    run_in_node "${2:-n1}" bash -c '
        for group; do
            while [ "$group" != /sys/fs/cgroup ]; do
                [ ! -e "$group/cgroup.freeze" ] || echo "$group/cgroup.freeze"
                group=${group%/*}
            done
        done' files $(job_groups "$1" "${2:-n1}") | sort -u
}

# Has hpcbd stopped it?
is_frozen() { # is_frozen JOB
    # shellcheck disable=SC2046 # a word a group
    run_in_node n1 grep -qsx 1 $(freeze_files "$1")
}

is_going() { not is_frozen "$1"; } # is_going JOB

both_go() { is_going "$one" && is_going "$two"; }

# A look may fall into a switch.
each_has_its_turn() {
    local first second both neither
    read -r first second both neither < <(watch_both)
    echo "one $first, two $second, both $both, neither $neither"
    [ "$first" -ge 25 ] && [ "$second" -ge 25 ] && [ "$both" -le 10 ] && [ "$neither" -le 10 ]
}

@test "two guests of a core take turns" {
    begin_two --guest
    each_has_its_turn
}

# One a line.
decisions() {
    gang_list | python3 -c '
import json, sys
for decision in json.load(sys.stdin)["decisions"]:
    print(json.dumps(decision))'
}

@test "decisions are those of the policy on the samples that they rest on" {
    [ -x "${HPCB_BUILDDIR:-}/bench/gang-replay" ] || skip "gang-replay is not built"
    begin_two --guest
    sleep "$(secs 5)"
    run "$HPCB_BUILDDIR/bench/gang-replay" < <(decisions)
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output =~ \"replayed\":([0-9]+) ]]
    [ "${BASH_REMATCH[1]}" -ge 8 ]
}

# Slurm's affinity is all that binds tasks then, and a task can change it.
without_constrain_cores() {
    sed -i 's/^ConstrainCores=.*/ConstrainCores=no/' "$CGROUP_CONF"
    as_root scontrol reconfigure
}

with_constrain_cores() {
    cp "$CONF.cgroup" "$CGROUP_CONF"
    as_root scontrol reconfigure
}

@test "without ConstrainCores they do by what Slurm has allocated, whatever they bind themselves to" {
    needs_freezer
    needs_cpus 2
    without_constrain_cores
    # shellcheck disable=SC2016 # expanded in the job
    one=$(submit --guest -w n1 -n1 --mem=50 --wrap 'taskset -pc 0 $$ && while :; do :; done')
    # shellcheck disable=SC2016 # expanded in the job
    two=$(submit --guest -w n1 -n1 --mem=50 --wrap 'taskset -pc 1 $$ && while :; do :; done')
    wait_for_state "$one" RUNNING 60
    wait_for_state "$two" RUNNING 60
    wait_until 30 take_turns "$one" "$two"
    run_in_node n1 grep -Eqx '[0-9]+' "/run/hpc-balance/jobs/$one.cores"
    each_has_its_turn
}

@test "two primaries of a partition with GangPartitions= do; guests share the core with them" {
    configure GangPartitions=primary
    begin_two
    guest=$(submit --guest -w n1 -n1 --wrap 'sleep 600')
    wait_for_state "$guest" RUNNING 60
    each_has_its_turn
    configure
    wait_until 5 both_go
}

# For some 6 s: lines "TIME STATE", 1 where JOB may run on NODE, on a grid of 20 ms.
watch_on() { # watch_on JOB NODE
    run_in_node "$2" python3 -c '
import sys, time
files = [open(name) for name in sys.argv[1].split()]
end = time.time() + 6
while (now := time.time()) < end:
    for file in files:
        file.seek(0)
    print(int(now * 50), int(all(file.read().strip() == "0" for file in files)))
    time.sleep(0.02 - time.time() % 0.02)' "$(freeze_files "$1" "$2")"
}

is_on() { [ -n "$(freeze_files "$1" "$2")" ]; } # is_on JOB NODE

@test "guests of two nodes have their turns on both at once" {
    needs_freezer
    one=$(submit --guest -N2 -n2 --mem=50 --wrap 'srun sh -c "while :; do :; done"')
    two=$(submit --guest -N2 -n2 --mem=50 --wrap 'srun sh -c "while :; do :; done"')
    wait_for_state "$one" RUNNING 60
    wait_for_state "$two" RUNNING 60
    wait_until 30 take_turns "$one" "$two"
    # srun, too, runs in its turns only.
    wait_until 60 is_on "$one" n2
    wait_until 60 is_on "$two" n2
    sleep "$(secs 5)"
    watch_on "$one" n2 > "$WORK/there" &
    watch_on "$one" n1 > "$WORK/here"
    wait
    # A look may fall into a switch.
    sort "$WORK/here" > "$WORK/here.sorted"
    sort "$WORK/there" > "$WORK/there.sorted"
    read -r looks alike ran < <(join "$WORK/here.sorted" "$WORK/there.sorted" | awk '
        { n++; alike += $2 == $3; ran += $2 && $3 }
        END { print n + 0, alike + 0, ran + 0 }')
    echo "$looks looks, alike in $alike; it ran on both in $ran"
    [ "$looks" -ge 50 ]
    [ $((10 * alike)) -ge $((9 * looks)) ]
    [ $((5 * ran)) -ge "$looks" ]
    [ $((5 * ran)) -le $((4 * looks)) ]
}

# Which quanta it owns: "BY SLOT CYCLE".
slot() { # slot JOB NODE
    run_in_node "$2" hpcbctl gang list --json | python3 -c '
import json, sys
print(*((job["owns_by"], job["slot"], job["cycle"]) for job in json.load(sys.stdin)["jobs"]
        if job["job"] == int(sys.argv[1])))' "$1" | tr -d "(',)"
}

are_dealt() { # are_dealt NODE
    [[ $(slot "$one" "$1") == "bandwidth "* && $(slot "$two" "$1") == "bandwidth "* ]]
}

@test "the collector deals quanta to guests of two nodes" {
    needs_freezer
    one=$(submit --guest -N2 -n2 --mem=50 --wrap 'srun sh -c "while :; do :; done"')
    two=$(submit --guest -N2 -n2 --mem=50 --wrap 'srun sh -c "while :; do :; done"')
    wait_for_state "$one" RUNNING 60
    wait_for_state "$two" RUNNING 60
    wait_until 120 are_dealt n1
    wait_until 10 are_dealt n2
    slot "$one" n1
    slot "$two" n1
    [ "$(slot "$one" n1)" = "$(slot "$one" n2)" ]
    [ "$(slot "$two" n1)" = "$(slot "$two" n2)" ]
    [ "$(slot "$one" n1)" != "$(slot "$two" n1)" ]
    wait_until 30 take_turns "$one" "$two"
}

@test "users see and pause their own jobs, root all" {
    begin_two --guest
    run_in_node n1 hpcbctl gang list | grep -E "^$one +guest +guest +[0-9]+ +(running|waiting) " > /dev/null
    [[ $(gang_list) = *'"decisions":'*'"elected":true'* ]]
    # Of the two it is its owner's to pause.
    as_user_on_n1 hpcbctl gang pause "$one"
    wait_until 5 is_frozen "$one"
    sleep 2
    is_frozen "$one"
    is_going "$two"
    as_user_on_n1 hpcbctl gang resume "$one"
    wait_until 5 is_going "$one"
    run sandbox_exec --host n1 --user user -- hpcbctl gang set quantum=1
    [ "$status" -eq 1 ]
    [[ $output = *"only root may say that"* ]]
    run run_in_node n1 hpcbctl gang pause 99999
    [ "$status" -eq 1 ]
    [[ $output = *"no such job"* ]]
    run_in_node n1 hpcbctl gang set quantum=0.1 window=4
    [[ $(gang_list) = *'"quantum_seconds":0.1'* ]]
    run_in_node n1 hpcbctl gang pause
    wait_until 5 both_go
    sleep 1
    both_go
    run_in_node n1 hpcbctl gang resume
}

@test "a partition has its own quantum; jobs leave and join" {
    begin_two --guest
    run_in_node n1 hpcbctl gang set partition=guest quantum=0.2 window=3
    run run_in_node n1 hpcbctl gang set partition=nowhere quantum=0.2
    [ "$status" -eq 1 ]
    [[ $output = *"no jobs of that partition take turns"* ]]
    wait_until 5 figure_is "$one" quantum_seconds 0.2
    [ "$(figure "$one" window)" = 3 ]
    # Not its owner's word: it would run all the time.
    run as_user_on_n1 hpcbctl gang leave "$one"
    [ "$status" -eq 1 ]
    [[ $output = *"only root may let a job leave that has not joined"* ]]
    run_in_node n1 hpcbctl gang leave "$one"
    wait_until 5 both_go
    sleep 1
    both_go
    [ "$(figure "$one" state)" = left ]
    as_user_on_n1 hpcbctl gang join "$one"
    wait_until 30 take_turns "$one" "$two"
    each_has_its_turn
    # One whose partition takes none.
    primary=$(submit -w n1 -n1 --mem=50 --wrap 'sleep 600')
    wait_for_state "$primary" RUNNING 60
    wait_until 10 as_user_on_n1 hpcbctl gang join "$primary"
    wait_until 10 figure_is "$primary" joined True
    as_user_on_n1 hpcbctl gang leave "$primary"
    wait_until 10 figure_is "$primary" joined ""
}

as_user_on_n1() { (cd "$WORK" && sandbox_exec --host n1 --user user -- "$@"); }

figure_is() { [ "$(figure "$1" "$2")" = "$3" ]; } # figure_is JOB NAME VALUE

@test "Slurm suspends one: it stays so, and the other runs all the time" {
    begin_two --guest
    as_root scontrol suspend "$one"
    wait_until 10 figure_is "$one" state suspended
    turns=$(figure "$one" turns)
    read -r first second both neither < <(watch_both)
    echo "one $first, two $second, both $both, neither $neither"
    [ "$second" -ge 95 ]
    [ "$first" -eq 0 ]
    [ "$(figure "$one" turns)" = "$turns" ]
    [ "$(state_of "$one")" = SUSPENDED ]
    as_root scontrol resume "$one"
    sleep "$(secs 3)"
    each_has_its_turn
}

@test "hpcbd is killed, hangs or ends: nothing stays frozen" {
    begin_two --guest
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -9 "$(cat /run/pids/hpcbd)"'
    wait_until 2 both_go
    sleep 1
    both_go
    start_node_daemon
    wait_until 30 take_turns "$one" "$two"
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -STOP "$(cat /run/pids/hpcbd)"'
    wait_until 10 both_go
    wait_until 5 grep -q 'hpcbd hung while jobs waited for their turn: killed' "$(hpcbd_log)"
    start_node_daemon
    wait_until 30 take_turns "$one" "$two"
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill "$(cat /run/pids/hpcbd)"'
    wait_until 5 both_go
}
