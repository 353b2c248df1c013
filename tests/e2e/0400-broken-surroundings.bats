#!/usr/bin/env bats
# Broken surroundings: primaries run as without us, guests never run beside one at full
# priority, no daemon dies, no node drains, and the log says so once.

load helpers
load guest

setup_file() { cluster_up; }
teardown_file() { cluster_down; }
setup() { cancel_all; }
teardown() { mend; assert_alive; }

CONF() { echo "$HPCB_SANDBOX_DIR/etc/hpc-balance.conf"; }

mend() {
    local n
    [ ! -e "$(CONF).saved" ] || { rm -rf "$(CONF)"; mv "$(CONF).saved" "$(CONF)"; }
    for n in 1 2; do
        run_in_node "$(node_name $n)" bash -c '
            mount -o remount,rw,bind /sys/fs/cgroup/cpu 2>/dev/null
            umount /run/hpc-balance-broken 2>/dev/null
            ! grep -q "^hpcb-full " /proc/mounts || umount -l /run/hpc-balance
            mount -o remount,rw /run/hpc-balance 2>/dev/null' || true
    done
}

assert_alive() {
    local states
    states=$(as_root sinfo -h -o %T)
    echo "nodes: $states"
    not grep -qE 'down|drain|fail' <<< "$states"
}

# What a job's script says to wait until the test touches $WORK/NAME.
until_told() { # until_told NAME
    rm -f "$WORK/$1"
    echo "until [ -e $WORK/$1 ]; do sleep 0.2; done"
}

# A primary and a guest on node 1; their outputs are left in $primary_out, $guest_out.
run_both() {
    local p g
    p=$(OUT=$WORK/p-%j submit -n1 -w "$(node_name 1)" -t"$(secs 2)" --wrap "echo started; $PROBE")
    g=$(OUT=$WORK/g-%j submit -p guest --guest -n1 -w "$(node_name 1)" -t"$(secs 2)" --wrap "echo started; $PROBE")
    wait_for_end "$p" 40
    wait_for_end "$g" 40
    primary_out=$(cat "$WORK/p-$p")
    guest_out=$(cat "$WORK/g-$g")
    printf 'primary: %s\nguest: %s\n' "$primary_out" "$guest_out"
}

@test "configuration missing: the primary runs, the guest is a guest" {
    mv "$(CONF)" "$(CONF).saved"
    run_both
    grep -qx started <<< "$primary_out"
    not grep -q hpc_balance <<< "$primary_out"
    assert_probe_guest "$guest_out"
}

@test "configuration unreadable (junk): the primary runs, the guest is a guest" {
    cp "$(CONF)" "$(CONF).saved"
    head -c 2000 /dev/urandom > "$(CONF)"
    run_both
    grep -qx started <<< "$primary_out"
    not grep -q hpc_balance <<< "$primary_out"
    assert_probe_guest "$guest_out"
}

@test "a directory in the place of the configuration: likewise" {
    mv "$(CONF)" "$(CONF).saved"
    mkdir "$(CONF)"
    run_both
    grep -qx started <<< "$primary_out"
    assert_probe_guest "$guest_out"
}

@test "GuestPartition changed, slurmctld not reconfigured: guests are guests" {
    cp "$(CONF)" "$(CONF).saved"
    sed -i 's/^GuestPartition=.*/GuestPartition=other/' "$(CONF)"
    sleep "$(secs 2)"
    run_both
    grep -qx started <<< "$primary_out"
    not grep -q 'idle=1' <<< "$primary_out"
    assert_probe_guest "$guest_out"
}

@test "read-only cgroup mount: no mechanism verifies, the guest ends before user code" {
    needs_cgroup 1 "where Slurm cannot write to cgroups no job starts, primary or guest"
    autogroup=$(cat /proc/sys/kernel/sched_autogroup_enabled 2> /dev/null || echo 0)
    [ "$autogroup" = 1 ] || skip "without autogroup SCHED_IDLE verifies"
    run_in_node "$(node_name 1)" mount -o remount,ro,bind /sys/fs/cgroup/cpu
    run run_in_node "$(node_name 1)" mkdir /sys/fs/cgroup/cpu/hpcb_writable
    grep -q 'Read-only' <<< "$output"
    run_both
    run_in_node "$(node_name 1)" grep ' /sys/fs/cgroup/cpu ' /proc/self/mountinfo
    grep -qx started <<< "$primary_out"
    # In a child cpu group (tests/platforms) there is no autogroup: SCHED_IDLE verifies.
    if ! run_in_node "$(node_name 1)" test -e /sys/fs/cgroup/cpu/release_agent; then
        grep -q 'policy=5$' <<< "$guest_out"
        return
    fi
    not grep -qx started <<< "$guest_out"
    [ "$(grep -c 'hpc_balance: ' <<< "$guest_out")" -eq 1 ]
}

