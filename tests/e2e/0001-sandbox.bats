#!/usr/bin/env bats
# The sandbox itself: its hosts, its users, both MPIs, and that nothing is left of it.

load helpers
load guest

setup_file() { sandbox_up; }
teardown_file() { sandbox_down; }

# A sandbox of the test's own, in $OWN, removed again whatever happens.
setup() { OWN=$(mktemp -d /tmp/hpcb-own.XXXXXX) && cancel_all; }
teardown() {
    rm -f "$OWN.lines"
    # What could not be removed stays for the next `down`.
    [ ! -e "$OWN/state" ] || timeout -k 5 "$(secs 60)" "$SANDBOX" down --dir "$OWN" 2> /dev/null || return 0
    rm -rf "$OWN"
}

own() { # own VERB ARG...: hpcb-sandbox on $OWN
    local verb=$1
    shift
    timeout -k 5 "$(secs 100)" "$SANDBOX" "$verb" --dir "$OWN" "$@"
}

own_id() { sed -n 's/^id=//p' "$OWN/state"; }

# Pids of the processes of sandbox ID's hosts, by the argument that they all carry.
host_pids() { # host_pids ID
    grep -lsazE "^hpcb-host=$1:" /proc/[0-9]*/cmdline | cut -d/ -f3
}

# Nothing of sandbox ID is left, nor a process that has its directory mounted.
assert_gone() { # assert_gone ID DIR
    [ ! -e "$2" ] || { echo "$2 is left"; return 1; }
    [ -z "$(host_pids "$1")" ] || { echo "processes are left"; return 1; }
    ! find /sys/fs/cgroup -name "hpcb_$1*" 2> /dev/null | grep . || return 1
    ! grep -s -e "$2" -e "hpcb_$1" /proc/[0-9]*/mountinfo || return 1
    ! grep "hpcb$1" /etc/passwd /etc/group || return 1
}

# One line on standard error, exit code 2, nothing made.
refused() { # refused ARG...
    run timeout -k 5 "$(secs 10)" "$SANDBOX" "$@"
    echo "$* -> $status: $output"
    [ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 1 ]
}

build_hello() { # build_hello MPI: $HELLO prints the size of its world and its rank
    HELLO=$OWN/hello.$1
    cat > "$OWN/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("world %d sum %d %s\n", size, sum, argc > 1 ? argv[1] : "");
    MPI_Finalize();
    return 0;
}
END
    "mpicc.$1" -o "$HELLO" "$OWN/hello.c"
    chmod 755 "$OWN" "$HELLO"
}

assert_worlds() { # assert_worlds "world 2 sum 1 " COUNT, in $output
    echo "$output"
    [ "$(grep -cx "$1" <<< "$output")" -eq "$2" ]
}

@test "exec: exit code, standard streams, working directory, signals" {
    run sandbox_exec -- sh -c 'exit 7'
    [ "$status" -eq 7 ]
    run sandbox_exec -- sh -c 'kill -9 $$'
    [ "$status" -eq 137 ]
    [ "$(echo in | sandbox_exec -- sh -c 'cat; echo err >&2' 2> "$OWN/err")" = in ]
    [ "$(cat "$OWN/err")" = err ]
    [ "$(cd /usr/lib && sandbox_exec -- pwd)" = /usr/lib ]
    local user
    for user in root user; do
        "$SANDBOX" exec --user $user -- sleep 9173 3>&- &
        sleep "$(secs 1)"
        sandbox_exec -- pgrep -f 'sleep 9173'
        kill $!
        not wait $!
        sleep "$(secs 1)"
        not sandbox_exec -- pgrep -f 'sleep 9173'
    done
}

@test "exec as the sandbox's user, as another user, as nobody that exists" {
    local name
    name=$(sandbox_user)
    [[ $name =~ ^hpcb[0-9]+$ ]]
    [ "$(sandbox_exec --user user -- id -un)" = "$name" ]
    [ "$(cd /root && sandbox_exec --user "$name" -- sh -c 'cd; touch a && rm a && pwd')" = /run/hpcb/home ]
    [ "$(sandbox_exec --user nobody -- id -un)" = nobody ]
    not getent passwd "$name"
    run sandbox_exec --user no-such-user -- true
    [ "$status" -ne 0 ] && [ "${#lines[@]}" -eq 1 ]
}

