# shellcheck shell=bash disable=SC2034,SC2154 # the files of lib/ share variables
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# up: directory, software, configuration, hosts, network, daemons, in this order.
# Whatever fails or interrupts it, everything made so far is removed again.

PATIENCE=120 # seconds for one daemon (times SLOWNESS); an idle machine needs one or two

sandbox_up() {
    local started=$SECONDS
    make_dir
    trap 'up_failed' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    read_cgroups
    prepare_software
    plan_nodes
    install_files || die "cannot write to $DIR"
    write_etc || die "cannot write the configuration"
    start_hosts
    connect_hosts
    start_daemons
    add_state "up=yes"
    trap - EXIT
    echo "hpcb-sandbox: up after $((SECONDS - started)) s in $DIR:" \
        "$NODES nodes of $OPT_CPUS core(s) on cgroup v$CGROUP, user $USER_NAME"
}

up_failed() {
    local rc=$?
    trap '' HUP INT TERM
    say "not up; removing what was made"
    # `down` ends with its own exit code.
    (remove_sandbox)
    exit $((rc ? rc : 1))
}

make_dir() {
    if [ -e "$DIR" ] || [ -L "$DIR" ]; then
        is_ours || is_unused || die "$DIR exists and is not a sandbox's directory"
    fi
    mkdir -p -- "$DIR" && chmod 755 -- "$DIR" || die "cannot make $DIR"
    lock_dir
    if is_ours; then
        load_state || ID=
        # With the lock held, one that never came up is what a killed `up` left behind.
        [ "$UP" = no ] || ! host_pid ctl > /dev/null ||
            die "$DIR: a sandbox is up here already (down ends it)"
        say "cleaning up after an earlier sandbox in $DIR"
        remove_sandbox keep || die "$DIR: what is left of an earlier sandbox cannot be removed"
    fi
    ID=$(new_id) NODES=$OPT_NODES PLAIN=$OPT_PLAIN USER_NAME=hpcb$ID SHARED=no V2_ENABLED=
    add_state "id=$ID" "nodes=$NODES" "plain=$PLAIN" "user=$USER_NAME" "cpus=$OPT_CPUS"
    chmod 644 "$DIR/state"
    mkdir -p "$DIR/log" "$DIR/hosts" "$DIR/spool" "$DIR/db"
}

# A number that no other sandbox of this machine is likely to have.
new_id() {
    local number
    number=$(od -An -N4 -tu4 /dev/urandom)
    echo $((10000 + number % 990000))
}

# Sets CGROUP (1 or 2) and CONTROLLERS, and refuses where nothing can isolate a guest.
read_cgroups() {
    CGROUP=$(cgroup_version)
    [[ $OPT_CGROUP = auto || $OPT_CGROUP = v$CGROUP ]] ||
        die "--cgroup $OPT_CGROUP: this machine has cgroup v$CGROUP"
    CONTROLLERS=$(cgroup_controllers)
    local needed=freezer
    [ "$CGROUP" = 1 ] || needed=cpu
    [[ $CONTROLLERS = *" $needed "* ]] ||
        die "cgroup v$CGROUP: no $needed controller here (there are:$CONTROLLERS)"
    [[ $CONTROLLERS = *" cpuset "* ]] ||
        say "note: no cpuset controller: Slurm does not constrain jobs to their cores"
}

plan_nodes() {
    read_machine
    [ "$OPT_CPUS" -le "$TOTAL_CORES" ] || {
        say "--cpus-per-node $OPT_CPUS: this machine has $TOTAL_CORES core(s)"
        exit 2
    }
    [ $((NODES * OPT_CPUS)) -le "$TOTAL_CORES" ] || {
        say "note: $NODES nodes of $OPT_CPUS core(s) share the $TOTAL_CORES core(s) of this machine"
        add_state "shared=yes"
    }
    NODE_MEMORY=$((MEMORY * 8 / 10 / NODES))
    [ "$NODE_MEMORY" -ge 64 ] || NODE_MEMORY=64
}

