#!/usr/bin/env bats
# A hostile guest stays a guest: one test per way out.  Each job runs the probe, which
# prints the cgroup it is in and what the kernel says of it, after its attempt.

load helpers
load guest

# The daemons inherit what an administrator may allow in slurmd's unit.
setup_file() {
    ulimit -r 20 2> /dev/null || true
    cluster_up
}
teardown_file() { cluster_down; }
setup() { cancel_all; }

# Run SCRIPT (standard input) as a guest batch job; its output is left in $output.
guest_script() {
    local job
    job=$(submit --guest -N1 -n1 -t"$(secs 2)" -o "$WORK/out-%j" <<< "#!/bin/bash
$(cat)")
    wait_for_end "$job" 60
    output=$(cat "$WORK/out-$job")
    echo "$output"
}

@test "unset and forged variables: nested srun with a clean environment" {
    guest_script <<EOF
env -i PATH="\$PATH" SLURM_CONF="\$SLURM_CONF" SLURM_JOB_ID="\$SLURM_JOB_ID" \
    srun --overlap -n1 $PROBE
EOF
    assert_probe_guest "$output"
}

@test "forged variables: partition, class and options say primary" {
    guest_script <<EOF
export SLURM_JOB_PARTITION=primary SPANK_HPCB_CLASS=primary HPCB_CLASS=primary
export SLURM_SPANK__SLURM_SPANK_OPTION_hpc_balance_hpc_balance=auto
unset SLURM_SPANK__SLURM_SPANK_OPTION_hpc_balance_guest _SLURM_SPANK_OPTION_hpc_balance_guest
export HPC_BALANCE_CONF=/dev/null
srun --overlap -n1 $PROBE
$PROBE
EOF
    assert_probe_guest "$output"
}

@test "srun with other options inside the job" {
    guest_script <<EOF
srun --overlap --hpc-balance -n1 $PROBE
srun --overlap --mpi=none --cpu-bind=none --export=NONE -n1 $PROBE
srun --overlap --nice=-5 -n1 $PROBE || srun --overlap -n1 $PROBE
EOF
    assert_probe_guest "$output"
    [ "$(grep -c '^probe ' <<< "$output")" -ge 3 ]
}

@test "a step from outside the job (srun --jobid --overlap)" {
    guest=$(submit --guest -n1 -t"$(secs 2)" --wrap "sleep $(secs 60)")
    wait_for_state "$guest" RUNNING 20
    run as_user timeout -k 5 "$(secs 60)" srun --jobid="$guest" --overlap -n1 "$PROBE"
    assert_probe_guest "$output"
}

@test "a script of the user's that slurmstepd runs after a task (srun --task-epilog)" {
    printf '#!/bin/bash\n%s > %s/epilog.out\n' "$PROBE" "$WORK" > "$WORK/epilog"
    chmod 755 "$WORK/epilog"
    guest_script <<< "srun --overlap -n1 --task-epilog=$WORK/epilog true"
    assert_probe_guest "$(cat "$WORK/epilog.out")"
}

# What the kernel says of the slurmstepd of the first step on n1.
stepd_is_idle() {
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node n1 bash -c '
        for pid in $(pgrep -f "^slurmstepd: \[[0-9]+\.0\]"); do "$0" "$pid"; done' "$PROBE" |
        grep -E 'idle=1 .* policy=0$'
}

@test "output that keeps slurmstepd busy does not give it a primary's weight for long" {
    as_user timeout -k 5 "$(secs 90)" srun --guest -w n1 -n1 yes > /dev/null 2>&1 3>&- &
    wait_until 60 stepd_is_idle
    # Not among the tasks, which could starve it.
    [ "$CGROUP" = 2 ] || stepd_is_idle | grep -q 'group=/[^ ]*/guest_[0-9]* '
    cancel_all
    wait
}

@test "setsid and double fork" {
    guest_script <<EOF
setsid -w $PROBE
( ( setsid -w $PROBE ) & wait ) & wait
perl -MPOSIX -e 'fork and exit; POSIX::setsid(); fork and exit; exec "$PROBE"' | cat
sleep 1
EOF
    assert_probe_guest "$output"
    [ "$(grep -c '^probe ' <<< "$output")" -ge 2 ]
}

@test "chrt, renice and ionice do not lift a guest" {
    guest_script <<EOF
chrt -o -p 0 \$\$ ; chrt -f -p 1 \$\$ ; renice -n -5 -p \$\$ ; ionice -c 1 -n 0 -p \$\$
$PROBE
EOF
    assert_probe_guest "$output"
    not grep -qE 'policy=(1|2)$' <<< "$output"
}

@test "RLIMIT_RTPRIO of slurmd does not give a guest real-time priority" {
    [ "$(as_user srun -n1 bash -c 'ulimit -r' 2> /dev/null)" = 20 ] ||
        skip "this root may not raise RLIMIT_RTPRIO"
    printf '#!/bin/bash\n{ ulimit -r; chrt -f 1 %s; } > %s/epilog.rt 2>&1\n' \
        "$PROBE" "$WORK" > "$WORK/epilog-rt"
    chmod 755 "$WORK/epilog-rt"
    guest_script <<EOF
ulimit -r; ulimit -Hr
chrt -f 1 $PROBE && echo FIFO
srun --overlap -n1 chrt -f 1 $PROBE && echo FIFO
srun --overlap -n1 --task-epilog=$WORK/epilog-rt true
$PROBE
EOF
    assert_probe_guest "$output"
    [ "$(head -n 2 <<< "$output")" = $'0\n0' ]
    not grep -q '^FIFO' <<< "$output"
    [ "$(head -n 1 "$WORK/epilog.rt")" = 0 ]
    not grep -q '^probe' "$WORK/epilog.rt"
}

@test "it cannot move itself to another cgroup, nor change its own" {
    guest_script <<EOF
for f in \$(find /sys/fs/cgroup -name cgroup.procs -o -name tasks 2>/dev/null | head -500); do
    echo \$\$ > \$f && echo "MOVED \$f"
done 2>/dev/null
for f in \$(find /sys/fs/cgroup -name cpu.idle -o -name cpu.shares -o -name cpu.weight 2>/dev/null | head -100); do
    echo 0 > \$f && echo "WROTE \$f"
done 2>/dev/null
$PROBE
EOF
    assert_probe_guest "$output"
    not grep -qE '^(MOVED|WROTE)' <<< "$output"
}

@test "--hpc-balance together with --guest is refused at submission" {
    run as_user sbatch --guest --hpc-balance -n1 --wrap true
    [ "$status" -ne 0 ]
    grep -q -- '--guest' <<< "$output"
    grep -q -- '--hpc-balance' <<< "$output"
}

@test "a login shell outside of the job is refused at submission" {
    for option in --get-user-env --export=NONE --export=HOME --export=ALL,NAME=value; do
        run as_user sbatch --guest "$option" -n1 --wrap true
        [ "$status" -ne 0 ]
        grep -q 'login shell' <<< "$output"
    done
    run as_user env SLURM_GET_USER_ENV=1 sbatch --guest -n1 --wrap true
    [ "$status" -ne 0 ]
    grep -q 'SLURM_GET_USER_ENV' <<< "$output"
    # What slurmd does not go by, and what the message advises.
    as_user env SLURM_GET_USER_ENV=0 sbatch --guest --export=ALL -n1 -o /dev/null --wrap true
    submit "--get-user-env" -n1 --wrap true
    # shellcheck disable=SC2016 # expanded in the job
    job=$(as_user env HPCB_NAME=value sbatch --parsable --guest --export=ALL -n1 -o "$WORK/out-%j" \
        --wrap 'echo "is $HPCB_NAME"')
    wait_for_end "$job" 60
    grep -qx 'is value' "$WORK/out-$job"
}

@test "scontrol update partition=primary by the user is refused, pending and running" {
    held=$(submit --guest --hold -n1 --wrap "sleep $(secs 60)")
    guest=$(submit --guest -n1 --wrap "sleep $(secs 60)")
    wait_for_state "$guest" RUNNING 20
    for job in "$held" "$guest"; do
        run as_user scontrol update jobid="$job" partition=primary
        [ "$status" -ne 0 ]
        [ "$(job_field "$job" Partition)" = guest ]
    done
    run as_user scontrol update jobid="$held" priority=100000
    [ "$(job_field "$held" Priority)" -lt 1000 ]
    run as_user scontrol update jobid="$held" nice=-1000
    [ "$(job_field "$held" Priority)" -lt 1000 ]
}

@test "hold and release by the user does not lift a guest over primaries" {
    submit -N2 -n2 --wrap "sleep $(secs 60)"
    block=$(submit --guest -N2 -n2 --wrap "sleep $(secs 60)")
    wait_for_state "$block" RUNNING 20
    guest=$(submit --guest -N2 -n2 --wrap "sleep $(secs 60)")
    as_user scontrol hold "$guest"
    as_user scontrol release "$guest"
    [ "$(job_field "$guest" Priority)" -lt 1000 ]
}

@test "an operator may move a job across the border" {
    held=$(submit --guest --hold -n1 --wrap "sleep $(secs 60)")
    run as_root scontrol update jobid="$held" partition=primary
    [ "$status" -eq 0 ]
    [ "$(job_field "$held" Partition)" = primary ]
}

@test "the record of the job is root's, and the user cannot touch it" {
    guest_script <<'EOF'
f=$(ls -d /run/hpc-balance/jobs/$SLURM_JOB_ID)
echo "file $f"
rm -f "$f" 2>/dev/null && echo REMOVED
echo Class=primary 2>/dev/null > "$f" && echo WROTE
EOF
    grep -q '^file /run/hpc-balance/jobs/' <<< "$output"
    not grep -qE '^(REMOVED|WROTE)' <<< "$output"
}
