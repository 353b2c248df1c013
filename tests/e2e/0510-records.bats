#!/usr/bin/env bats
# No record is lost or doubled on its way from the nodes to the collector's database, and
# nobody but root puts anything there.  HPCB_RECORDS_JOBS (default 100) jobs run through
# the storm.

load helpers
load guest

setup_file() {
    # A requeued job waits until the credential of the run before has expired, which is
    # two minutes else.
    echo "AuthInfo=cred_expire=$(secs 10)" > "$BATS_FILE_TMPDIR/append"
    cluster_up --fake-cpus 16 --append "$BATS_FILE_TMPDIR/append"
    export COLLECTOR=$HPCB_SANDBOX_DIR/collector
    export JOBS=${HPCB_RECORDS_JOBS:-100}
    note_prologs
}

# The nodes write down, apart from us, which prologs have run.
note_prologs() {
    local prolog=$HPCB_SANDBOX_DIR/inst/libexec/hpc-balance/prolog
    [ -e "$prolog" ] || return 0
    export PROLOGS=$WORK/prologs
    : > "$PROLOGS"
    sed -i "2i echo \"\$SLURM_JOB_ID \${SLURM_JOB_RESTART_COUNT:-0}\" >> $PROLOGS" "$prolog"
}
teardown_file() { cluster_down; }
setup() { cancel_all; }

# All runs that the collector has, a line each.
runs() { as_root hpcb-report --records=/run/hpcb/collector --export=jsonl; }

# The job's last run.
record_of() { # record_of JOB
    runs | grep "\"job_id\":$1," | tail -n 1 | grep .
}

