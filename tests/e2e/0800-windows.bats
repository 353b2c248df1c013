#!/usr/bin/env bats
# Coordinated windows: a job is favoured on all of its nodes at once, and whatever
# happens, within a second nothing is favoured, frozen or throttled any more.
#
# HPCB_WINDOW_KILLS (default 4): how often hpcbd is killed at a random moment.

load helpers
load guest
load windows

setup_file() {
    cluster_up
    choose_window_nodes
    write_hpcbd_conf
    for n in 1 2; do
        end_sandbox_hpcbd $n
        start_hpcbd $n
    done
}

teardown_file() {
    for n in 1 2; do stop_hpcbd $n; done
    cluster_down
}

setup() { cancel_all; }

teardown() {
    local n states
    restore_clock
    for n in 1 2; do
        hpcbd_answers $n || start_hpcbd $n
        tail -n 3 "$(hpcbd_log $n)"
    done
    states=$(as_root sinfo -h -o %T)
    not grep -qE 'down|drain|fail' <<< "$states"
}

# A job of one spinning task a node.
SPIN='srun -K0 bash -c "while :; do :; done"'

spin() { # spin WINDOW [SBATCH OPTION]...
    local window=$1
    shift
    # shellcheck disable=SC2046 # several words
    submit $(on_window_nodes) -t10 --hpc-window="$window" "$@" --wrap "$SPIN"
}

end_of() { # end_of JOB: cancel it; then nothing of it is left
    local n
    as_root scancel "$1"
    wait_for_end "$1" 30
    for n in $WINDOW_NODES; do
        is_regular $n 1
        wait_until 15 nothing_known "$n"
    done
}

nothing_known() { # nothing_known NUMBER
    [ "$(top_json "$1" | grep -c '"job":')" = 0 ] &&
        run_in_node "n$1" bash -c '! ls /run/hpc-balance/window/jobs/[0-9]*.undo 2> /dev/null |
            grep -v /4294967295.undo'
}

@test "a job is favoured and regular in turns on its nodes, its slurmstepd above it" {
    job=$(spin 500ms:80%)
    for n in $WINDOW_NODES; do
        is_favoured $n 10
        is_regular $n
        is_favoured $n
        seen_in_node $n 5 "ps -eo comm,cls,rtprio | grep -qE 'slurmstepd +FF +3\$'"
    done
    top_json 1
    top_json 1 | grep -q '"window": *"500ms:80%"'
    top_json 1 | grep -q '"mechanism": *"fifo"'
    end_of "$job"
}

@test "a CPU-bound job of 94 %, the most that has FIFO, does not lock its node up" {
    # A guest of one that holds the only CPU of all hosts gets next to nothing of it.
    needs_cpus 2
    job=$(spin 1s:94%)
    is_favoured 1 10
    timeout "$(secs 10)" "$SANDBOX" exec --host n1 -- true
    as_user srun -p guest --guest -n1 -w "$(node_name 1)" -t1 true
    end_of "$job"
}

@test "hpcbd killed at random moments: at once nothing is favoured, and again it is" {
    job=$(spin 700ms:70% -t120)
    for ((i = 0; i < ${HPCB_WINDOW_KILLS:-4}; i++)); do
        is_favoured 1 15
        stop_hpcbd 1 KILL "0.$((RANDOM % 10))$((RANDOM % 10))"
        seen_in_node 1 1 "! grep -qs ^hpcbd /proc/[0-9]*/comm"
        stays_regular 1
        start_hpcbd 1
    done
    is_favoured 1 15
    [ "$(state_of "$job")" = RUNNING ]
    end_of "$job"
}

@test "hpcbd stops answering (SIGSTOP): favour ends, the watchdog kills it" {
    job=$(spin 500ms:50%)
    # In a regular part there would be nothing to end.
    seen_in_node 1 10 "[ \"\$($(fifo_threads))\" -gt 0 ] && kill -STOP \$(cat /run/pids/hpcbd)"
    wait_until 5 hpcbd_gone 1
    stays_regular 1
    start_hpcbd 1
    is_favoured 1 15
    end_of "$job"
}