@test "no record of the job: the primary runs, a step of the guest is a guest" {
    run_in_node "$(node_name 1)" mount -o remount,ro /run/hpc-balance ||
        run_in_node "$(node_name 1)" mount --bind -o ro /run/hpc-balance /run/hpc-balance
    run_both
    grep -qx started <<< "$primary_out"
    assert_probe_guest "$guest_out"
}

# StateDir of node 1 on a tmpfs without a free byte: both prologs fail to write.
fill_state() {
    run_in_node "$(node_name 1)" bash -c '
        mount -t tmpfs -o size=64k,mode=755 hpcb-full /run/hpc-balance
        mkdir /run/hpc-balance/jobs
        cat /dev/zero > /run/hpc-balance/filler 2> /dev/null
        ! echo x 2> /dev/null > /run/hpc-balance/jobs/one'
}

# A first step that says of itself that it is no guest's.
write_forger() {
    cat > "$WORK/forger" <<EOF
#!/bin/bash
exec env -i PATH="\$PATH" \${SLURM_CONF:+SLURM_CONF="\$SLURM_CONF"} SLURM_JOB_ID="\$SLURM_JOB_ID" \\
    SLURM_JOB_PARTITION=primary SPANK_HPCB_CLASS=primary srun -n1 $PROBE
EOF
    chmod 755 "$WORK/forger"
}

@test "StateDir on a full tmpfs: the primary runs, and no step of a guest is a primary's" {
    marks > "$BATS_TEST_TMPDIR/before"
    fill_state
    write_forger
    for who in "--guest" "-p guest"; do
        # shellcheck disable=SC2086 # a word or two
        run as_user timeout -k 5 "$(secs 60)" salloc -Q $who -w "$(node_name 1)" -n1 "$WORK/forger"
        echo "$output"
        [ "$status" -eq 0 ]
        assert_probe_guest "$output"
    done
    run_both
    grep -qx started <<< "$primary_out"
    not grep -qE 'hpc_balance|idle=1' <<< "$primary_out"
    assert_probe_guest "$guest_out"
    grep -q 'hpc_balance: job .*No space left' "$(slurmd_log 1)"
    cancel_all
    # The marks go with their jobs; the nodes see the host's groups, with what is in them.
    wait_until 20 no_new_marks
}

marks() {
    run_in_node "$(node_name 1)" find -L /sys/fs/cgroup -maxdepth 3 -name 'guest_[0-9]*' 2> /dev/null | sort
}

no_new_marks() {
    local left
    left=$(comm -13 "$BATS_TEST_TMPDIR/before" <(marks))
    echo "$left"
    [ -z "$left" ]
}

@test "and no cgroup can be made: a guest does not start, what runs goes on" {
    needs_cgroup 1 "where Slurm cannot write to cgroups no job starts, primary or guest"
    fill_state
    run_in_node "$(node_name 1)" mount -o remount,ro,bind /sys/fs/cgroup/cpu
    # What no record tells of counts with all its memory.
    p=$(OUT=$WORK/p-%j submit -n1 --mem=100 -w "$(node_name 1)" -t"$(secs 2)" --wrap "echo started; $(until_told p); echo ended")
    wait_until 20 grep -q started "$WORK/p-$p"
    g=$(OUT=$WORK/g-%j submit --guest -n1 -w "$(node_name 1)" -t"$(secs 2)" --wrap "echo started; $PROBE")
    wait_until 20 grep -q "guest job $g is refused: this node can neither record nor mark it" "$(slurmd_log 1)"
    wait_until 20 node_drains
    as_root scancel "$g"
    touch "$WORK/p"
    wait_for_end "$p" 60
    grep -q ended "$WORK/p-$p"
    [ ! -e "$WORK/g-$g" ] || not grep -q started "$WORK/g-$g"
    mend
    as_root scontrol update nodename="$(node_name 1)" state=resume
    wait_until 20 node_is_back
}

node_drains() { as_root sinfo -h -n "$(node_name 1)" -o %T | grep -q drain; }
node_is_back() { not node_drains; }

@test "the record vanishes while the job runs: its later steps are guests" {
    g=$(OUT=$WORK/g-%j submit --guest -n1 -w "$(node_name 1)" -t"$(secs 2)" \
        --wrap "$(until_told go); srun --overlap $PROBE")
    wait_for_state "$g" RUNNING 20
    # slurmctld does not wait for the prolog.
    wait_until 10 run_in_node "$(node_name 1)" test -e "/run/hpc-balance/jobs/$g"
    run_in_node "$(node_name 1)" rm "/run/hpc-balance/jobs/$g"
    touch "$WORK/go"
    wait_for_end "$g" 40
    assert_probe_guest "$(cat "$WORK/g-$g")"
}

