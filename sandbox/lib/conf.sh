# shellcheck shell=bash disable=SC2034,SC2154 # the files of lib/ share variables
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# The cluster's /etc: DIR/hosts/etc is a copy of the machine's /etc (so that packages
# and alternatives work as outside) with our users, host names and MUNGE key; DIR/etc is
# /etc/slurm.  Its files are those of etc/*.example, which sites begin with, and after them
# what a sandbox needs: its names and directories, and shorter times.  `up --example` leaves
# it at names and directories.

NET=10.177.0 # the controller is .1, node i is .(10+i); seen by this sandbox only

slurm_user() { if getent passwd slurm > /dev/null; then echo slurm; else echo root; fi; }

# Directories where Slurm's own plugins may lie; the first that has them.
stock_plugins() {
    local dir
    for dir in /usr/lib/*/slurm-wlm /usr/lib/*/slurm /usr/lib64/slurm /usr/lib/slurm \
        /usr/local/lib/slurm; do
        [ ! -e "$dir/select_cons_tres.so" ] || { echo "$dir" && return; }
    done
    return 1
}

# Cores of this machine as slurmd counts them: SOCKETS, CORES (of a socket), THREADS
# and MEMORY in MiB.
read_machine() {
    local line word
    line=$(slurmd -C 2> /dev/null | head -n 1)
    SOCKETS=1 CORES=1 THREADS=1 MEMORY=1024
    for word in $line; do
        case $word in
        SocketsPerBoard=*) SOCKETS=${word#*=} ;;
        CoresPerSocket=*) CORES=${word#*=} ;;
        ThreadsPerCore=*) THREADS=${word#*=} ;;
        RealMemory=*) MEMORY=${word#*=} ;;
        esac
    done
    TOTAL_CORES=$((SOCKETS * CORES))
}

# Node I owns OPT_CPUS cores from (I-1)*OPT_CPUS on, wrapping around where nodes must
# share: its CPUs, or those of others.
cpu_list() { # cpu_list I own|others
    local first=$((($1 - 1) * OPT_CPUS)) core thread list='' offset whose
    for ((core = 0; core < TOTAL_CORES; core++)); do
        offset=$(((core - first % TOTAL_CORES + TOTAL_CORES) % TOTAL_CORES))
        whose=others
        [ $offset -ge "$OPT_CPUS" ] || whose=own
        [ $whose = "$2" ] || continue
        for ((thread = 0; thread < THREADS; thread++)); do
            list+=,$((core * THREADS + thread))
        done
    done
    echo "${list#,}"
}

# Every slurmd sees the whole machine: with fewer CPUs declared each of them would pin to
# CPU 0.  Hence a node leaves the others' alone as CpuSpecList.
node_lines() {
    local i spec cpus
    [ -z "$OPT_GRES" ] || echo "GresTypes=${OPT_GRES%:*}"
    for ((i = 1; i <= NODES; i++)); do
        spec=$(cpu_list "$i" others)
        cpus="CPUs=$((TOTAL_CORES * THREADS)) Sockets=$SOCKETS CoresPerSocket=$CORES"
        cpus+=" ThreadsPerCore=$THREADS${spec:+ CpuSpecList=$spec}"
        [ -z "$OPT_FAKE" ] ||
            cpus="CPUs=$OPT_FAKE Sockets=1 CoresPerSocket=$OPT_FAKE ThreadsPerCore=1"
        echo "NodeName=n$i NodeAddr=$NET.$((10 + i)) $cpus RealMemory=$NODE_MEMORY" \
            "${OPT_GRES:+Gres=$OPT_GRES }State=UNKNOWN"
    done
}

# Nobody can be bound to a core that is not there.
task_plugin() { echo "${OPT_FAKE:+task/cgroup}" | grep . || echo task/affinity,task/cgroup; }

# Slurm wants a device file for each gpu, and a number is enough for other names.
write_gres_conf() {
    local name=${OPT_GRES%:*} count=${OPT_GRES#*:}
    case $name in
    '') ;;
    gpu) make_gpus "$count" && echo "Name=gpu File=/run/hpcb/gpus/gpu[0-$((count - 1))]" ;;
    *) echo "Name=$name Count=$count" ;;
    esac
}

# The devices that stand for gpus: each is another /dev/null.
make_gpus() { # make_gpus COUNT
    local i
    mkdir -m 755 "$DIR/gpus" || return 1
    for ((i = 0; i < $1; i++)); do
        mknod -m 666 "$DIR/gpus/gpu$i" c 1 3 || return 1
    done
}

write_etc() {
    local etc=$DIR/hosts/etc slurm=$DIR/etc
    cp -a /etc "$etc" 2> /dev/null # sockets and the like are no loss
    rm -rf "$etc/slurm" "$etc/munge" "$etc/hosts" "$etc/hostname"
    mkdir -m 755 "$etc/slurm" "$slurm"
    write_users "$etc" && write_hosts > "$etc/hosts" && write_munge_key "$etc" &&
        write_slurm_conf | append_lines "${OPT_APPEND:-/dev/null}" > "$slurm/slurm.conf" &&
        example cgroup.conf | append_lines <(write_cgroup_conf) > "$slurm/cgroup.conf" &&
        write_gres_conf > "$slurm/gres.conf" &&
        write_slurmdbd_conf "$slurm/slurmdbd.conf" &&
        write_hpc_balance_conf "$slurm" &&
        cp -- "$HERE/cli_filter.lua" "$slurm/"
}