@test "slurmd restarts: job and windows go on" {
    job=$(spin 500ms:80%)
    is_favoured 1 10
    restart_slurmd 1
    is_regular 1
    is_favoured 1
    [ "$(state_of "$job")" = RUNNING ]
    wait_until 30 slurmd_is_back
    end_of "$job"
}

slurmd_is_back() { as_root sinfo -h -n n1 -o %T | grep -qE 'alloc|mix|idle'; }

@test "a step crashes in either phase; the next one is favoured" {
    # shellcheck disable=SC2046 # several words
    job=$(submit $(on_window_nodes) -t10 --hpc-window=500ms:60% --wrap "
        srun -K0 bash -c '(sleep 2.1; kill -SEGV \$\$) & while :; do :; done'
        srun -K0 bash -c '(sleep 1.75; kill -9 \$\$) & while :; do :; done'
        $SPIN")
    wait_until 30 third_step "$job"
    is_favoured 1 10
    is_regular 1
    end_of "$job"
}

third_step() { as_root squeue -h -s -j "$1" -o %i | grep -q "\.2$"; }

@test "a job is cancelled in the favoured part, and in the regular part" {
    job=$(spin 1s:70%)
    for n in $WINDOW_NODES; do is_favoured $n 10; done
    end_of "$job"
    job=$(spin 1s:50%)
    is_favoured 1 10
    is_regular 1
    end_of "$job"
}

@test "by weight: the job's group is heavy and not in turns" {
    for n in 1 2; do stop_hpcbd $n; done
    write_hpcbd_conf WindowMechanism=weight
    for n in 1 2; do start_hpcbd $n; done
    job=$(spin 500ms:60%)
    if [ "$CGROUP" = 1 ]; then
        group="/sys/fs/cgroup/cpu/$(sed -n 's/^WindowCgroup=\(.*\)%n/\1/p' "$HPCB_SANDBOX_DIR/etc/hpcbd.conf")n1_$job"
        heavy="grep -qsx 262144 $group/cpu.shares" light="[ \"\$(cat $group/cpu.shares)\" -lt 10000 ]"
    else
        heavy='grep -qsxr 10000 --include=cpu.weight /sys/fs/cgroup/system.slice'
        light="! $heavy"
    fi
    seen_in_node 1 15 "$heavy"
    seen_in_node 1 5 "$light"
    seen_in_node 1 5 "$heavy"
    stop_hpcbd 1 KILL
    seen_in_node 1 1 "! $heavy"
    end_of "$job"
    for n in 1 2; do stop_hpcbd $n; done
    write_hpcbd_conf
    for n in 1 2; do start_hpcbd $n; done
}

@test "guests are frozen in favoured parts, and run on when hpcbd is killed" {
    for n in 1 2; do stop_hpcbd $n; done
    write_hpcbd_conf WindowGuests=freeze
    for n in 1 2; do start_hpcbd $n; done
    guest=$(submit -p guest --guest -N1 -n1 -w "$(node_name 1)" -t10 --wrap "$SPIN")
    wait_for_state "$guest" RUNNING 20
    job=$(spin 1s:60%)
    # What was asked for: a guest that gets no CPU cannot even come to a stop (cgroup.events).
    frozen='grep -qsrx 1 --include=cgroup.freeze /sys/fs/cgroup/system.slice'
    [ "$CGROUP" = 2 ] ||
        frozen="grep -qsx 1 /sys/fs/cgroup/unified/hpcb/job_$guest/cgroup.freeze"
    seen_in_node 1 20 "$frozen"
    seen_in_node 1 5 "! $frozen"
    seen_in_node 1 5 "$frozen"
    stop_hpcbd 1 KILL
    seen_in_node 1 1 "! $frozen"
    [ "$(state_of "$guest")" = RUNNING ]
    as_root scancel "$guest"
    end_of "$job"
    for n in 1 2; do stop_hpcbd $n; done
    write_hpcbd_conf
    for n in 1 2; do start_hpcbd $n; done
}

@test "clocks are compared, and beyond MaxClockOffset nobody is favoured" {
    for n in 1 2; do stop_hpcbd $n; done
    write_hpcbd_conf WindowPeers=n1,n2 MaxClockOffset=10000000
    for n in 1 2; do start_hpcbd $n; done
    wait_until 40 knows_clock 1 n2
    wait_until 40 knows_clock 2 n1
    top_json 1
    job=$(spin 500ms:50%)
    is_favoured 1 10
    # What was not sealed by root counts for nothing.
    run_in_node n2 bash -c 'for i in {1..200}; do
        echo "MUNGE:AwQDAAB$i:" > /dev/udp/n1/6824; echo junk > /dev/udp/n1/6824; done' || true
    is_favoured 1 10
    for n in 1 2; do stop_hpcbd $n; done
    # Two processes on one machine measure more than this.
    write_hpcbd_conf WindowPeers=n1,n2 MaxClockOffset=1
    for n in 1 2; do start_hpcbd $n; done
    wait_until 60 is_suspended 1
    stays_regular 1
    end_of "$job"
    for n in 1 2; do stop_hpcbd $n; done
    write_hpcbd_conf
    for n in 1 2; do start_hpcbd $n; done
}

knows_clock() { top_json "$1" | grep -q "\"host\": *\"$2\""; } # knows_clock NUMBER HOST
is_suspended() { top_json "$1" | grep -q '"suspended": *"the clock'; }

@test "the clock is set by an hour, either way: windows follow it" {
    needs_own_clock
    job=$(spin 1s:60% -t300)
    is_favoured 1 15
    before=$(top_number 1 clock_sets)
    for seconds in 3600 -7200 3600; do
        set_clock_by $seconds
        is_regular 1
        is_favoured 1
        is_regular 1
    done
    restore_clock
    top_json 1
    [ "$(top_number 1 clock_sets)" -ge $((before + 3)) ]
    [ "$(state_of "$job")" = RUNNING ]
    end_of "$job"
}

# HPCB_WINDOW_JUNK (default 2000): malformed messages.  hpcbd takes 400 connections and
# messages a second from all users together.
@test "hostile users of the socket are refused, and no edge is missed" {
    local path=/run/hpc-balance/hpcbd.sock script=$HPCB_TOP/tests/e2e/hostile_socket.py
    local junk=${HPCB_WINDOW_JUNK:-2000}
    job=$(spin 500ms:60%)
    is_favoured 1 15
    cp "$script" "$WORK/hostile_socket.py"
    hostile() { sandbox_exec --host n1 --user user -- timeout "$(secs $((60 + junk / 50)))" python3 "$WORK/hostile_socket.py" "$path" "$@"; }
    before=$(top_number 1 missed)
    hostile refused job "$job"
    hostile refused end "$job"
    hostile junk "$junk"
    hostile silent
    hostile connections 1000
    is_favoured 1
    wait_until 10 hpcbd_answers 1
    top_json 1
    [ "$(top_number 1 missed)" = "$before" ]
    [ "$(top_number 1 rss_kib)" -le 16384 ]
    end_of "$job"
}

@test "without hpcbd the job runs, and its user is told" {
    stop_hpcbd 1
    stop_hpcbd 2
    wait_until 5 hpcbd_gone 1
    # shellcheck disable=SC2046 # several words
    out=$(as_user srun $(on_window_nodes) -t1 --hpc-window=1s:90% hostname 2>&1)
    echo "$out"
    grep -q 'hpcbd does not run' <<< "$out"
}
