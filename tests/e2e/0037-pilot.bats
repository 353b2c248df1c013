#!/usr/bin/env bats
# From stock Slurm to guests on one node, on all nodes, and back, by the steps of
# doc/admin-guide.md, under 100 primaries that run and wait.  Each case goes on where the
# one before it ended.

load helpers
load guest
load node-shell
load guide

INST=/run/hpcb/inst
SLEEP=8 # seconds of a primary; up to 7 more, so that some end at any time
CORES=8 # of a node

setup_file() {
    local installed
    installed=${HPCB_SANDBOX_INSTALLED:-$("$SANDBOX" build)} || return 1
    ls "$installed"/lib/hpc-balance/slurm-*/preempt_hpc_balance.so > /dev/null 2>&1 ||
        skip "the preempt plugin is not built"
    sandbox_up --nodes 2 --plain --fake-cpus $CORES || return 1
    export WORK=$HPCB_SANDBOX_DIR/work HPCBCTL=hpcbctl PROBE=$HPCB_SANDBOX_DIR/work/probe
    mkdir -p "$WORK"
    chmod 1777 "$WORK"
    write_probe
    node_shell_up 2
    admin_commands
    stock_cluster
    # Stage 1: the packages.
    cp -a "$installed" "$HPCB_SANDBOX_DIR/inst"
}
teardown_file() { [ -z "${WORK:-}" ] || sandbox_down; }

sandbox_id() { sed -n 's/^id=//p' "$HPCB_SANDBOX_DIR/state"; }

ETC() { echo "$HPCB_SANDBOX_DIR/etc/$1"; }

# The sandbox's slurm.conf as a site has it that knows nothing of guests.
stock_cluster() {
    local conf
    conf=$(ETC slurm.conf)
    sed -i -E '/^(PrologFlags|PreemptType|PreemptMode|PriorityWeightPartition|SchedulerParameters|DefMemPerCPU|CliFilterPlugins|PartitionName)=/d' "$conf"
    cat >> "$conf" <<'EOF2'
PreemptType=preempt/none
PriorityWeightFairshare=10000
SlurmctldTimeout=10
SchedulerParameters=bf_interval=5,bf_continue
DefMemPerCPU=20
PartitionName=primary Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF2
    rm -f "$(ETC plugstack.conf)"
    restart_slurm
    cp "$conf" "$(ETC slurm.conf.saved)"
}

restart_slurm() {
    run_in_node ctl /run/hpcb/lib/daemon restart slurmctld
    run_in_node n1 /run/hpcb/lib/daemon restart slurmd
    run_in_node n2 /run/hpcb/lib/daemon restart slurmd
    wait_until 60 nodes_are_up
}

nodes_are_up() { [ "$(as_root sinfo -h -N -p primary -o %T | grep -cE '^(idle|mixed|allocated)$')" = 2 ]; }

no_guests() { [ -z "$(as_root squeue -h -p guest -o %i)" ]; }

in_state() { as_root squeue -h -r -p primary -t "$1" -o %i | wc -l; } # in_state STATES: primaries

# Lines of the guide with the paths, the version and the group of this cluster.
here() {
    local stock
    stock=$(dirname "$(ls /usr/lib/*/slurm-wlm/select_cons_tres.so /usr/lib/*/slurm/select_cons_tres.so 2> /dev/null | head -n 1)")
    sed -E "s|^PluginDir=.*|PluginDir=$INST/lib/hpc-balance/slurm-$SLURM:$stock|
        s|/usr/(lib\|libexec)/hpc-balance|$INST/\1/hpc-balance|
        s|AllowGroups=testers|AllowGroups=$(sandbox_user)|
        s|DefMemPerCPU=500|DefMemPerCPU=16|"
}

# Standard input into slurm.conf, in the place of what it had by the same name.
into_slurm_conf() {
    python3 - "$(ETC slurm.conf)" /dev/fd/3 3<&0 <<'EOF2'
import os
import sys

def name(line):
    key, _, value = line.partition("=")
    return key + "=" + value.split()[0] if key == "PartitionName" else key

with open(sys.argv[1]) as stream:
    lines = stream.read().splitlines()
with open(sys.argv[2]) as stream:
    new = {name(line): line for line in stream.read().splitlines()}
own = [line for line in lines if line.startswith("SchedulerParameters=")]
if own and "SchedulerParameters" in new:
    new["SchedulerParameters"] = own[0] + "," + new["SchedulerParameters"].partition("=")[2]
kept = [line for line in lines if name(line) not in new]
with open(sys.argv[1] + ".new", "w") as stream:
    stream.write("\n".join(kept + list(new.values())) + "\n")
os.replace(sys.argv[1] + ".new", sys.argv[1])
EOF2
}

# As a whole: at each end of a job slurmd starts a program that reads it.
put() { cat > "$(ETC "$1").new" && mv "$(ETC "$1").new" "$(ETC "$1")"; } # put FILE < TEXT

# What a node of the sandbox needs, as in sandbox/lib/conf.sh.
site_conf() {
    cat <<EOF2
GuestCgroup=hpcb_$(sandbox_id)_%n
BalanceCgroup=hpcb_$(sandbox_id)_balance_%n
SpoolDir=/run/hpcb/spool/hpc-balance/%n
ProfileStore=/run/hpcb/spool/hpc-balance/profiles.json
CollectorDir=/run/hpcb/collector
GuestMinShare=0%
GuestMaxSlowdown=0%
EOF2
}

