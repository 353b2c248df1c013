#!/usr/bin/env bats
# Balance: hpcbd moves CPU time among the ranks of a job, and whatever becomes of job or
# daemon, ranks are as they were before.

load helpers
load guest

setup_file() {
    cluster_up --nodes 1 --cpus-per-node 2
    needs_cpus 2
    needs_cpuset
    build_program || skip "no MPI that this Slurm can start"
}

teardown_file() { cluster_down; }
setup() { cancel_all; }

teardown() { tail -n 5 "$HPCB_SANDBOX_DIR/log/hpcbd.n1.log"; }

# uneven ITERATIONS [crash|abort|run [STEPS]]: rank 3 computes four times as much as rank
# 0, which makes so many steps (5 million, some milliseconds); rank 0 prints a sum that all
# have part in.
build_program() {
    cat > "$WORK/uneven.c" <<'EOF'
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static uint64_t work(uint64_t x, long steps)
{
    for (long i = 0; i < steps; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x >> 40;
}
int main(int argc, char **argv)
{
    int rank, iterations = atoi(argv[1]);
    long steps = argc > 3 ? atol(argv[3]) : 5000000;
    uint64_t mine = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < iterations; i++) {
        mine = work(mine + sum + (uint64_t)rank, steps * (rank + 1));
        MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (argc > 2 && rank == 1 && i == 300 && strcmp(argv[2], "crash") == 0)
            raise(SIGSEGV);
        if (argc > 2 && rank == 1 && i == 300 && strcmp(argv[2], "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (rank == 0)
        printf("sum %llu\n", (unsigned long long)sum);
    MPI_Finalize();
    return 0;
}
EOF
    local mpi interface
    for mpi in openmpi mpich; do
        interface=pmix
        [ "$mpi" = openmpi ] || interface=pmi2
        command -v "mpicc.$mpi" > /dev/null || continue
        as_user srun --mpi=list 2>&1 | grep -qw $interface || continue
        "mpicc.$mpi" -O2 -o "$WORK/uneven" "$WORK/uneven.c"
        chmod 755 "$WORK/uneven"
        echo "--mpi=$interface" > "$WORK/mpi"
        return 0
    done
    return 1
}

# A job of four ranks on both CPUs of the node; its output is in $WORK/JOB.out.
uneven() { # uneven POLICY ITERATIONS [crash|abort|run [STEPS]]
    local policy=$1
    shift
    OUT=$WORK/%j.out submit -N1 -n2 -t20 ${policy:+--hpc-balance="$policy"} --wrap \
        "srun -K1 -n4 --overcommit $(cat "$WORK/mpi") $WORK/uneven $*"
}

top_json() { run_in_node n1 hpcbctl top --json; }

# What knobs of the ranks of the job hold, one a line.
knobs() { # knobs JOB V1-NAME V2-NAME
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c '
        shopt -s nullglob
        for file in /sys/fs/cgroup/cpu/*_balance_n1_"$0"_*/"$1" \
            /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_"$0"/step_0/user/task_*/"$2"; do
            cat "$file"
        done' "$@" 2> /dev/null
}

weights() { knobs "$1" cpu.shares cpu.weight; }   # weights JOB
quotas() { knobs "$1" cpu.cfs_quota_us cpu.max; } # quotas JOB

differ() { [ "$(weights "$1" | sort -u | wc -l)" -gt 1 ]; } # differ JOB

# Where the ranks may run, one a line.
places() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c '
        for pid in $(pgrep -x uneven); do
            sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" "/proc/$pid/status"
        done'
}

are_pinned() { [ "$(places | grep -cx '[0-9]*')" -eq 4 ]; }

# No rank weighs less than another, and each may run where Slurm let it.
is_neutral() { # is_neutral JOB
    not differ "$1" && [ "$(places | sort -u | wc -l)" -le 1 ] && not grep -qx '[0-9]*' <(places)
}

nothing_left() { # nothing_left JOB
    [ -z "$([ "$CGROUP" = 2 ] || weights "$1")" ] &&
        [ -z "$(run_in_node n1 bash -c '
            ls /run/hpc-balance/balance/jobs/*.undo /run/hpc-balance/jobs/*.ranks \
                /run/hpc-balance/pages/* 2> /dev/null')" ]
}

end_of() { # end_of JOB
    wait_for_end "$1" 180
    wait_until 10 nothing_left "$1"
}

balanced() { [ "$(top_json | grep -c '"mechanism": *"weight"')" -gt 0 ]; }

@test "wrong policies are refused in one line" {
    local v
    for v in dlrb:nonsense=1 static:7 static:4,,6 adaptive:global=101 uniform:high=1,low=2; do
        run as_user srun -n1 --hpc-balance="$v" true
        echo "$v: $output"
        [ "$status" -ne 0 ]
        [ "$(grep -c -- --hpc-balance <<< "$output")" = 1 ]
    done
}

@test "dlrb: weights differ, the result does not, and nothing is left" {
    plain=$(uneven '' 250)
    wait_for_end "$plain" 180
    job=$(uneven dlrb 100000)
    wait_until 20 differ "$job"
    weights "$job"
    places
    wait_until 10 balanced
    top_json
    top_json | grep -q '"by": *"iteration"'
    run_in_node n1 hpcbctl top | grep -E "^$job +0 +dlrb +4 +weight"
    as_root scancel "$job"
    end_of "$job"
    job=$(uneven dlrb 250)
    wait_until 20 differ "$job"
    end_of "$job"
    cat "$WORK/$plain.out" "$WORK/$job.out"
    grep -q '^sum ' "$WORK/$job.out"
    # A job that took long says behind it how much of its CPUs it used.
    cmp <(grep '^sum ' "$WORK/$plain.out") <(grep '^sum ' "$WORK/$job.out")
}

@test "ranks with a CPU each: said once, and left alone" {
    job=$(OUT=$WORK/%j.out submit -N1 -n2 -t5 --hpc-balance=dlrb --wrap \
        "srun -K1 -n2 $(cat "$WORK/mpi") $WORK/uneven 100000")
    wait_until 20 says_nothing_to_win
    [ "$(grep -c "job $job step 0: .*weights move nothing" "$HPCB_SANDBOX_DIR/log/hpcbd.n1.log")" = 1 ]
    as_root scancel "$job"
    end_of "$job"
}

says_nothing_to_win() { top_json | grep -q 'weights move nothing'; }

# From here on CPUs 0 and 1 are threads of one core to whoever looks in the node.
fake_smt() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c '
        echo 0-1 > /run/siblings
        for cpu in 0 1; do
            mount --bind /run/siblings "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list"
        done'
}

real_smt() {
    run_in_node n1 umount /sys/devices/system/cpu/cpu{0,1}/topology/thread_siblings_list
}

has_quota() { quotas "$1" | grep -Eqx '2500( 10000)?'; }         # has_quota JOB
has_no_quota() { not grep -Eqv '^(-1|max .*)$' <(quotas "$1"); } # has_no_quota JOB

@test "threads of one core: the rank that has time runs for a part of it only" {
    fake_smt
    job=$(OUT=$WORK/%j.out submit -N1 -n2 -t5 --hpc-balance=static:4,6 --wrap \
        "srun -K1 -n2 $(cat "$WORK/mpi") $WORK/uneven 100000")
    wait_until 20 has_quota "$job"
    quotas "$job"
    [ "$(quotas "$job" | grep -Ecx -- '-1|max .*')" = 1 ]
    not differ "$job"
    run_in_node n1 hpcbctl top | grep -E "^$job +0 +static:4,6 +2 +quota"
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -9 "$(cat /run/pids/hpcbd)"'
    sleep 1
    has_no_quota "$job"
    run_in_node n1 /run/hpcb/lib/daemon start hpcbd
    wait_until 20 has_quota "$job"
    as_root scancel "$job"
    end_of "$job"
    real_smt
}

# enemy.py DIRECTORY SECONDS: nonsense, and what may pass for sense, into all pages of the
# job that it is part of; then it makes them shorter, and longer.
write_enemy() {
    cat > "$WORK/enemy.py" << 'EOF'
import glob, os, random, struct, sys, time

pages = sys.argv[1] + "/*." + os.environ["SLURM_JOB_ID"] + ".*"
end = time.monotonic() + float(sys.argv[2])
SEQUENCE, SAMPLES, COMPUTE, WAIT, WAITS = 16, 40, 48, 56, 80


def put(page, at, value):
    page.seek(at)
    page.write(struct.pack("<Q", value))


def attack(page):
    put(page, SEQUENCE, 2 * random.getrandbits(40))
    put(page, SAMPLES, random.getrandbits(random.choice([8, 64])))
    put(page, COMPUTE, random.getrandbits(random.choice([10, 40, 64])))
    put(page, WAIT, random.getrandbits(random.choice([10, 40, 64])))
    put(page, WAITS, random.getrandbits(64))
    if random.random() < 0.1:
        put(page, 8 * random.randrange(32), random.getrandbits(64))


attacks = 0
while time.monotonic() < end:
    for name in glob.glob(pages):
        with open(name, "r+b", buffering=0) as page:
            attack(page)
        attacks += 1
    time.sleep(0.001)
for size in 100, 0, 1 << 20:
    for name in glob.glob(pages):
        os.truncate(name, size)
    time.sleep(1)
print("attacks", attacks, flush=True)
EOF
    chmod 644 "$WORK/enemy.py"
}

has_attacked() { grep -q '^attacks ' "$WORK/$1.out" 2> /dev/null; } # has_attacked JOB

# Each job on a CPU of its own.  The victim's ranks never wait, so that nothing changes by
# itself.
@test "an enemy writes into her ranks' pages: hpcbd goes on, shares of others stay" {
    local daemon before samples=0
    write_enemy
    victim=$(as_root sbatch --parsable -o /dev/null -N1 -n1 -t20 --hpc-balance=static:4,4,6,6 \
        --wrap "srun -K1 -n4 --overcommit sh -c 'while :; do :; done'")
    wait_until 20 differ "$victim"
    before=$(weights "$victim")
    daemon=$(run_in_node n1 cat /run/pids/hpcbd)
    enemy=$(OUT=$WORK/%j.out submit -N1 -n1 -t20 --hpc-balance=dlrb --wrap \
        "srun -n4 --overcommit $(cat "$WORK/mpi") $WORK/uneven 100000 &
         python3 $WORK/enemy.py /run/hpc-balance/pages 12; kill \$!; wait")
    until has_attacked "$enemy"; do
        [ "$(weights "$victim")" = "$before" ]
        [ "$((samples++))" -lt 120 ]
        sleep 0.5
    done
    cat "$WORK/$enemy.out"
    [ "$(sed -n 's/^attacks //p' "$WORK/$enemy.out")" -gt 1000 ]
    [ "$(weights "$victim")" = "$before" ]
    [ "$(run_in_node n1 cat /run/pids/hpcbd)" = "$daemon" ]
    run_in_node n1 kill -0 "$daemon"
    top_json | grep -q '"mechanism": *"weight"'
    as_root scancel "$victim" "$enemy"
    wait_for_end "$enemy" 60
    end_of "$victim"
}

@test "a rank crashes, or calls MPI_Abort: nothing is left" {
    local how
    for how in crash abort; do
        job=$(uneven static:4,4,6,6 100000 $how)
        wait_until 20 differ "$job"
        end_of "$job"
        [ "$(state_of "$job")" = FAILED ]
    done
}

@test "hpcbd is killed: within a second ranks are equal and free; a new one goes on" {
    job=$(uneven dlrb 100000)
    wait_until 20 differ "$job"
    are_pinned
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c 'kill -9 "$(cat /run/pids/hpcbd)"'
    sleep 1
    is_neutral "$job"
    run_in_node n1 /run/hpcb/lib/daemon start hpcbd
    wait_until 20 are_pinned
    as_root scancel "$job"
    end_of "$job"
    job=$(uneven static:4,4,6,6 100000)
    wait_until 20 differ "$job"
    # And the watchdog with it: then it is hpcbctl's turn.
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c '
        all=$(grep -ls ^hpcbd /proc/[0-9]*/comm | tr -dc "0-9\n")
        kill -STOP $all
        kill -9 $all'
    sleep 1
    differ "$job"
    run_in_node n1 hpcbctl release > /dev/null
    is_neutral "$job"
    run_in_node n1 /run/hpcb/lib/daemon start hpcbd
    wait_until 20 differ "$job"
    as_root scancel "$job"
    end_of "$job"
}

# What may not grow while a job runs: name, KiB of memory and descriptors of hpcbd, of its
# watchdogs and of a rank, one a line, in the same order each time.
footprint() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c '
        daemon=$(cat /run/pids/hpcbd)
        for pid in $daemon $(pgrep -P "$daemon" -x hpcbd-watchdog | sort -n) $(pgrep -ox uneven); do
            kib=$(sed -n "s/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p" "/proc/$pid/status")
            echo "$(cat "/proc/$pid/comm") $kib $(find "/proc/$pid/fd" -type l | wc -l)"
        done' 2> /dev/null
}

# Samples of all that run, until the job ends or there are enough, in $WORK/footprints.N.
watch_footprints() { # watch_footprints JOB ENOUGH
    local n=0
    rm -f "$WORK"/footprints.*
    until job_ended "$1" || [ "$n" -eq "$2" ]; do
        footprint > "$WORK/footprint" || true
        if grep -q '^uneven [0-9]\+ [0-9]\+$' "$WORK/footprint"; then
            mv "$WORK/footprint" "$WORK/footprints.$((n++))"
        fi
        sleep 1
    done
    echo "$n samples"
    [ "$n" -ge 3 ]
}

# The last sample beside the first one: not one descriptor, nor HPCB_SOAK_KIB of memory.
stays_as_it_was() {
    local last
    last=$(find "$WORK" -name 'footprints.*' -printf '%f\n' | sort -t. -k2n | tail -n 1)
    paste -d ' ' "$WORK/footprints.0" "$WORK/$last"
    paste -d ' ' "$WORK/footprints.0" "$WORK/$last" | awk -v most="${HPCB_SOAK_KIB:-256}" '
        $1 != $4 || $6 > $3 || $5 > $2 + most { bad = 1 }
        END { exit bad || NR < 3 }'
}

is_heard() { top_json | grep -q '"by": *"iteration"'; }

# Some seconds of each policy; or HPCB_BALANCE_SOAK=100000 of them, about two minutes.
@test "iterations of a millisecond: memory and descriptors stay as they are" {
    local policy begun
    for policy in dlrb auto; do
        begun=$SECONDS
        job=$(uneven "$policy" "${HPCB_BALANCE_SOAK:-1000000}" run 100000)
        wait_until 20 is_heard
        if [ -n "${HPCB_BALANCE_SOAK:-}" ]; then
            watch_footprints "$job" 100000
        else
            watch_footprints "$job" 5
            as_root scancel "$job"
        fi
        end_of "$job"
        [ -z "${HPCB_BALANCE_SOAK:-}" ] || grep -q '^sum ' "$WORK/$job.out"
        echo "# $policy: $((SECONDS - begun)) s, $(stays_as_it_was | tr '\n' ';')" >&3
        stays_as_it_was
    done
}

@test "without hpcbd the job runs, and its user is told" {
    run_in_node n1 /run/hpcb/lib/daemon stop hpcbd
    run as_user srun -N1 -n2 -t1 --hpc-balance=dlrb hostname
    run_in_node n1 /run/hpcb/lib/daemon start hpcbd
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q 'hpcbd does not run' <<< "$output"
    grep -q 'only their waits are turned' "$(slurmd_log 1)"
}