@test "a job of the user: batch, steps, accounting with AdminComment" {
    local job
    job=$(cd "$OWN" && sandbox_exec --user user -- sbatch --parsable -N2 -o /dev/null --wrap 'srun hostname; sleep 3')
    wait_for_state "$job" RUNNING 30
    sandbox_exec -- scontrol update jobid="$job" admincomment=hello
    wait_for_state "$job" COMPLETED 30
    for _ in $(seq 50); do
        [ "$(sandbox_exec -- sacct -X -n -P -j "$job" -o AdminComment,State)" = "hello|COMPLETED" ] && return
        sleep 0.2
    done
    false
}

@test "every host is a machine of its own" {
    [ "$(run_in_node n1 cat /proc/sys/kernel/hostname)" = n1 ]
    # A node is one core here.
    THREADS=$(lscpu | awk '/^Thread\(s\) per core:/ { print $NF }')
    [ -n "$THREADS" ] || THREADS=1
    run sandbox_exec -- srun -N2 sh -c 'cat /proc/sys/kernel/hostname; nproc'
    [ "$(sort <<< "$output" | tr '\n' ' ')" = "$THREADS $THREADS n1 n2 " ]
    # Only its own processes, interfaces, /run and cgroups.
    run_in_node n1 pgrep -x slurmd
    not run_in_node n1 pgrep -x slurmctld
    [ "$(run_in_node n1 sh -c 'echo /sys/class/net/*')" = "/sys/class/net/eth0 /sys/class/net/lo" ]
    sandbox_exec -- ls /run/slurm/slurmctld.pid
    not run_in_node n1 ls /run/slurm/slurmctld.pid
    [ "$(run_in_node n1 cat /proc/self/cgroup | grep -cvE ':/(init)?$')" -eq 0 ]
    [ "$(run_in_node n1 grep -c ' /sys/fs/cgroup' /proc/mounts)" -lt 16 ]
}

@test "two nodes on a machine of two or more cores own different ones" {
    [ "$(lscpu -p=core | grep -v '^#' | sort -u | wc -l)" -ge 2 ] || skip "this machine has one core"
    run sandbox_exec -- srun -N2 sh -c 'grep Cpus_allowed_list /proc/self/status'
    [ "${#lines[@]}" -eq 2 ]
    [ "${lines[0]}" != "${lines[1]}" ]
}

@test "srun starts programs of either MPI, as root and as the user" {
    local mpi user
    for mpi in openmpi mpich; do
        build_hello $mpi
        for user in root user; do
            run_mpi 40 --user $user -- srun -N2 -n2 "$HELLO"
            assert_worlds 'world 2 sum 1 ' 2
        done
    done
}

@test "srun with either MPI: launchers, the program's options, components, batch, env -i" {
    local mpi
    for mpi in openmpi mpich; do
        build_hello $mpi
        run_mpi 40 -- srun -N2 -n2 timeout -k 5 "$(secs 100)" "$HELLO" --mpi=none
        assert_worlds 'world 2 sum 1 --mpi=none' 2
        run_mpi 40 -- sbatch -W -D "$OWN" -N2 -n2 -o out \
            --wrap "PATH=$OWN:\$PATH /usr/bin/srun hello.$mpi"
        output=$(cat "$OWN/out") && assert_worlds 'world 2 sum 1 ' 2
    done
    build_hello openmpi
    run_mpi 40 -- srun -n1 "$HELLO" one : -n1 "$HELLO" two
    assert_worlds 'world 2 sum 1 .*' 2
    # What somebody asks for stands.
    build_hello mpich
    run_mpi 40 -- srun --mpi=none -N2 -n2 "$HELLO"
    assert_worlds 'world 1 sum 0 ' 2
}

@test "mpirun and mpiexec inside an allocation" {
    build_hello openmpi
    run_mpi 40 --user user -- salloc -Q -N2 -n2 mpirun.openmpi "$HELLO"
    assert_worlds 'world 2 sum 1 ' 2
    build_hello mpich
    run_mpi 40 --user user -- salloc -Q -N2 -n2 mpiexec.mpich "$HELLO"
    assert_worlds 'world 2 sum 1 ' 2
}