@test "release and lost groups while jobs run: they end well and are recorded" {
    g=$(OUT=$WORK/g-%j submit --guest -n1 -w "$(node_name 1)" -t"$(secs 2)" --wrap "$(until_told released); echo ended")
    wait_for_state "$g" RUNNING 20
    wait_until 5 guest_isolated "$g"
    run_in_node "$(node_name 1)" hpcbctl release
    touch "$WORK/released"
    wait_for_end "$g" 40
    grep -q ended "$WORK/g-$g"
    [ "$(job_state "$g")" = COMPLETED ]
}

# slurmctld does not keep salloc and batch jobs waiting for it (PrologFlags=NoHold).
@test "a slow prolog: no step of a guest begins before its class is on record" {
    prolog=$HPCB_SANDBOX_DIR/inst/libexec/hpc-balance/prolog
    [ -e "$prolog" ] || skip "needs the prolog of a source tree"
    cp -p "$prolog" "$WORK/prolog.saved"
    sed -i "2i sleep $(secs 4)" "$prolog"
    run as_user timeout -k 5 "$(secs 60)" salloc -Q -p guest -N2 -n2 srun "$PROBE"
    g=$(OUT=$WORK/slow-%j submit -p guest -N2 -n2 --wrap "$PROBE; srun $PROBE")
    wait_for_end "$g" 60
    cat "$WORK/prolog.saved" > "$prolog"
    echo "$output" "$(cat "$WORK/slow-$g")"
    [ "$status" -eq 0 ] && [ "$(grep -c ^probe <<< "$output")" -eq 2 ]
    [ "$(grep -c ^probe "$WORK/slow-$g")" -eq 3 ]
    assert_probe_guest "$output"
    assert_probe_guest "$(cat "$WORK/slow-$g")"
    assert_alive
}

@test "slurmd killed and restarted while a guest runs: it stays a guest, its end is recorded" {
    g=$(OUT=$WORK/g-%j submit --guest -n1 -w "$(node_name 1)" -t"$(secs 5)" --wrap "$(until_told restarted); $PROBE")
    wait_for_state "$g" RUNNING 20
    restart_slurmd 1
    wait_until 5 guest_isolated "$g"
    touch "$WORK/restarted"
    wait_for_end "$g" 60
    assert_probe_guest "$(cat "$WORK/g-$g")"
}

@test "the log says what is broken once per daemon, not once per task" {
    mv "$(CONF)" "$(CONF).saved"
    mkdir "$(CONF)"
    p=$(submit -n1 -w "$(node_name 1)" -t"$(secs 2)" --wrap 'for i in 1 2 3; do srun --overlap true; done')
    wait_for_end "$p" 40
    n=$(grep -c "\[$p\..*hpc_balance: .*hpc-balance.conf" "$(slurmd_log 1)" || true)
    echo "lines: $n"
    # batch and three steps: a slurmstepd each
    [ "$n" -le 4 ]
}

# A guest of many small pages, each in several processes: idle beside a busy primary, the
# kernel takes minutes to take it apart, and Slurm drains the node when it has waited too
# long.
@test "a large guest that is cancelled beside a busy primary goes, and the node stays" {
    memory=$(($(node_memory) * 3 / 4))
    [ $memory -ge 400 ] || skip "a node has less than 530 MB here"
    [ $memory -le 1100 ] || memory=1100
    p=$(submit -n1 -w "$(node_name 1)" -t"$(secs 3)" --wrap 'while :; do :; done')
    g=$(OUT=$WORK/g-%j submit --guest -n1 -w "$(node_name 1)" -t"$(secs 3)" --mem=${memory}M --wrap \
        "exec python3 -c 'import ctypes, os, time
PR_SET_THP_DISABLE = 41
ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
pages = ($memory - 80) << 8
b = bytearray(pages << 12)
b[::4096] = bytes(pages)
for _ in range(4):
    os.fork() or time.sleep(1000)
print(\"filled\", flush=True)
time.sleep(1000)'")
    # An idle guest fills its memory slowly too: let the primary pause meanwhile.
    wait_for_state "$g" RUNNING 20
    as_root scontrol suspend "$p"
    wait_until 90 grep -q filled "$WORK/g-$g"
    as_root scontrol resume "$p"
    as_root scancel "$g"
    # Slurm looks for what is left after 1, 3, 7, 15, 31 and 63 s (proctrack/cgroup), on
    # slow machines too.  Without help it is the last of these, or none.
    wait_until $((55 / $(secs 1) + 1)) job_ended "$g"
    wait_for_state "$p" RUNNING 5
}
