#!/usr/bin/env bats
# A node without Slurm's files: slurmd gets them from slurmctld, which does not send ours.

load helpers
load guest

setup_file() {
    echo SlurmctldParameters=enable_configless > "$BATS_FILE_TMPDIR/append"
    cluster_up --append "$BATS_FILE_TMPDIR/append" || return 1
    run_in_node n1 /run/hpcb/lib/daemon stop slurmd
    run_in_node n1 bash -c 'mkdir /run/etc && cp /etc/slurm/hpc-balance.conf /run/etc &&
        mount --bind /run/etc /etc/slurm'
    run_in_node n1 /run/hpcb/lib/daemon start slurmd
    wait_until 60 asked_slurmctld
}
teardown_file() { cluster_down; }
setup() { cancel_all; }

# The sandbox's own environment names a slurm.conf.
on_node() { run_in_node n1 env -u SLURM_CONF "$@"; }

asked_slurmctld() { run_in_node n1 test -s /run/slurmd/conf-cache/slurm.conf; }

record_of() { # record_of JOB: in the directory that our file names
    local spool=$HPCB_SANDBOX_DIR/spool/hpc-balance/n1
    cat "$spool/records/$1".*.n1.json 2> /dev/null || cat "$spool/sent/$1".*.n1.json
}

# A job is running for Slurm before its prolog has ended.
is_lowered() { # is_lowered JOB
    on_node hpcbctl status --json | python3 -c '
import json, sys
job, = [job for job in json.load(sys.stdin)["jobs"] if job["job_id"] == int(sys.argv[1])]
assert job["class"] == "guest" and job["mechanism"] and not job["exposed"], job
' "$1"
}

@test "the node has no slurm.conf of its own, and ours is not sent to it" {
    run_in_node n1 test ! -e /etc/slurm/slurm.conf
    run_in_node n1 test ! -e /run/slurmd/conf-cache/hpc-balance.conf
}

@test "a guest is lowered there, and its record is where our file says" {
    g=$(submit --guest -n1 -w n1 --wrap 'sleep 3; srun sleep 3')
    wait_until 30 is_lowered "$g"
    on_node hpcbctl status --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
assert found["configuration"] == "/etc/slurm/hpc-balance.conf", found["configuration"]
'
    wait_for_end "$g" 60
    [ "$(state_of "$g")" = COMPLETED ]
    wait_until 30 record_of "$g"
}

@test "hpcbctl check: nothing failed on it" {
    said=$(on_node hpcbctl check) || true
    echo "$said"
    grep -q ' 0 failed$' <<< "$said"
}