@test "status: exit code, text, JSON" {
    run "$SANDBOX" status
    [ "$status" -eq 0 ]
    grep -q 'n2: .*slurmd' <<< "$output"
    "$SANDBOX" status --json | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert [h["name"] for h in s["hosts"]] == ["ctl", "n1", "n2"], s
assert s["hosts"][0]["slurmctld"] and s["hosts"][1]["slurmd"], s
assert set(s["nodes"]) == {"n1", "n2"}, s'
    run_in_node n2 /run/hpcb/lib/daemon stop slurmd
    run "$SANDBOX" status
    run_in_node n2 /run/hpcb/lib/daemon start slurmd
    [ "$status" -eq 1 ]
    grep -q 'slurmd (not running)' <<< "$output"
}

@test "the queues overlap: a job in guest starts on cores that primary jobs hold" {
    local primary guest
    primary=$(sandbox_exec -- sbatch --parsable -D / -o /dev/null -N2 --wrap 'sleep 60')
    wait_for_state "$primary" RUNNING 20
    guest=$(sandbox_exec -- sbatch --parsable -D / -o /dev/null -p guest -N2 --wrap 'sleep 60')
    wait_for_state "$guest" RUNNING 10
    [ "$(job_cpus "$primary" n1)" = "$(job_cpus "$guest" n1)" ]
    "$SANDBOX" status --json | grep -q "\"job\":$guest"
    sandbox_exec -- scancel "$primary" "$guest"
}

@test "--plain beside another sandbox, then gone without a trace" {
    local id before
    before=$(sha256sum /etc/passwd /etc/group /etc/shadow)
    # A daemon that held the pipe would keep cat waiting.
    own up --plain --nodes 1 2>&1 | timeout -k 5 "$(secs 200)" cat
    id=$(own_id)
    [ "$id" != "$(sed -n 's/^id=//p' "$HPCB_SANDBOX_DIR/state")" ]
    not grep -iE '^(JobSubmitPlugins|Prolog|Epilog|PluginDir)=' "$OWN/etc/slurm.conf"
    [ ! -s "$OWN/etc/plugstack.conf" ]
    own exec --user user -- srun true
    sandbox_exec -- srun true
    own exec -- sbatch -o /dev/null --wrap 'setsid sleep 300 & sleep 300'
    grep -sq "$OWN" /proc/[0-9]*/mountinfo
    own down
    assert_gone "$id" "$OWN"
    [ "$(sha256sum /etc/passwd /etc/group /etc/shadow)" = "$before" ]
    sandbox_exec -- srun true
    own down
}

@test "--append adds to slurm.conf and may set a key again" {
    printf 'MinJobAge=77\nprologflags = Contain\n' > "$OWN.lines"
    own up --plain --nodes 3 --append "$OWN.lines"
    run own exec -- scontrol show config
    not grep -i 'more than once' <<< "$output"
    grep -qE '^MinJobAge += 77 ' <<< "$output"
    grep -qE '^PrologFlags += .*Contain' <<< "$output"
    [ "$(own exec -- srun -N3 cat /proc/sys/kernel/hostname | sort | tr '\n' ' ')" = "n1 n2 n3 " ]
}

@test "--gres: gpus and others come up, and jobs get them" {
    own up --plain --nodes 1 --gres gpu:2
    # shellcheck disable=SC2016 # expanded in the job
    [ "$(own exec -- srun --gres=gpu:2 sh -c 'echo "$CUDA_VISIBLE_DEVICES"')" = 0,1 ]
    run own exec -- srun --immediate=5 --gres=gpu:3 true
    [ "$status" -ne 0 ]
    own down
    own up --plain --nodes 1 --gres acc:2
    own exec -- srun --gres=acc:2 true
}

@test "two at once, and a second up: one clear error, the first one stands" {
    own up --plain --nodes 1 &
    local first=$!
    for _ in $(seq 100); do [ ! -e "$OWN/state" ] || break; sleep 0.02; done
    run own up --plain --nodes 1
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 1 ]
    run own down
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 1 ]
    wait $first
    run own up --plain --nodes 1
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 1 ]
    own exec -- srun true
}

