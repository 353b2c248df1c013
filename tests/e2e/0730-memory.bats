#!/usr/bin/env bats
# Memory of guests with GuestMemory=unused, where primaries hold all memory on paper: the
# controller's side.  tests/e2e/live.py writes what nodes report, into a directory that
# slurmctld reads in the place of the collector's.
# Two nodes of one core and two GPUs (device files of the sandbox) each.

load helpers
load guest

setup_file() {
    cluster_up --gres gpu:2 || return 1
    export CTLD_LOG=$HPCB_SANDBOX_DIR/log/slurmctld.log
    export CONF=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf
    export LIVE=$HPCB_SANDBOX_DIR/live-test
    export MEMORY
    MEMORY=$(as_root scontrol -o show node n1 | sed -n 's/.* RealMemory=\([0-9]*\).*/\1/p')
    mkdir -p "$LIVE"
    sed -i '/^CollectorDir=/d' "$CONF"
    echo CollectorDir=/run/hpcb/live-test >> "$CONF"
    report "n1 $MEMORY 1" "n2 $MEMORY 1"
    "$HPCB_TOP/tests/e2e/live.py" "$LIVE" 3>&- > /dev/null 2>&1 &
    echo $! > "$LIVE/pid"
    as_root scontrol reconfigure
    wait_until 10 test -e "$LIVE/live"
}
teardown_file() {
    kill "$(cat "$LIVE/pid")"
    cluster_down
}
setup() {
    has_select || skip "the select plugin is not built (--with-slurm-src)"
    cancel_all
    report "n1 $MEMORY 1" "n2 $MEMORY 1"
    log_lines=$(wc -l < "$CTLD_LOG")
}

has_select() {
    run_in_node ctl test -e "$(as_root scontrol show config |
        sed -n 's/^PluginDir *= \([^:]*\):.*/\1/p')/select_cons_tres.so"
}

report() { # report LINE...: what the nodes report from now on
    printf '%s\n' "$@" > "$LIVE/reports.new" && mv "$LIVE/reports.new" "$LIVE/reports"
}

# Whole nodes, that touch 5 MiB of them.
primary_with_all_memory() {
    primary=$(submit -N2 --exclusive --mem=0 --wrap "sleep $(secs 300)") || return 1
    wait_for_state "$primary" RUNNING 20 || return 1
    report "n1 $MEMORY 1 $primary:primary:5" "n2 $MEMORY 1 $primary:primary:5"
}

# What slurmctld says that primaries hold of the node, in MiB.
allocated() { as_root scontrol -o show node "$1" | sed -n 's/.* AllocMem=\([0-9]*\).*/\1/p'; }

# Since the case began: stock Slurm may complain of guests that it found (case 8).
log_is_clean() {
    not grep -E 'overallocated|under-?allocated|underflow' <(tail -n +$((log_lines + 1)) "$CTLD_LOG")
}

restart_slurmctld() {
    run_in_node ctl /run/hpcb/lib/daemon restart slurmctld
    wait_until 20 answers
}
answers() { as_root scontrol ping | grep -q 'is UP'; }

@test "a guest beside a primary with --exclusive --mem=0 starts within 10 s" {
    primary_with_all_memory
    guest=$(submit --guest -N2 -n2 --mem=512 --wrap "sleep $(secs 300)")
    wait_for_state "$guest" RUNNING 10
    wait_for_state "$primary" RUNNING 1
    [ "$(allocated n1)" = "$MEMORY" ]
    log_is_clean
}

@test "a primary with --exclusive --mem=0 starts at once where a guest is, which stays" {
    guest=$(submit --guest -N2 -n2 --mem=$((MEMORY / 2)) --wrap "sleep $(secs 300)")
    wait_for_state "$guest" RUNNING 20
    [ "$(allocated n1)" = 0 ]
    primary=$(submit -N2 --exclusive --mem=0 --wrap "sleep $(secs 300)")
    wait_for_state "$primary" RUNNING 10
    wait_for_state "$guest" RUNNING 1
    [ "$(job_field "$guest" Restarts)" = 0 ]
    [ "$(allocated n1)" = "$MEMORY" ]
    log_is_clean
}

@test "a CPU guest beside a primary with all GPUs and all memory starts within 10 s" {
    primary=$(OUT=$WORK/gpus submit -N1 -w n1 --exclusive --mem=0 --gres=gpu:2 \
        --wrap "echo gpus \$CUDA_VISIBLE_DEVICES; sleep $(secs 300)")
    wait_for_state "$primary" RUNNING 20
    report "n1 $MEMORY 1 $primary:primary:5" "n2 $MEMORY 1"
    guest=$(OUT=$WORK/none submit --guest -n1 -w n1 --mem=512 \
        --wrap "echo gpus \$CUDA_VISIBLE_DEVICES; sleep $(secs 300)")
    wait_for_state "$guest" RUNNING 10
    wait_until 10 grep -qx 'gpus' "$WORK/none"
    grep -qx 'gpus 0,1' "$WORK/gpus"
    # And the other way round.
    as_root scancel "$primary"
    wait_until 20 holds n1 0
    primary=$(submit -N1 -w n1 --exclusive --mem=0 --gres=gpu:2 --wrap "sleep $(secs 300)")
    wait_for_state "$primary" RUNNING 10
    wait_for_state "$guest" RUNNING 1
    [ "$(job_field "$guest" Restarts)" = 0 ]
    log_is_clean
}