# The sandbox's ordinary user exists in its own /etc only.  The number is high enough
# to be nobody's, and differs between sandboxes: limits are counted by uid.
write_users() { # write_users ETC
    local uid=$((300000000 + ID)) home=/run/hpcb/home
    echo "$USER_NAME:x:$uid:$uid:sandbox user:$home:/bin/bash" >> "$1/passwd" &&
        echo "$USER_NAME:x:$uid:" >> "$1/group" &&
        echo "$USER_NAME:!:19000:0:99999:7:::" >> "$1/shadow" &&
        mkdir -m 755 "$DIR/home" && chown "$uid:$uid" "$DIR/home"
}

write_hosts() {
    local i
    echo "127.0.0.1 localhost"
    echo "$NET.1 ctl"
    for ((i = 1; i <= NODES; i++)); do echo "$NET.$((10 + i)) n$i"; done
}

write_munge_key() { # write_munge_key ETC
    mkdir -m 700 "$1/munge" && (umask 077 && head -c 128 /dev/urandom > "$1/munge/munge.key") &&
        chown -R munge: "$1/munge"
}

# True for a controller that this machine has (User-Mode Linux has no cpuset; memory may
# be switched off at boot).
has_controller() { [[ $CONTROLLERS = *" $1 "* ]]; }

# A sample file of etc/ with this cluster's directories.
example() { # example NAME
    local dir=$HERE/../etc
    [ -e "$dir/$1.example.in" ] || dir=$HERE/examples
    sed -e "s|@hpcbjobsubmitdir@|$HPCB_JOBSUBMIT|; s|@slurmplugindir@|$(stock_plugins)|" \
        -e "s|@hpcbplugindir@|$HPCB_PLUGINS|; s|@pkglibexecdir@|$HPCB_LIBEXEC|" \
        "$dir/$1.example.in"
}

write_cgroup_conf() {
    local mountpoint=/sys/fs/cgroup
    # See cgroup_prepare_host_v2.
    [ "$CGROUP" = 1 ] || slurm_is 24.11 || mountpoint=/run/cgroup
    echo "CgroupPlugin=cgroup/v$CGROUP"
    echo "CgroupMountpoint=$mountpoint"
    { [ -z "$OPT_FAKE" ] && has_controller cpuset; } || echo ConstrainCores=no
    has_controller memory || echo ConstrainRAMSpace=no
    [ "$CGROUP" = 1 ] || echo IgnoreSystemd=yes
}

write_slurmdbd_conf() { # write_slurmdbd_conf FILE
    (umask 077 && cat > "$1") <<END
AuthType=auth/munge
DbdHost=ctl
SlurmUser=$(slurm_user)
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
LogFile=/run/hpcb/log/slurmdbd.log
PidFile=/run/slurm/slurmdbd.pid
END
    chown "$(slurm_user)": "$1"
}

# jobacct_gather/cgroup moves tasks in cpuacct; where cpu shares its hierarchy that
# would move them away from the level at which the sandbox's tasks compete.
gather_type() {
    if grep -qE '^[0-9]+:([a-z_]+,)*(cpu,cpuacct|cpuacct,cpu)[,:]' /proc/self/cgroup ||
        ! has_controller memory; then
        echo jobacct_gather/linux
    else
        echo jobacct_gather/cgroup
    fi
}

has_select() { [ -e "$(outside "$HPCB_JOBSUBMIT/select_cons_tres.so")" ]; }

# What most sites set: a job of all CPUs holds all memory, whatever it touches.  Stock Slurm
# lends guests none of it, so that there they need a half that nobody holds.
memory_per_cpu() {
    local cpus=${OPT_FAKE:-$((OPT_CPUS * THREADS))}
    [ "$PLAIN" = yes ] || has_select || cpus=$((2 * cpus))
    echo $((NODE_MEMORY / cpus))
}

# What guests hold that do not say what they need.
guest_memory_per_cpu() {
    local mib=$((NODE_MEMORY / 64))
    echo $((mib > 64 ? 64 : mib > 0 ? mib : 1))
}

write_slurm_conf() {
    if [ "$OPT_EXAMPLE" = yes ]; then
        { example slurm.conf | sed '/^NodeName=/d'; } | append_lines <(site_lines && node_lines)
    else
        { example slurm.conf | sed -E '/^(NodeName|PartitionName)=/d' | without_ours; } |
            append_lines <(site_lines && sandbox_lines)
    fi
}

