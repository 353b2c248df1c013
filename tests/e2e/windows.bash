# Helpers for the tests of coordinated windows, on top of guest.bash.
# shellcheck shell=bash

# Nodes that share a CPU are favoured at once, which one of two that spin would never
# see: then jobs use the first node only.
choose_window_nodes() {
    export WINDOW_NODES='1 2'
    if [ "$(nproc --all)" -lt 2 ] || [[ $CONTROLLERS != *" cpuset "* ]]; then
        WINDOW_NODES=1
        echo "# one node: this machine has no CPU for each" >&3
    fi
}

# What srun and sbatch take for one task on each of them.
on_window_nodes() {
    if [ "$WINDOW_NODES" = 1 ]; then
        echo "-N1 -n1 -w $(node_name 1)"
    else
        echo "-N2 -n2"
    fi
}

# A machine of tests/platforms/vm is nobody else's.
needs_own_clock() {
    [ -e /run/vm/init ] || skip "this machine's clock is everybody's (tests/hpcbd/windows/test_windows sets one of its own)"
}

# Slurm must not see it: it would take nodes for lost, jobs for over time.
set_clock_by() { # set_clock_by SECONDS
    local off
    off=$(cat "$WORK/clock_off" 2> /dev/null || echo 0)
    sandbox_exec -- bash -c 'kill -STOP "$(cat /run/pids/slurmctld)"'
    echo $((off + $1)) > "$WORK/clock_off"
    date -s "@$(($(date +%s) + $1))" > /dev/null
}

restore_clock() {
    [ -e "$WORK/clock_off" ] || return 0
    date -s "@$(($(date +%s) - $(cat "$WORK/clock_off")))" > /dev/null
    rm -f "$WORK/clock_off"
    sandbox_exec -- bash -c 'kill -CONT "$(cat /run/pids/slurmctld)"'
}

# Each node's daemon has a SpoolDir of its own; everything else is the cluster's.
write_hpcbd_conf() { # write_hpcbd_conf [LINE]...
    local clusters=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf
    {
        grep -v '^SpoolDir=' "$clusters"
        echo 'SpoolDir=/run/hpcb/spool/hpcbd_%n'
        sed -n 's/^GuestCgroup=\(.*\)_%n/WindowCgroup=\1_window_%n/p' "$clusters"
        printf '%s\n' "$@"
    } > "$HPCB_SANDBOX_DIR/etc/hpcbd.conf"
}

# The sandbox' own daemon makes room.
end_sandbox_hpcbd() { # end_sandbox_hpcbd NUMBER
    run_in_node "n$1" /run/hpcb/lib/daemon stop hpcbd > /dev/null 2>&1 || true
}

hpcbd_log() { echo "$HPCB_SANDBOX_DIR/log/hpcbd.n$1.log"; } # hpcbd_log NUMBER

start_hpcbd() { # start_hpcbd NUMBER
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "n$1" bash -c '
        setsid hpcbd --config /etc/slurm/hpcbd.conf >> "/run/hpcb/log/hpcbd.$0.log" 2>&1 < /dev/null &
        echo $! > /run/pids/hpcbd' "n$1"
    wait_until 10 hpcbd_answers "$1"
}

hpcbd_answers() { top_json "$1" > /dev/null 2>&1; }

top_json() { run_in_node "n$1" hpcbctl top --json; } # top_json NUMBER

# The last number called KEY: of the daemon, or where jobs have it too of its last job.
top_number() { # top_number NUMBER KEY
    top_json "$1" | sed -n "s/.*\"$2\": *\([0-9]*\).*/\1/p" | tail -n 1
}

stop_hpcbd() { # stop_hpcbd NUMBER [SIGNAL [SECONDS]]: after SECONDS, whatever is favoured then
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "n$1" chrt -f 30 bash -c 'sleep "$1"; kill -"$0" "$(cat /run/pids/hpcbd)" 2> /dev/null' \
        "${2:-TERM}" "${3:-0}" || true
}

hpcbd_gone() { # hpcbd_gone NUMBER: the watchdog too
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "n$1" bash -c '! grep -qs ^hpcbd /proc/[0-9]*/comm'
}

# Is CMD ever true in the node within SECONDS?  In one process, because a look takes long
# against a window, and real-time, because nothing else runs beside a favoured job.
seen_in_node() { # seen_in_node NUMBER SECONDS CMD
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "n$1" chrt -f 30 timeout "$(secs "$2")" bash -c "until $3; do sleep 0.01; done"
}

fifo_threads() { # fifo_threads: prints the number of threads that are favoured
    # shellcheck disable=SC2016 # expanded in the node
    echo 'ps -eLo cls,rtprio --no-headers | grep -cE "FF +[23]\$"'
}

is_favoured() { seen_in_node "$1" "${2:-5}" "[ \"\$($(fifo_threads))\" -gt 0 ]"; }   # NUMBER [SECONDS]
is_regular() { seen_in_node "$1" "${2:-5}" "[ \"\$($(fifo_threads))\" -eq 0 ]"; }    # NUMBER [SECONDS]

# For more than a period nothing is favoured.
stays_regular() { # stays_regular NUMBER
    not seen_in_node "$1" 2 "[ \"\$($(fifo_threads))\" -gt 0 ]"
}