# Guests that start at once next to primaries, and are lowered.
guest_runs_on() { # guest_runs_on NODE
    local g
    g=$(submit --guest -w "$1" --mem=16M --wrap 'srun sleep 300')
    wait_for_state "$g" RUNNING 60
    [ "$(as_root squeue -h -p primary -t R -w "$1" -o %i | wc -l)" -gt 0 ]
    wait_until 30 guest_isolated "$g" "$1"
}

# Nothing failed but what is the sandbox's: cores that are not there constrain nobody.
checked() { # checked OUTPUT
    echo "$1"
    grep -qE ' hosts: .* 0 hosts not checked$' <<< "$1"
    not grep '^FAIL' <(grep -v '^FAIL  core-limit: ConstrainCores=no ' <<< "$1")
}

# No group of guests is left; other sandboxes have theirs.
clean_nodes() {
    local n left
    for n in n1 n2; do
        left=$(run_in_node $n find /sys/fs/cgroup/ -maxdepth 3 -name "hpcb_$(sandbox_id)_$n")
        echo "$n: $left"
        [ -z "$left" ] || return 1
    done
}

@test "stock Slurm: 100 primaries run and wait" {
    # In one go: 20 jobs and an array.
    cat > "$WORK/primary" <<EOF2
#!/bin/bash
srun bash -c 'sleep \$(($(secs $SLEEP) + SLURM_JOB_ID % 8)); date +%s > $WORK/ends/\$SLURM_JOB_ID'
EOF2
    mkdir -m 1777 "$WORK/ends"
    as_user bash -c "for i in {1..20}; do sbatch -J pilot -o /dev/null $WORK/primary; done
        sbatch -J pilot -o /dev/null -a 1-80 $WORK/primary"
    [ "$(in_state R,PD)" -gt 70 ]
    run as_user sbatch --guest --wrap true
    [ "$status" -ne 0 ]
}

@test "pilot: guests on n1, and none on n2" {
    settings "$(block_with AllowGroups=testers)" | here | into_slurm_conf
    block "$(block_with 'optional ')" | here | put plugstack.conf
    site_conf | put hpc-balance.conf
    checked "$(paste "$(commands "$(block_with 'restart slurmctld')")" 2>&1)"
    guest_runs_on n1
    run as_user sbatch --guest -w n2 --parsable -o /dev/null --mem=16M --wrap true
    echo "$output"
    [ "$status" -ne 0 ] || [ "$(state_of "$output")" = PENDING ]
    [ "$status" -ne 0 ] || as_root scancel "$output"
}

@test "all nodes: a guest on n2, too" {
    echo CollectorHost=ctl >> "$(ETC hpc-balance.conf)"
    # sed replaces the file, too.
    sed -i -E '/^PartitionName=guest /s/ Nodes=n1 AllowGroups=[^ ]*/ Nodes=ALL/' "$(ETC slurm.conf)"
    checked "$(paste "$(commands "$(block_with 'scontrol reconfigure')")" 2>&1)"
    guest_runs_on n2
}

@test "back to stock Slurm: no guest is left, and nothing of ours" {
    # One that waits, which the last step but one has to end.
    submit --guest --hold --wrap true
    local stop
    stop=$(block_with 'disable --now')
    [ "$(in_state PD)" -gt 0 ]
    paste "$(commands "$stop")"
    wait_until 60 no_guests
    clean_nodes
    put slurm.conf < "$(ETC slurm.conf.saved)"
    put plugstack.conf < /dev/null
    paste "$(commands $((stop + 1)))"
    wait_until 60 nodes_are_up
    # As packages are removed: nothing that runs needs a file of ours.
    mv "$HPCB_SANDBOX_DIR/inst" "$HPCB_SANDBOX_DIR/removed"
    wait_until 300 queue_empty
    p=$(submit --wrap 'srun true')
    wait_for_end "$p" 60
    [ "$(state_of "$p")" = COMPLETED ]
    clean_nodes
}

# Over for Slurm within SLACK seconds after the task's end, and started within SLACK after a
# core was free.
not_delayed() { # not_delayed JOBS CORES SLACK < sacct
    python3 -c '
import datetime, sys
jobs, cores, slack = map(int, sys.argv[1:4])

def seconds(text):
    return int(datetime.datetime.fromisoformat(text).timestamp())

rows = [line.rstrip("\n").split("|") for line in sys.stdin]
wrong = [row for row in rows if row[2] != "COMPLETED"]
assert not wrong and len(rows) == len({row[0] for row in rows}) == jobs, (len(rows), wrong)
starts, ends = (sorted(seconds(row[at]) for row in rows) for at in (3, 4))
late = {}
for row in rows:
    with open(f"{sys.argv[4]}/{row[1]}") as stream:
        late[row[0]] = seconds(row[4]) - int(stream.read())
waited = max(start - end for start, end in zip(starts[cores:], ends))
print(f"# {jobs} primaries COMPLETED once each in {ends[-1] - starts[0]} s; none was over for Slurm "
      f"more than {max(late.values())} s after its task, a free core waited {waited} s at most")
assert max(late.values()) <= slack and waited <= slack, sorted(late.items(), key=lambda pair: pair[1])[-9:]
' "$@"
}

@test "no primary was lost, requeued or delayed" {
    said=$(as_root sacct -X -n -P -D --name=pilot -S 2020-01-01 -o JobID,JobIDRaw,State,Start,End |
        not_delayed 100 $((2 * CORES)) "$(secs 15)" "$WORK/ends")
    echo "$said" >&3
}