# The example's lines, without those for parts that are not here.
without_ours() {
    local keys=''
    if [ "$PLAIN" = yes ]; then
        keys='PluginDir|JobSubmitPlugins|Prolog|Epilog|PreemptMode'
    else
        [ -e "$(outside "$HPCB_JOBSUBMIT/job_submit_hpc_balance.so")" ] || {
            say "note: no job_submit plugin is built: guests are not routed"
            keys+='|PluginDir|JobSubmitPlugins'
        }
        # In front of the stock plugin by its place in PluginDir alone.
        has_select ||
            say "note: no select plugin is built: stock Slurm places guests"
        [ -e "$(outside "$HPCB_JOBSUBMIT/preempt_hpc_balance.so")" ] || keys+='|PreemptMode'
        [ -x "$(outside "$HPCB_LIBEXEC/prolog")" ] && [ -x "$(outside "$HPCB_LIBEXEC/epilog")" ] || {
            say "note: prolog and epilog are not built: no job records"
            keys+='|Prolog|Epilog'
        }
    fi
    sed -E "/^(${keys#|}${keys:+|}NoSuchKey)=/d" |
        sed "$([[ $keys != *PreemptMode* ]] || echo 's|^PreemptType=.*|PreemptType=preempt/none|')"
}

# Names and directories.
site_lines() {
    cat <<END
ClusterName=hpcb$ID
SlurmctldHost=ctl($NET.1)
SlurmUser=$(slurm_user)
StateSaveLocation=/run/hpcb/spool/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldLogFile=/run/hpcb/log/slurmctld.log
SlurmdLogFile=/run/hpcb/log/slurmd.%n.log
SlurmdParameters=config_overrides
# PMIx makes its directories here: they must be a node's own, while /tmp is shared.
TmpFS=/run/tmp
END
}

sandbox_lines() {
    cat <<END
SlurmdTimeout=$((30 * SLOWNESS))
KillWait=5
MessageTimeout=$((SLOWNESS < 5 ? 20 * SLOWNESS : 100))
TCPTimeout=$((2 * SLOWNESS))
BatchStartTimeout=$((10 * SLOWNESS))
DefMemPerCPU=$(memory_per_cpu)
TaskPlugin=$(task_plugin)
JobAcctGatherType=$(gather_type)
CliFilterPlugins=lua
SchedulerParameters=bf_interval=1,bf_continue,bf_max_job_test=1000,default_queue_depth=1000,partition_job_depth=400,bf_max_job_part=400,sched_interval=2,batch_sched_delay=1,bf_min_prio_reserve=1000
$(node_lines)
PartitionName=primary Nodes=ALL Default=YES PriorityTier=10 PriorityJobFactor=1 OverSubscribe=FORCE:1 MaxTime=INFINITE State=UP
PartitionName=guest Nodes=ALL PriorityTier=20 PriorityJobFactor=0 OverSubscribe=FORCE:1 DefMemPerCPU=$(guest_memory_per_cpu) MaxTime=INFINITE State=UP
END
}

# The generated lines, without those whose key FILE sets again (Slurm takes the last,
# but every command complains), then FILE.
append_lines() { # append_lines FILE
    awk -F= '
        { key = tolower($1); gsub(/[ \t]/, "", key) }
        FNR == NR { line[NR] = $0; name[NR] = key; lines = NR; next }
        { theirs[FNR] = $0; count = FNR; again[key] = 1 }
        END {
            delete again["nodename"]; delete again["partitionname"]; delete again[""]
            for (i = 1; i <= lines; i++) if (!(name[i] in again)) print line[i]
            print "# In addition:"
            for (i = 1; i <= count; i++) print theirs[i]
        }' - "$1"
}

write_hpc_balance_conf() { # write_hpc_balance_conf SLURM_ETC
    : > "$1/plugstack.conf"
    [ "$PLAIN" = no ] || return 0
    if [ -e "$(outside "$HPCB_PLUGINS/hpc_balance.so")" ]; then
        example plugstack.conf > "$1/plugstack.conf"
    else
        say "note: no SPANK plugin is built: no --guest"
    fi
    example hpc-balance.conf | append_lines <(our_lines) > "$1/hpc-balance.conf"
}

our_lines() {
    cat <<END
# Several sandboxes share the machine's cpu hierarchy.
GuestCgroup=hpcb_${ID}_%n
BalanceCgroup=hpcb_${ID}_balance_%n
BalancePages=/run/hpc-balance/pages
SpoolDir=/run/hpcb/spool/hpc-balance/%n
ProfileStore=/run/hpcb/spool/hpc-balance/profiles.json
CollectorHost=ctl
CollectorDir=/run/hpcb/collector
END
    [ "$OPT_EXAMPLE" = no ] || return 0
    cat <<END
CollectorWait=20
AdminCommentRate=50
# Nobody waits a minute here until the memory of a new primary is lent.
GuestMemorySettle=2
# Nodes share CPUs: a primary of one leaves a guest of another next to nothing.
GuestMinShare=0%
GuestMaxSlowdown=0%
MpiLibrary=$HPCB_PLUGINS/libhpcb_mpi.so
END
}
