#!/usr/bin/env bats
# The life of the packages on a cluster that runs jobs: installed, used, upgraded, refused
# where they do not fit, removed, purged.  Runs inside the throw-away system that
# tests/packages/run makes, each test going on where the one before stopped.

load packages

C=/tmp/cluster
W=/tmp/w

setup_file() {
    mkdir -p /tmp/w /tmp/later /tmp/other
    chmod 1777 /tmp/w
    write_lowered
}
teardown_file() { [ ! -e $C/state ] || timeout 100 hpcb-sandbox down --dir $C || true; }

on() { # on HOST CMD...: as root
    local host=$1
    shift
    timeout 100 hpcb-sandbox exec --dir $C --host "$host" -- "$@"
}

as_user() { (cd $W && timeout 60 hpcb-sandbox exec --dir $C --user user -- "$@"); }

wait_until() { # wait_until SECONDS CMD...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || { echo "not within time: $*"; return 1; }
        sleep 0.2
    done
}

state_is() { # state_is JOB STATE
    local state
    state=$(on ctl scontrol -o show job "$1" 2> /dev/null | grep -oE 'JobState=[A-Z]+')
    [ "$state" = "JobState=$2" ]
}

# Jobs that go on until end_jobs: job.NAME has the number, pid.NAME a process on n1.
start_job() { # start_job NAME [SBATCH OPTION]...
    local name=$1
    shift
    rm -f "$W"/*."$name"
    as_user sbatch --parsable -o "$W/out.$name" "$@" --wrap \
        "echo \$\$ > $W/pid.$name
         while [ ! -e $W/end ]; do sleep 0.2; done; echo went to its end" > "$W/job.$name"
    wait_until 30 test -s "$W/pid.$name"
}

start_jobs() {
    # What a test that failed left behind would hold the only core.
    [ -z "$(on ctl squeue -h)" ] || on ctl scancel -u "$(sed -n 's/^user=//p' $C/state)"
    wait_until 40 bash -c "[ -z \"\$(hpcb-sandbox exec --dir $C -- squeue -h)\" ]"
    rm -f $W/end
    start_job primary
    start_job guest --guest
}

job() { cat "$W/job.$1"; } # job NAME

# Both have gone on all the time, and end as they would have ended anyway.
jobs_end_well() {
    local name
    for name in primary guest; do
        state_is "$(job $name)" RUNNING || { echo "$name does not run"; return 1; }
    done
    touch $W/end
    for name in primary guest; do
        wait_until 40 state_is "$(job $name)" COMPLETED &&
            grep -qx 'went to its end' "$W/out.$name" || { cat "$W/out.$name"; return 1; }
    done
}

# Is the process in an idle group: the one of its cpu controller or one above it?
write_lowered() {
    cat > $W/lowered <<'END'
#!/bin/bash
pid=$1 mount=/sys/fs/cgroup/cpu
group=$(sed -nE 's/^[0-9]+:([^:]*,)?cpu(,[^:]*)?://p' "/proc/$pid/cgroup")
[ -n "$group" ] || { mount=/sys/fs/cgroup group=$(sed -n 's/^0:://p' "/proc/$pid/cgroup"); }
while [ -n "$group" ] && [ "$group" != / ]; do
    [ "$(cat "$mount$group/cpu.idle" 2> /dev/null)" != 1 ] || { echo lowered && exit 0; }
    group=${group%/*}
done
exit 1
END
    chmod 755 $W/lowered
}
lowered() { on n1 $W/lowered "$(cat $W/pid.$1)"; } # lowered NAME

# Does a new guest run, lowered?
guest_runs() { [ "$(as_user srun --guest -Q bash -c "$W/lowered \$\$")" = lowered ]; }

# Do the packages hold the select and preempt plugins?
has_select() { [ -e /usr/lib/hpc-balance/slurm/select_cons_tres.so ]; }

is_up() { on ctl timeout 5 scontrol ping | grep -q 'is UP'; }

primary_runs() { [ "$(as_user srun -p primary -Q echo ran 2> $W/err)" = ran ]; }

installed() { # prints name and version of ours
    dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' \
        slurm-hpc-balance-{node,controller,mpi,report,sim,tools,doc} | sed -n 's/^installed //p'
}

daemons() { # pids of the daemons: they must stay the same
    on ctl cat /run/pids/slurmctld
    on n1 cat /run/pids/slurmd
}

all_is_well() { # all_is_well DAEMONS: the same daemons run, the node takes jobs
    [ "$(daemons)" = "$1" ] || { echo "a daemon was restarted"; return 1; }
    on ctl /run/hpcb/lib/daemon running slurmctld || { echo "slurmctld is gone"; return 1; }
    on n1 /run/hpcb/lib/daemon running slurmd || { echo "slurmd is gone"; return 1; }
    on ctl timeout 20 sinfo -h -N -o '%T %E' | sort -u > $W/nodes
    cat $W/nodes
    grep -vqiE 'drain|down|fail' $W/nodes
}

@test "the packages install on a machine with Slurm, and start nothing" {
    run dpkg -i "$HPCB_PACKAGES"/slurm-hpc-balance-{node,controller,mpi,report,sim,tools,doc}_*.deb
    echo "$output"
    [ "$status" -eq 0 ]
    ! grep -E '^slurm-hpc-balance:' <<< "$output" || return 1
    [ "$(installed | wc -l)" = ${#PARTS[@]} ]
    [ ! -e /etc/slurm/slurm.conf ]
    ! grep -lE '^(slurm|munge)' /proc/[0-9]*/comm || return 1
    [ "$(stat -c %a /etc/slurm/hpc-balance.conf)" = 644 ]
}