@test "guests never get more than is lent, and nothing while nodes are silent" {
    primary_with_all_memory
    half=$((MEMORY * 55 / 100))
    first=$(submit --guest -w n1 -n1 --mem=$half --wrap "sleep $(secs 300)")
    wait_for_state "$first" RUNNING 10
    second=$(submit --guest -w n1 -n1 --mem=$half --wrap "sleep $(secs 300)")
    report "n1 $MEMORY 0" "n2 $MEMORY 0"
    sleep "$(secs 3)" # until slurmctld has read it
    third=$(submit --guest -w n2 -n1 --mem=100 --wrap "sleep $(secs 300)")
    sleep "$(secs 5)"
    [ "$(state_of "$second")" = PENDING ]
    [ "$(state_of "$third")" = PENDING ]
    report "n1 $MEMORY 1 $primary:primary:5" "n2 $MEMORY 1 $primary:primary:5"
    wait_for_state "$third" RUNNING 10
    [ "$(state_of "$second")" = PENDING ]
    log_is_clean
}

@test "a primary that uses its memory leaves nothing to lend" {
    primary_with_all_memory
    report "n1 $MEMORY 1 $primary:primary:$MEMORY" "n2 $MEMORY 1 $primary:primary:5"
    sleep "$(secs 3)"
    full=$(submit --guest -w n1 -n1 --mem=100 --wrap "sleep $(secs 300)")
    free=$(submit --guest -w n2 -n1 --mem=100 --wrap "sleep $(secs 300)")
    wait_for_state "$free" RUNNING 10
    [ "$(state_of "$full")" = PENDING ]
}

@test "restart and reconfiguration of slurmctld with guests and primaries" {
    primary_with_all_memory
    guest=$(submit --guest -N2 -n2 --mem=$((MEMORY / 2)) --wrap "sleep $(secs 300)")
    wait_for_state "$guest" RUNNING 10
    restart_slurmctld
    [ "$(allocated n1)" = "$MEMORY" ]
    as_root scontrol reconfigure
    [ "$(allocated n1)" = "$MEMORY" ]
    as_root scancel "$primary"
    wait_until 20 holds n1 0
    next=$(submit -N2 --exclusive --mem=0 --wrap "sleep $(secs 300)")
    wait_for_state "$next" RUNNING 20
    wait_for_state "$guest" RUNNING 1
    as_root scancel "$guest" "$next"
    wait_until 20 holds n1 0
    log_is_clean
}
holds() { [ "$(allocated "$1")" = "$2" ]; } # holds NODE MIB

@test "steps of a guest have the memory that it asked for" {
    primary_with_all_memory
    guest=$(OUT=$WORK/steps submit --guest -w n1 -n1 --mem=300 --wrap 'srun sh -c "echo mem \$SLURM_MEM_PER_NODE"')
    wait_for_state "$guest" COMPLETED 20
    grep -qx 'mem 300' "$WORK/steps"
}

@test "without the plugin slurmctld keeps guests that run" {
    primary_with_all_memory
    guest=$(submit --guest -N2 -n2 --mem=512 --wrap "sleep $(secs 300)")
    wait_for_state "$guest" RUNNING 10
    cp "$HPCB_SANDBOX_DIR/etc/slurm.conf" "$WORK/slurm.conf"
    sed -i 's/^PluginDir=[^:]*:/PluginDir=/; s/^JobSubmitPlugins=.*//; s/^PreemptType=.*/PreemptType=preempt\/none/; s/^PreemptMode=.*//' \
        "$HPCB_SANDBOX_DIR/etc/slurm.conf"
    restart_slurmctld
    [ "$(state_of "$guest")" = RUNNING ]
    [ "$(state_of "$primary")" = RUNNING ]
    cp "$WORK/slurm.conf" "$HPCB_SANDBOX_DIR/etc/slurm.conf"
    restart_slurmctld
    [ "$(state_of "$guest")" = RUNNING ]
    [ "$(allocated n1)" = "$MEMORY" ]
}

# Slurm refuses CR_Socket_Memory on the sandbox's nodes, which have CPUs of their own
# (CpuSpecList).
@test "other usual settings: CPUs as what is counted, a limit of memory" {
    cp "$HPCB_SANDBOX_DIR/etc/slurm.conf" "$WORK/slurm.conf"
    sed -e 's/^SelectTypeParameters=.*/SelectTypeParameters=CR_CPU_Memory/' \
        -e "1iMaxMemPerNode=$MEMORY" "$WORK/slurm.conf" > "$HPCB_SANDBOX_DIR/etc/slurm.conf"
    restart_slurmctld
    primary_with_all_memory
    guest=$(submit --guest -N2 -n2 --mem=512 --wrap "sleep $(secs 300)")
    wait_for_state "$guest" RUNNING 20
    [ "$(allocated n1)" = "$MEMORY" ]
    cancel_all
    wait_until 20 holds n1 0
    cp "$WORK/slurm.conf" "$HPCB_SANDBOX_DIR/etc/slurm.conf"
    restart_slurmctld
    log_is_clean
}

@test "hpcbctl check says which mode is in force, and why" {
    wait_until 5 check_says 'GuestMemory=unused: 2 of 2 nodes'
    report "n1 $MEMORY 0" "n2 $MEMORY 0"
    wait_until 5 check_says 'works as allocated: none of 2 nodes'
}
check_says() { as_root hpcbctl check --json | grep -q "$1"; }