field() { python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

collector() { as_root /run/hpcb/lib/daemon "$1" collector; }

kill_collector() {
    # shellcheck disable=SC2016 # expanded on the controller
    as_root bash -c 'kill -9 "$(cat /run/pids/collector)"; sleep 0.1'
    collector start
}

kill_hpcbd() { # kill_hpcbd NODE
    # shellcheck disable=SC2016 # expanded in the node
    run_in_node "$1" bash -c 'kill -9 "$(cat /run/pids/hpcbd)"; sleep 0.1'
    run_in_node "$1" /run/hpcb/lib/daemon start hpcbd
}

# Nothing waits on a node.
spools_empty() {
    local n
    for n in n1 n2; do
        # shellcheck disable=SC2016 # expanded in the node
        [ -z "$(run_in_node $n sh -c 'ls /run/hpcb/spool/hpc-balance/$0/records /run/hpc-balance/records 2> /dev/null | grep json' $n)" ] || return 1
    done
}

sacct_lines() {
    as_root sacct -a -n -P -D -S now-1days -o JobIDRaw,State,TotalCPU,NNodes,Start > "$WORK/sacct"
}

agrees() {
    sacct_lines
    runs > "$WORK/runs"
    python3 "$HPCB_TOP/tests/e2e/records.py" "$WORK/runs" "$WORK/sacct" ${PROLOGS:+"$PROLOGS"} > "$WORK/difference"
}

@test "a job of two nodes is one line with what it was" {
    job=$(submit -N2 -n2 -J two-nodes --wrap 'srun true')
    wait_for_end "$job" 60
    wait_until 30 record_of "$job"
    r=$(record_of "$job")
    echo "$r"
    [ "$(field complete <<< "$r")" = True ]
    [ "$(field nodes <<< "$r")" = 2 ]
    [ "$(field class <<< "$r")" = primary ]
    [ "$(field user <<< "$r")" = "$(sandbox_user)" ]
    [ "$(field restart <<< "$r")" = 0 ]
}

@test "AdminComment gets the figures, and keeps the rest" {
    job=$(submit --guest -n1 --wrap true)
    wait_for_end "$job" 60
    wait_until 60 has_figures "$job"
    as_root sacct -X -n -P -j "$job" -o AdminComment | grep '"class":"guest"'
}

has_figures() { as_root sacct -X -n -P -j "$1" -o AdminComment | grep -q '"wall":'; }

@test "users can neither read, write nor reach what is not theirs" {
    spool=/run/hpcb/spool/hpc-balance
    for path in /run/hpcb/collector /run/hpcb/collector/records $spool $spool/n1 $spool/n1/records; do
        not as_user touch "$path/forged.json"
    done
    # shellcheck disable=SC2016 # expanded by the user's shell
    not as_user bash -c 'for f in /run/hpcb/collector/records/*; do echo >> "$f" && exit 0; done; exit 1'
    for path in /run/hpcb/collector/records $spool/n1/records $spool/n1/sent /run/hpc-balance/records; do
        not as_user ls $path
        not run_in_node n1 setpriv --reuid 65534 --regid 65534 --clear-groups ls $path
    done
    before=$(count_runs)
    # A well-formed request in a good credential, but of an ordinary user.
    cat > "$WORK/forge.py" <<'END'
import socket, struct, subprocess, sys
def silent(payload):
    """Whether what was sent gets no answer."""
    s = socket.create_connection(("ctl", 6823), 10)
    try:
        s.sendall(payload)
        return not s.recv(1)
    except ConnectionError:
        return True
record = ('{"version":1,"job_id":99999,"node":"n1","cluster":"x","class":"guest","policy":"none",'
          '"user_id":0,"partition":"p","begin":1,"end":2,"wall_seconds":1,"cpus":1,"cpu_seconds":1,'
          '"run_delay_seconds":0,"memory_peak_bytes":0,"nodes":1}')
text = '{"version":1,"type":"records","nonce":"a","records":[{"id":"x.json","record":%s}]}' % record
for payload in (subprocess.run(["munge", "-n", "-U", "0"], input=text.encode(), stdout=-1).stdout.strip(b"\0\n"),
                subprocess.run(["munge", "-n"], input=text.encode(), stdout=-1).stdout.strip(b"\0\n"),
                text.encode(), b"rubbish" * 1000):
    if not silent(b"HPB1" + struct.pack(">I", len(payload)) + payload):
        sys.exit("an answer")
for junk in (b"GET / HTTP/1.0\r\n\r\n", b"HPB1\xff\xff\xff\xff", b"HPB1\0\0\0\0"):
    if not silent(junk):
        sys.exit("an answer")
END
    as_user python3 "$WORK/forge.py"
    [ "$(count_runs)" = "$before" ]
    not record_of 99999
    wait_until 10 grep -q '"refused_credentials":[1-9]' "$COLLECTOR/stats.json"
    grep -q '"malformed_frames":[1-9]' "$COLLECTOR/stats.json"
}

count_runs() { runs | wc -l; }

BURN='python3 -c "import time
while time.process_time() < 1: pass"'

@test "jobs of many shapes: CPU time is sacct's" {
    {
        submit -n1 --wrap "$BURN"
        submit --guest -n1 --wrap "$BURN"
        submit -n1 --wrap "srun $BURN; srun $BURN"
        submit -N2 -n2 --wrap "srun $BURN"
        submit -n1 --wrap "$BURN & $BURN & wait"
        submit -n1 --wrap "for i in 1 2 3; do ($BURN) & done; wait; exit 3"
        submit -n1 --wrap "$BURN; false"
        submit --array=0-3 -n1 --wrap "$BURN"
        submit -N2 -n4 --wrap "srun -n4 $BURN; srun -n1 -N1 true"
    } > "$WORK/shapes"
    wait_until 100 queue_empty
    wait_until 60 spools_empty
    wait_until 30 agrees || explain
    cat "$WORK/difference"
}

@test "a primary's record says which guests were beside it" {
    before=$(submit --guest -w n1 -n1 --wrap "$BURN; touch $WORK/burnt; sleep 100")
    wait_until 60 test -e "$WORK/burnt"
    job=$(submit -w n1 -n1 --wrap 'sleep 8')
    wait_for_state "$job" RUNNING 30
    meanwhile=$(submit --guest -w n1 -n1 --wrap "$BURN")
    wait_for_end "$meanwhile" 60
    wait_for_end "$job" 60
    as_root scancel "$before"
    wait_until 30 record_of "$job"
    r=$(record_of "$job")
    echo "$r"
    [ "$(field guests_beside <<< "$r")" = 2 ]
    # One second of the second one; the first one's was before.
    python3 -c 'import sys; assert 1 <= float(sys.argv[1]) < 1.6, sys.argv' "$(field guest_cpu_seconds <<< "$r")"
    [ "$(record_of "$meanwhile" | field guests_beside)" = None ]
    wait_until 60 has_figures "$job"
    [ "$(as_root hpcb-sacct -X -n -P -j "$job" --format=JobID,Guests)" = "$job|2" ]
}

@test "the database is whole; users read it if their group has it" {
    as_root hpcbctl records verify
    not as_user hpcbctl records verify
    not as_user hpcb-report --records=/run/hpcb/collector --export=jsonl
    as_root chgrp -R "$(as_user id -g)" /run/hpcb/collector/records
    before=$(count_runs)
    [ "$(as_user hpcb-report --records=/run/hpcb/collector --export=jsonl | wc -l)" = "$before" ]
    as_user hpcbctl records verify
    as_root chgrp -R 0 /run/hpcb/collector/records
}

@test "each run of a requeued job is one line" {
    job=$(submit -n1 --requeue --wrap "$BURN; [ \"\${SLURM_RESTART_COUNT:-0}\" != 0 ] || { scontrol requeue \$SLURM_JOB_ID; sleep 30; }")
    wait_until 90 runs_of_job "$job" 2
    wait_until 30 agrees || explain
    [ "$(record_of "$job" | field restart)" = 1 ]
}

runs_of_job() { # runs_of_job JOB NUMBER
    [ "$(runs | grep -c "\"job_id\":$1,")" -ge "$2" ]
}

# What everybody says of the jobs that differ.
explain() {
    local job
    cat "$WORK/difference" "$HPCB_SANDBOX_DIR"/log/{collector,hpcbd*}.log
    as_root sacct -a -n -P -D -S now-1days -o \
        JobIDRaw,State,Submit,Eligible,Start,End,NNodes,DBIndex > "$WORK/rows"
    for job in $(sed -n 's/^job \([0-9]*\):.*/\1/p' "$WORK/difference" | head -n 5); do
        echo "--- job $job: prologs; sacct; the collector; slurmctld"
        [ -z "${PROLOGS:-}" ] || grep "^$job " "$PROLOGS" || true
        grep -E "^${job}[|.]" "$WORK/rows" || true
        runs | grep "\"job_id\":$job," || true
        grep -E "JobId=([0-9_]+\()?$job\b" "$HPCB_SANDBOX_DIR/log/slurmctld.log" || true
    done
    return 1
}

# Everything goes wrong while short jobs come and go.  Of time, records have what prolog
# and epilog read, which is stepped on one node; the daemons go by a clock that cannot be.
# Where the memory for primaries is short, guests are requeued.
@test "a storm of jobs: nothing is lost or doubled" {
    cc -shared -fPIC -o "$WORK/clock_step.so" "$HPCB_TOP/tests/e2e/clock_step.c"
    scripts=$HPCB_SANDBOX_DIR/inst/libexec/hpc-balance
    [ -e "$scripts/epilog" ] || skip "needs the epilog of a source tree"
    sed -i "2i export LD_PRELOAD=$WORK/clock_step.so CLOCK_STEP=/run/clock_step" "$scripts"/{pro,epi}log
    run_in_node n2 mount -t tmpfs -o size=256k,mode=755 tmpfs /run/hpcb/spool/hpc-balance/n2
    kill_hpcbd n2
    each=$((JOBS / 4)) pause=$((JOBS / 200)).5
    submit --array=1-"$each" -n1 --wrap true
    submit --array=1-"$each" --guest -n1 --wrap true
    submit --array=1-"$each" -N2 -n2 --wrap 'srun true'
    submit --array=1-"$each" -n1 --wrap 'exit 1'
    for i in {1..20}; do
        kill_collector
        case $i in
        3) run_in_node n2 dd if=/dev/zero of=/run/hpcb/spool/hpc-balance/n2/full bs=1k count=1000 || true ;;
        5) run_in_node n1 sh -c 'echo 86400 > /run/clock_step' ;;
        7 | 13) kill_hpcbd n1 ;;
        8 | 14) kill_hpcbd n2 ;;
        9) run_in_node n1 sh -c 'echo -86400 > /run/clock_step' ;;
        15) run_in_node n2 rm -f /run/hpcb/spool/hpc-balance/n2/full ;;
        17) run_in_node n1 rm -f /run/clock_step ;;
        esac
        sleep "$pause"
    done
    wait_until $((60 + JOBS)) queue_empty
    wait_until 120 spools_empty
    wait_until 60 agrees || explain
    wait_until 10 test -e "$COLLECTOR/stats.json"
    cat "$WORK/difference" "$COLLECTOR/stats.json" >&3
    grep -q '"refused_records":0,' "$COLLECTOR/stats.json"
}
