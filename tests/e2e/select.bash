# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# For the tests of placement (select and preempt plugins): three nodes that claim to have
# four cores and two "acc" (a GRES) each, and can move 20G of memory and 1G of network
# bandwidth.

load helpers
load guest

select_up() { # select_up [UP OPTION]...
    sandbox_up --nodes 3 --fake-cpus 4 --gres acc:2 "$@" || return 1
    export WORK=$HPCB_SANDBOX_DIR/work HPCBCTL=hpcbctl
    mkdir -p "$WORK" && chmod 1777 "$WORK"
    export CTLD_LOG=$HPCB_SANDBOX_DIR/log/slurmctld.log
    export CONF=$HPCB_SANDBOX_DIR/etc/hpc-balance.conf
    # With lent memory no primary needs to have guests requeued.
    printf '%s\n' 'GuestMemory=allocated' 'GuestGres=yes' 'NodeName=n[1-3] MemBandwidth=20G NetBandwidth=1G' >> "$CONF"
    as_root scontrol reconfigure
    ! has_plugins || wait_until 10 conf_is_read
}

needs_plugins() {
    has_plugins || skip "the select and preempt plugins are not built (--with-slurm-src)"
}

plugin_dir() { as_root scontrol show config | sed -n 's/^PluginDir *= \([^:]*\):.*/\1/p'; }
has_plugins() { run_in_node ctl test -e "$(plugin_dir)/select_cons_tres.so"; }
conf_is_read() { [ "$(grep -c 'select/hpc_balance: before' "$CTLD_LOG")" -ge 2 ]; }

# A primary on the node with all of its cores (or CORES of them).
primary_on() { # primary_on NODE [SBATCH OPTION]...
    local node=$1 job
    shift
    job=$(submit -N1 -n4 -w "$node" --mem=100 "$@" --wrap "sleep $(secs 300)") || return 1
    wait_for_state "$job" RUNNING 20 >&2 || return 1
    echo "$job"
}

guest() { submit --guest --mem=50 "$@" --wrap "sleep $(secs 300)"; }
running() { wait_for_state "$1" RUNNING "${2:-20}" >&2 && nodes_of "$1" | paste -sd' '; }

no_guests() { [ -z "$(as_root squeue -h -p guest -o %i)" ]; }

# A guest that ends by itself, for those that come back.
short_guest() { submit --guest --requeue "$@" --wrap "sleep $(secs 12)"; }

requeued() { [ "$(job_field "$1" Restarts)" = 1 ]; }

# Slurm keeps a requeued job back for two minutes (the life of its old credential).
comes_back() {
    wait_for_state "$1" PENDING 20
    as_root scontrol update JobId="$1" StartTime=now
    wait_for_state "$1" COMPLETED 60
}

restart_slurmctld() { run_in_node ctl /run/hpcb/lib/daemon restart slurmctld && wait_until 20 answers; }
answers() { as_root scontrol ping | grep -q 'is UP'; }

start_some() {
    some="$(primary_on n1 --exclusive --bw-profile=mem=16G) $(primary_on n2 -n2)"
    for n in 1 2 3; do some+=" $(guest -n2 -w "n$n" --bw-profile=mem=1G)"; done
    for job in $some; do running "$job" > /dev/null; done
}

all_run() { for job in $some; do [ "$(state_of "$job")" = RUNNING ] || return 1; done; }

# 22.05.8 becomes 1.05.8 where plugin_version lies in the file.  A new file, as packages
# make them: slurmctld runs the old one.
damage_version() {
    python3 - "$1" << 'END'
import os, shutil, subprocess, sys
path = sys.argv[1]
fields = [line.split() for line in subprocess.check_output(['nm', '-D', path], text=True).splitlines()]
at = next(int(f[0], 16) for f in fields if f[-1] == 'plugin_version')
image = bytearray(open(path, 'rb').read())
# Read-only data lie in the file where they lie in memory.
image[at + 2] = 1
open(path + '.new', 'wb').write(image)
shutil.copymode(path, path + '.new')
os.replace(path + '.new', path)
END
}