# What runs inside a host comes from the sandbox's directory: it stays the same while
# the source tree changes.
install_files() {
    local user
    user=$(slurm_user)
    mkdir -p "$DIR/lib" "$DIR/spool/slurmctld" "$DIR/spool/hpc-balance" "$DIR/collector"
    cp -- "$HERE/enter" "$HERE/daemon" "$DIR/lib/" && chmod 755 "$DIR"/lib/* &&
        chmod 700 "$DIR/db" &&
        chown "$user": "$DIR/log" "$DIR/db" "$DIR/spool/slurmctld"
}

start_hosts() {
    local host
    if [ "$CGROUP" = 2 ]; then
        V2_ENABLED=$(with_cgroups cgroup_v2_missing)
        add_state "v2_enabled=$V2_ENABLED"
    fi
    while read -r host; do
        mkdir "$DIR/hosts/$host"
        [ -n "$OPT_FAKE" ] || [ "$host" = ctl ] ||
            cpu_list "${host#n}" own > "$DIR/hosts/$host/cpus"
        launch_host "$host"
    done < <(host_names)
    while read -r host; do
        wait_for "$PATIENCE" "host $host" host_pid "$host" || {
            tail -n 5 "$DIR/hosts/$host/log" >&2
            die "host $host did not start"
        }
    done < <(host_names)
}

# A session of its own and nothing of the caller's but standard error in a file: no
# pipe that somebody reads to its end may be held open.
launch_host() { # launch_host HOST
    local fd
    (
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            [ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
        done
        exec setsid unshare --mount --propagation unchanged -- bash "$HERE/host" outer \
            "$HERE" "$(host_token "$ID")" "$DIR" "$ID" "$1"
    ) < /dev/null > "$DIR/hosts/$1/log" 2>&1 &
    disown $!
}

# A bridge in the controller's network namespace, a cable to each node: the machine's
# own network stays as it is.
connect_hosts() {
    local i pid
    pid=$(host_pid ctl)
    nsenter -t "$pid" -n -- ip -batch - << END || die "cannot make the cluster's network"
link set lo up
link add br0 type bridge
addr add $NET.1/24 dev br0
link set br0 up
$(for ((i = 1; i <= NODES; i++)); do
    echo "link add n$i type veth peer name eth0 netns $(host_pid "n$i")"
    echo "link set n$i master br0 up"
done)
END
    for ((i = 1; i <= NODES; i++)); do
        nsenter -t "$(host_pid "n$i")" -n -- ip -batch - << END || die "cannot connect node n$i"
link set lo up
addr add $NET.$((10 + i))/24 dev eth0
link set eth0 up
END
    done
}

start_daemon() { # start_daemon HOST NAME [LOG]
    in_host "$1" /run/hpcb/lib/daemon start "$2" || daemon_failed "$1" "$2"
}

daemon_failed() { # daemon_failed HOST NAME
    local log
    for log in "$DIR/log/${2%d}"*; do
        [ ! -s "$log" ] || tail -n 5 "$log" >&2
    done
    die "$2 did not start on $1 (the lines above are the last of its log)"
}

# Slurm's own parser on our files and --append's lines; every command would fail.
check_configuration() {
    local output
    output=$(in_host ctl scontrol show hostnames n1 2>&1 > /dev/null) || {
        printf '%s\n' "$output" >&2
        die "Slurm does not take the configuration (the lines above say why)"
    }
}

dbd_answers() { in_host ctl timeout $ANSWER sacctmgr -n show cluster; }
ctl_answers() { in_host ctl timeout $ANSWER scontrol ping | grep -q 'is UP'; }

# All nodes have reported and are idle.
nodes_idle() {
    [ "$(in_host ctl timeout $ANSWER sinfo -h -N -p primary -o %T | grep -cx idle)" = "$NODES" ]
}

# Without them guests are isolated all the same; records stay on their nodes.
start_ours() {
    local i
    [ "$PLAIN" = no ] || return 0
    in_host ctl sh -c 'PATH=/run/hpcb/inst/sbin:$PATH:/usr/sbin; command -v hpcbd' > /dev/null ||
        return 0
    start_daemon ctl collector
    for ((i = 1; i <= NODES; i++)); do start_daemon "n$i" hpcbd; done
}

start_daemons() {
    local host
    while read -r host; do start_daemon "$host" munged; done < <(host_names)
    check_configuration
    start_daemon ctl mariadbd
    wait_for "$PATIENCE" MariaDB test -S "/proc/$(host_pid ctl)/root/run/mysqld/mysqld.sock" ||
        daemon_failed ctl mariadbd
    start_daemon ctl slurmdbd
    wait_for "$PATIENCE" slurmdbd dbd_answers || daemon_failed ctl slurmdbd
    in_host ctl sacctmgr -i -Q add cluster "hpcb$ID" > /dev/null ||
        die "cannot register the cluster with slurmdbd"
    start_daemon ctl slurmctld
    start_ours
    for ((i = 1; i <= NODES; i++)); do start_daemon "n$i" slurmd; done
    wait_for "$PATIENCE" slurmctld ctl_answers || daemon_failed ctl slurmctld
    wait_for "$PATIENCE" "the nodes to report" nodes_idle || {
        in_host ctl timeout $ANSWER sinfo -N -l >&2
        daemon_failed n1 slurmd
    }
}

sandbox_exec() {
    local user=$OPT_USER
    load_state || die "$DIR: no sandbox is up here"
    [ "$user" != user ] || user=$USER_NAME
    [ "$user" = root ] || import_user "$user"
    enter_host "$OPT_HOST" "$user" "$PWD" "${CMD[@]}"
}

# A user who was made on the machine after `up` is copied into the cluster's /etc.
import_user() { # import_user USER
    local passwd group
    ! grep -qs "^$(printf %s "$1" | sed 's/[^A-Za-z0-9_-]/\\&/g'):" "$DIR/hosts/etc/passwd" || return 0
    passwd=$(getent passwd -- "$1") || die "no user '$1'"
    group=$(getent group -- "$(cut -d: -f4 <<< "$passwd")") || group=
    echo "$passwd" >> "$DIR/hosts/etc/passwd"
    [ -z "$group" ] || grep -qxF -- "$group" "$DIR/hosts/etc/group" || echo "$group" >> "$DIR/hosts/etc/group"
}