@test "a cluster runs with them, a guest is lowered, hpcbctl check agrees" {
    dir=$(dirname "$(ls /usr/lib/*/slurm-wlm/select_cons_tres.so)")
    echo "PluginDir=/usr/lib/hpc-balance/slurm:$dir" > $W/append
    timeout 150 hpcb-sandbox up --dir $C --nodes 1 --append $W/append
    start_jobs
    lowered guest
    ! lowered primary || return 1
    if has_select; then
        on ctl scontrol show config | grep -q '^PreemptType *= preempt/hpc_balance'
        grep -q 'select/hpc_balance: before' $C/log/slurmctld.log
    fi
    run on n1 hpcbctl check
    echo "$output"
    [ "$status" -eq 0 ]
    jobs_end_well
    # In records/ until hpcbd has sent it, then in sent/.
    wait_until 10 on n1 sh -c "ls /run/hpcb/spool/hpc-balance/n1/*/$(job guest).n1.json"
}

@test "an upgrade leaves running jobs alone, and they end well" {
    "${BATS_TEST_DIRNAME}/relabel" "$(deb node)" /tmp/later 2
    "${BATS_TEST_DIRNAME}/relabel" "$(deb controller)" /tmp/later 2
    start_jobs
    before=$(daemons)
    run on n1 dpkg -i /tmp/later/*.deb
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"slurmctld uses the new plugins after its next restart"* ]]
    all_is_well "$before"
    # The step has the file that it was started with, which was not written to; slurmctld too.
    # Some end while grep reads.
    on n1 bash -c 'grep -ls "hpc_balance.so (deleted)" /proc/[0-9]*/maps | grep .'
    ! has_select || on ctl bash -c 'grep "select_cons_tres.so (deleted)" "/proc/$(cat /run/pids/slurmctld)/maps"'
    lowered guest
    # What the site wrote into the configuration is there still.
    grep -q ^GuestCgroup= $C/etc/hpc-balance.conf
    # The guest's next step has the new one.
    [ "$(as_user srun --overlap -Q --jobid "$(job guest)" bash -c "$W/lowered \$\$")" = lowered ]
    jobs_end_well
    guest_runs
}