# Freezes `sleep 9174`, on v1 in a group such as guests have; wherever Slurm put it.
freeze_in_n2() { # freeze_in_n2 ID
    # shellcheck disable=SC2016 # expanded in the node
    own exec --host n2 -- bash -ec '
        pid=$(pgrep -fx "[^ ]*sleep 9174")
        group=/sys/fs/cgroup/cpu/hpcb_$1_n2/job_1
        if [ -d /sys/fs/cgroup/freezer ]; then
            mkdir -p $group
            echo $pid > $group/cgroup.procs
            echo FROZEN > "/sys/fs/cgroup/freezer$(sed -n "s/^[0-9]*:freezer://p" /proc/$pid/cgroup)/freezer.state"
        else
            echo 1 > "/sys/fs/cgroup$(sed -n "s/^0:://p" /proc/$pid/cgroup)/cgroup.freeze"
        fi' freeze "$1"
}

@test "after kill -9 of hosts and a frozen job, down removes all" {
    local id
    own up --plain
    id=$(own_id)
    own exec -- sbatch -D / -N2 -o /dev/null --wrap 'srun sleep 9174'
    for _ in $(seq 50); do ! own exec --host n2 -- pgrep -fx '[^ ]*sleep 9174' || break; sleep 0.2; done
    freeze_in_n2 "$id"
    kill -9 "$(cat "$OWN/hosts/n1/pid")"
    run own status
    [ "$status" -eq 1 ]
    kill -9 "$(cat "$OWN/hosts/ctl/pid")"
    own down
    assert_gone "$id" "$OWN"
    not pgrep -f 'sleep 9174'
}

@test "after kill -9 of up at any moment, up works again and down removes all" {
    local id moment
    for moment in 0.15 0.5 1 1.8; do
        setsid "$SANDBOX" up --dir "$OWN" --plain --nodes 1 > /dev/null 2>&1 &
        sleep "$moment"
        kill -9 -$!
        wait $! || true
        id=$(own_id || true)
        if [ "$moment" = 0.5 ]; then
            own up --plain --nodes 1
            own exec -- srun true
        fi
        own down
        assert_gone "${id:-none}" "$OWN"
        mkdir -p "$OWN"
    done
}

@test "interrupted and failed up remove what they made" {
    local id
    echo 'NoSuchKey=1' > "$OWN.lines"
    run own up --plain --append "$OWN.lines"
    echo "$output"
    [ "$status" -eq 1 ]
    grep -q NoSuchKey <<< "$output"
    assert_gone none "$OWN"
    timeout -s TERM 1 "$SANDBOX" up --dir "$OWN" --plain > "$OWN.lines" 2>&1 || true
    [ ! -e "$OWN" ]
    not pgrep -f "hpcb-host=[0-9]*:$OWN"
}

@test "a directory that somebody deleted: down still ends the processes" {
    local id
    own up --plain --nodes 1
    id=$(own_id)
    rm -rf "$OWN"
    own down
    assert_gone "$id" "$OWN"
}

@test "a directory that is not ours is left alone" {
    touch "$OWN/precious"
    run own up --plain
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 1 ]
    run own down
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 1 ]
    chown nobody "$OWN"
    echo id=1 > "$OWN/state"
    run own down
    [ "$status" -eq 1 ]
    [ -e "$OWN/precious" ]
    ln -s "$OWN" "$OWN/link"
    run timeout -k 5 "$(secs 10)" "$SANDBOX" down --dir "$OWN/link"
    [ "$status" -eq 1 ]
    rm -rf "$OWN"
}

@test "bad input: one line, exit code 2" {
    refused
    refused frobnicate
    refused up --nodes 0
    refused up --nodes 65
    refused up --nodes -1
    refused up --nodes 1e1
    refused up --nodes ''
    refused up --nodes 99999999999999999999
    refused up --nodes
    refused up --cpus-per-node 0
    refused up --cpus-per-node 1000
    refused up --append "$OWN/no-such-file"
    refused up --append "$OWN"
    refused up --cgroup v3
    refused up extra
    refused up --user root
    refused up --dir "$OWN/with space"
    refused up --dir $'new\nline'
    refused up --dir ''
    refused up --dir /
    refused up --dir /run/x
    refused exec
    refused exec sinfo
    refused exec --
    refused exec --user -- true
    refused status --xml
    refused down --force
    [ -z "$(ls -A "$OWN")" ]
}

@test "exec and status without a sandbox, down without one" {
    run own exec -- true
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 1 ]
    run own status
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 1 ]
    own down
    own down
}

@test "not root: one line" {
    run setpriv --reuid=65534 --regid=65534 --clear-groups bash "$SANDBOX" up
    [ "$status" -ne 0 ]
    [ -n "$output" ]
}
