#!/usr/bin/env bats
# What guests cost an MPI primary is found by the iterations that its ranks count: real
# MPIs, real pages, no number made up.  On the CPU of the rank that the other one waits for
# a helper takes a fifth of the time while the guest may run, which is what has to be found.

load helpers
load guest

setup_file() {
    cluster_up --nodes 1 --cpus-per-node 2
    needs_cpus 2
    needs_cpuset
    [ "$CGROUP" = 2 ] || run_in_node n1 test -d /sys/fs/cgroup/unified || skip "no cgroup2 mount"
    export CONF=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf
    cp "$CONF" "$CONF.before"
    # Guests go on whatever they cost, also next to ranks that poll.
    { grep -vE '^(GuestMaxSlowdown|GuestMinShare)=' "$CONF.before"
      printf '%s\n' GuestMaxSlowdown=99% GuestMinShare=0%; } > "$CONF"
    reload_node
    wait_until 10 is_up
    install -m 755 "$HPCB_TOP/bench/harm/helper.py" "$WORK"
    export SIGNALS=$WORK/signals
    mkdir "$SIGNALS"
    for program in "${HPCB_BUILDDIR:-}"/bench/primary-mpi.*; do
        [ ! -x "$program" ] || install -m 755 "$program" "$WORK"
    done
}

teardown_file() {
    [ ! -e "${CONF:-}.before" ] || cp "$CONF.before" "$CONF"
    reload_node
    cluster_down
}

teardown() {
    touch "$SIGNALS/end"
    cancel_all
    tail -n 5 "$HPCB_SANDBOX_DIR/log/hpcbd.n1.log"
}

# And takes the settings.
is_up() { run_in_node n1 "$HPCBCTL" status --json > /dev/null; }

reload_node() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -HUP "$(cat /run/pids/hpcbd)"'
}

# The way in which Slurm starts the ranks of an MPI, or skip.
interface_of() { # interface_of MPI
    local name=pmi2
    [ "$1" != openmpi ] || name=pmix
    [ -x "$WORK/primary-mpi.$1" ] || skip "bench/primary-mpi.$1 is not built"
    as_user srun --mpi=list 2>&1 | grep -qw "$name" || skip "this Slurm has no mpi/$name"
    interface=$name
}

# Two ranks with a CPU each; rank 1 waits for rank 0 for half of the time.
begin() { # begin MPI GUESTS [SBATCH OPTION]...: so many CPUs for the guest
    local mpi=$1 guests=$2
    shift 2
    interface_of "$mpi"
    primary=$(submit -N1 -n2 -t20 "$@" --wrap "exec srun -n2 --cpu-bind=cores --mpi=$interface \
        $WORK/primary-mpi.$mpi --grain-us 300 --load 0:2 --iterations 1000000000")
    wait_until 30 has_begun "$primary"
    put_ahead
    guest=$(submit --guest -N1 -n"$guests" -t20 --wrap 'while :; do :; done & while :; do :; done')
    wait_for_state "$guest" RUNNING 60
    wait_until 20 has_freezers
    harm
}

# The one on the CPU that rank 0 is bound to.
first_rank() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'for pid in $(pgrep -x "primary-mpi.*"); do
        ! tr "\0" "\n" < "/proc/$pid/environ" | grep -qx SLURM_PROCID=0 || echo "$pid"
    done'
}

has_begun() { [ "$(state_of "$1")" = RUNNING ] && [ -n "$(first_rank)" ]; }

# What else this machine does would make ranks wait for longer than a stop lasts.  Guests
# are in an idle group: nobody's nice value changes what they get.
put_ahead() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'for pid in $(pgrep -x "primary-mpi.*"); do
        renice -n -20 -p "$pid" > /dev/null
        [ ! -e "/proc/$pid/autogroup" ] || echo -20 > "/proc/$pid/autogroup"
    done'
}

# Where the guest is asked to stop.
freezers() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c '
        if [ -d /sys/fs/cgroup/unified ]; then
            find /sys/fs/cgroup/unified -path "*/job_$1/cgroup.freeze"
        else
            find /sys/fs/cgroup/system.slice -path "*/job_$1/*" -name cgroup.freeze
        fi' freezers "$guest"
}

has_freezers() { [ -n "$(freezers)" ]; }

# On the CPU of rank 0, and before it; what it took is in WORK/took.
harm() {
    local cpu rank
    rank=$(first_rank)
    cpu=$(run_in_node n1 taskset -cp "$rank" | sed 's/.*: //')
    [[ $cpu =~ ^[0-9]+$ ]]
    rm -f "$SIGNALS"/*
    freezers > "$SIGNALS/guest"
    touch "$SIGNALS/alone" "$SIGNALS/starts"
    run_in_node n1 chrt -f 1 taskset -c "$cpu" python3 "$WORK/helper.py" 0.2 "$SIGNALS" "$rank" \
        > "$WORK/took" 3>&- &
    helper=$!
}

cost() { # cost KEY: of the primary
    run_in_node n1 "$HPCBCTL" status --json | python3 -c '
import json, sys
jobs = json.load(sys.stdin)["hpcbd"]["jobs"]
for job in jobs:
    if job["job"] == int(sys.argv[1]):
        print((job.get("guest_cost") or {}).get(sys.argv[2], ""))' "$primary" "$1"
}

is_by() { [ "$(cost method)" = "$1" ]; } # is_by METHOD

# Rank 0 never waits: what the helper takes makes iterations longer by as much, and what
# else the machine does makes the interval wider.
is_sane() {
    run_in_node n1 "$HPCBCTL" status --json | python3 -c '
import json, sys
jobs = json.load(sys.stdin)["hpcbd"]["jobs"]
cost, = [job["guest_cost"] for job in jobs if job["job"] == int(sys.argv[1])]
taken = json.loads(sys.argv[2])["taken"]
truth = taken / (1 - taken)
print(cost, "truth", truth)
assert cost["comparisons"] >= 8
assert cost["low"] <= cost["cost"] <= cost["high"] < cost["low"] + 1
assert cost["low"] < 2 * truth and cost["high"] > truth / 2' "$primary" "$(cat "$WORK/took")"
}

says_method() { # says_method METHOD: in the record of the primary
    [ "$(as_root hpcb-sacct -X -n -P -j "$primary" -o CostMethod)" = "$1" ]
}

ends_by() { # ends_by METHOD
    wait_until 300 is_by "$1"
    touch "$SIGNALS/end"
    wait "$helper"
}

by_iterations() { # by_iterations MPI
    begin "$1" 2 --hpc-balance
    ends_by iterations
    is_sane
    as_root scancel "$primary"
    wait_until 60 says_method iterations
    as_root hpcb-sacct -X -n -P -j "$primary" -o JobID,GuestCost,CostMethod
}

@test "Open MPI: by the iterations of its ranks" { by_iterations openmpi; }

@test "MPICH: by the iterations of its ranks" { by_iterations mpich; }

# It holds a CPU of the node and runs nothing, so that there is nothing to be stopped.
hold_a_cpu() {
    idle=$(as_user salloc --guest --no-shell -N1 -n1 -t20 2>&1 | sed -n 's/.*Granted job allocation //p')
    as_user srun --jobid="$idle" -n1 true
}

@test "without the library, and next to a guest that runs nothing: by run delay" {
    local mpi=openmpi
    [ -x "$WORK/primary-mpi.openmpi" ] || mpi=mpich
    begin "$mpi" 1
    hold_a_cpu
    ends_by run_delay
    as_root scancel "$primary"
    wait_until 60 says_method run_delay
}