@test "packages for another Slurm are refused by apt and by dpkg" {
    for part in node controller; do
        "${BATS_TEST_DIRNAME}/relabel" "$(deb $part)" /tmp/other 3 "$(other_slurm)"
    done
    before=$(installed)
    run apt-get -s -q install /tmp/other/*.deb
    echo "$output"
    [ "$status" -ne 0 ]
    for part in node controller; do
        run dpkg -i /tmp/other/slurm-hpc-balance-$part*.deb
        echo "$output"
        [ "$status" -ne 0 ]
        [[ $output == *"break"*slurm* ]]
    done
    [ "$(installed)" = "$before" ]
    ! dpkg --audit | grep . || return 1
}

@test "forced onto the machine they say what will happen, and running jobs stay" {
    start_jobs
    before=$(daemons)
    run on ctl dpkg --force-breaks --force-depends -i /tmp/other/*.deb
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q "^slurm-hpc-balance: the plugins are built for Slurm $(other_slurm) and slurmctld is" <<< "$output"
    grep -q "^slurm-hpc-balance: the SPANK plugin is built for Slurm $(other_slurm)" <<< "$output"
    all_is_well "$before"
    lowered guest
    # Primaries start as ever: the line in plugstack.conf is optional.
    [ "$(as_user srun --overlap -Q --jobid "$(job primary)" echo ran 2> $W/err)" = ran ]
    run on n1 hpcbctl check
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"it is built for Slurm $(other_slurm), slurmctld is $(slurm_here)"* ]]
}

@test "slurmctld ends when it is started with the wrong one; jobs live on" {
    on ctl /run/hpcb/lib/daemon stop slurmctld
    on ctl /run/hpcb/lib/daemon start slurmctld
    wait_until 20 on ctl bash -c '! /run/hpcb/lib/daemon running slurmctld'
    tail -n 5 $C/log/slurmctld.log
    # The first of those that have no fall-through.
    grep -qE "Incompatible Slurm plugin .*(preempt|job_submit)_hpc_balance.so version \($(other_slurm)\)" $C/log/slurmctld.log
    grep -qE 'fatal: .*(job_submit|preempt)' $C/log/slurmctld.log
    on n1 bash -c "kill -0 \$(cat $W/pid.guest) \$(cat $W/pid.primary)"
}

@test "without the settings that end slurmctld, Slurm's own select plugin takes the jobs up" {
    has_select || skip "the packages are without the select plugin"
    conf=$C/etc/slurm.conf
    cp $conf $W/slurm.conf
    sed -i -E '/^(JobSubmitPlugins|PreemptType|PreemptMode)=/d' $conf
    : > $C/log/slurmctld.log
    on ctl /run/hpcb/lib/daemon start slurmctld
    wait_until 20 is_up
    grep -q "Incompatible Slurm plugin .*select_cons_tres.so version ($(other_slurm))" $C/log/slurmctld.log
    ! grep 'select/hpc_balance' $C/log/slurmctld.log || return 1
    wait_until 30 all_is_well "$(daemons)"
    state_is "$(job primary)" RUNNING
    state_is "$(job guest)" RUNNING
    on ctl /run/hpcb/lib/daemon stop slurmctld
    cp $W/slurm.conf $conf
}

@test "slurmctld starts again with the right package, and the jobs end well" {
    on ctl dpkg -i /tmp/later/*.deb
    on ctl /run/hpcb/lib/daemon start slurmctld
    wait_until 20 is_up
    wait_until 30 all_is_well "$(daemons)"
    jobs_end_well
}

@test "a package that Slurm needs is not removed" {
    before=$(daemons)
    for host_and_part in ctl:controller n1:node; do
        run on "${host_and_part%:*}" dpkg -r --force-depends "slurm-hpc-balance-${host_and_part#*:}"
        echo "$output"
        [ "$status" -ne 0 ]
        [ "$(grep -c '^slurm-hpc-balance: the .* package is not removed while Slurm needs it' <<< "$output")" = 1 ]
        [ "$host_and_part" != ctl:controller ] || ! has_select || [[ $output == *"PreemptType=preempt/hpc_balance"* ]]
    done
    [[ $output == *"PluginDir="* && $output == *"Prolog="* && $output == *"Epilog="* && $output == *"plugstack.conf: optional"* ]]
    [ "$(installed | wc -l)" = ${#PARTS[@]} ]
    all_is_well "$before"
    guest_runs
}

@test "removed by force it says what needs it, and running jobs stay" {
    start_jobs
    before=$(daemons)
    run on ctl env HPC_BALANCE_REMOVE=anyway dpkg -r slurm-hpc-balance-controller
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q '^slurm-hpc-balance: removed although Slurm still needs it: .*JobSubmitPlugins=' <<< "$output"
    all_is_well "$before"
    lowered guest
    dpkg -i /tmp/later/slurm-hpc-balance-controller*.deb
    jobs_end_well
}

@test "taken out of Slurm it is removed beside running jobs, and no guest is lifted" {
    start_jobs
    conf=$C/etc/slurm.conf
    sed -i -E '/^(JobSubmitPlugins|PreemptType|PreemptMode|PluginDir|Prolog|Epilog)=/d' "$conf"
    : > $C/etc/plugstack.conf
    # Slurm takes another PluginDir at a restart only.
    on ctl /run/hpcb/lib/daemon restart slurmctld
    on n1 /run/hpcb/lib/daemon restart slurmd
    wait_until 30 is_up
    before=$(daemons)
    run on n1 dpkg -r slurm-hpc-balance-controller slurm-hpc-balance-node slurm-hpc-balance-mpi
    echo "$output"
    [ "$status" -eq 0 ]
    grep -qx "slurm-hpc-balance: guests run here (job $(job guest)): they stay lowered until they end" <<< "$output"
    [ ! -e /usr/sbin/hpcbctl ] && [ ! -e /usr/lib/hpc-balance ]
    lowered guest
    wait_until 30 all_is_well "$before"
    jobs_end_well
    primary_runs
    on ctl /run/hpcb/lib/daemon restart slurmctld
    wait_until 30 is_up
    primary_runs
    ! grep . $W/err || return 1
    all_is_well "$(daemons)"
}

@test "purged, nothing is left" {
    id=$(sed -n 's/^id=//p' $C/state)
    timeout 100 hpcb-sandbox down --dir $C
    mkdir -p /run/hpc-balance/jobs /var/spool/hpc-balance/records
    run dpkg -P slurm-hpc-balance-{node,controller,mpi,report,sim,tools,doc}
    echo "$output"
    [ "$status" -eq 0 ]
    left=$(find /etc /usr /var /run /opt -xdev \( -name '*hpc-balance*' -o -name '*hpc_balance*' -o -name '*hpcb*' \))
    echo "left: $left"
    [ -z "$left" ]
    [ -z "$(installed)" ]
    ! find /sys/fs/cgroup -name "hpcb_$id*" 2> /dev/null | grep . || return 1
}
