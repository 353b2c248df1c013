#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# package-guard, which decides whether a package may be removed, on configurations made
# here and with commands of Slurm's that are played.
number=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/etc/plugstack.conf.d" "$dir/bin" "$dir/run" "$dir/prolog.d"
etc=$dir/etc conf=$dir/etc/slurm.conf
sed -e "s|^slurm_etc=.*|slurm_etc=$etc|" -e "s|/run/slurm/conf|$dir/run|" \
    -e "s|^hpcbctl=.*|hpcbctl=$dir/bin/hpcbctl|" -e 's|^built_for=.*|built_for=22.05.8|' \
    -e 's|^plugins=.*|plugins=/opt/plugins|' -e 's|^scripts=.*|scripts=/opt/scripts|' \
    "${HPCB_BUILDDIR:-.}/packaging/package-guard" > "$dir/guard"
unset SLURM_CONF HPC_BALANCE_REMOVE
PATH=$dir/bin:$PATH
echo 1..47

verdict() { # verdict DESCRIPTION FLAW
    number=$((number + 1))
    echo "${2:+not }ok $number - $1"
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

play() { # play COMMAND OUTPUT: a command that prints OUTPUT
    printf '#!/bin/sh\ncat << "END"\n%s\nEND\n' "$2" > "$dir/bin/$1"
    chmod +x "$dir/bin/$1"
}

configure() { # configure TEXT: slurm.conf and nothing else
    printf '%s\n' "$1" > "$conf"
    : > "$etc/plugstack.conf"
    rm -f "$etc"/plugstack.conf.d/* "$etc"/more.conf
}

needed() { # needed PART LINE DESCRIPTION
    flaw=
    timeout 20 sh "$dir/guard" in-use "$1" > "$dir/out" 2>&1 && flaw="exit code 0"
    grep -qxF -e "$2" "$dir/out" || flaw="$flaw; no line '$2' in: $(cat "$dir/out")"
    verdict "$1 needed: $3" "$flaw"
}

free() { # free PART DESCRIPTION
    flaw=
    timeout 20 sh "$dir/guard" in-use "$1" > "$dir/out" 2>&1 || flaw="exit code $?"
    [ ! -s "$dir/out" ] || flaw="$flaw; it prints $(cat "$dir/out")"
    verdict "$1 not needed: $2" "$flaw"
}

play scontrol ''
rm -f "$conf"
free controller "no slurm.conf"
free node "no slurm.conf"

configure 'ClusterName=c'
free controller "slurm.conf without us"
free node "slurm.conf without us"
configure 'JobSubmitPlugins=hpc_balance'
needed controller "$conf: JobSubmitPlugins=hpc_balance" "JobSubmitPlugins"
free node "JobSubmitPlugins is the controller's"
configure 'ClusterName=c jobsubmitplugins = lua,job_submit/hpc_balance'
needed controller "$conf: JobSubmitPlugins=lua,job_submit/hpc_balance" "any spelling of it"
configure '# once: JobSubmitPlugins=hpc_balance
JobSubmitPlugins=lua # not hpc_balance'
free controller "a comment"
configure 'JobSubmitPlugins=hpc_balance2,my_hpc_balance'
free controller "other plugins"
configure 'PreemptType=preempt/hpc_balance'
needed controller "$conf: PreemptType=preempt/hpc_balance" "PreemptType"
free node "PreemptType is the controller's"
configure 'PreemptType=preempt/partition_prio'
free controller "another PreemptType"
configure 'Include more.conf'
echo 'JobSubmitPlugins=hpc_balance' > "$etc/more.conf"
needed controller "$etc/more.conf: JobSubmitPlugins=hpc_balance" "an included file"
configure 'Include slurm.conf'
free controller "a file that includes itself"

configure 'PluginDir=/opt/plugins/slurm:/usr/lib/slurm'
needed node "$conf: PluginDir=/opt/plugins/slurm:/usr/lib/slurm" "PluginDir, first"
configure 'PluginDir=/usr/lib/slurm:/opt/plugins/slurm-22.05.8'
needed node "$conf: PluginDir=/usr/lib/slurm:/opt/plugins/slurm-22.05.8" "PluginDir, last"
configure 'PluginDir=/usr/lib/slurm'
free node "another PluginDir"

configure 'Prolog=/opt/scripts/prolog'
needed node "$conf: Prolog=/opt/scripts/prolog" "Prolog"
configure 'Epilog=/bin/true,/opt/scripts/epilog'
needed node "$conf: Epilog=/bin/true,/opt/scripts/epilog" "Epilog, in a list"
ln -s /opt/scripts/prolog "$dir/prolog.d/50-hpc-balance"
configure "Prolog=$dir/prolog.d/*"
free node "a link that leads nowhere"
rm "$dir/prolog.d/50-hpc-balance"
printf '#!/bin/sh\n/opt/scripts/prolog\n' > "$dir/prolog.d/site"
needed node "$conf: Prolog=$dir/prolog.d/*" "a script of the site's calls ours"
printf '#!/bin/sh\n# no more: /opt/scripts/prolog\n' > "$dir/prolog.d/site"
free node "a script that called ours once"
printf '#!/bin/sh\nhpcbctl --config /x job begin\n' > "$etc/site"
configure 'Prolog=site'
needed node "$conf: Prolog=site" "a script beside slurm.conf that calls hpcbctl"
configure 'Prolog=/bin/true'
free node "another Prolog"

configure 'ClusterName=c'
echo 'optional /opt/plugins/hpc_balance.so conf=/x' > "$etc/plugstack.conf"
needed node "$etc/plugstack.conf: optional /opt/plugins/hpc_balance.so" "plugstack.conf"
echo '#optional /opt/plugins/hpc_balance.so' > "$etc/plugstack.conf"
free node "a comment in plugstack.conf"
echo 'include plugstack.conf.d/*.conf' > "$etc/plugstack.conf"
echo 'required hpc_balance.so' > "$etc/plugstack.conf.d/ours.conf"
needed node "$etc/plugstack.conf.d/ours.conf: required hpc_balance.so" "a plugstack.conf.d"
echo 'include plugstack.conf' > "$etc/plugstack.conf"
free node "a plugstack.conf that includes itself"
configure "PlugStackConfig=$dir/stack"
echo 'optional hpc_balance.so' > "$dir/stack"
needed node "$dir/stack: optional hpc_balance.so" "PlugStackConfig"

configure 'ClusterName=c'
play scontrol 'JobSubmitPlugins        = hpc_balance
Prolog[0]               = /opt/scripts/prolog
Epilog                  = (null)'
needed controller "slurmctld: JobSubmitPlugins=hpc_balance" "what slurmctld runs with"
needed node "slurmctld: Prolog=/opt/scripts/prolog" "what slurmctld runs with, as a list"
play scontrol 'PreemptMode             = REQUEUE
PreemptType             = preempt/hpc_balance'
needed controller "slurmctld: PreemptType=preempt/hpc_balance" "the preempt plugin that slurmctld runs with"
play scontrol 'slurm_load_ctl_conf error: Unable to contact slurm controller'

remove() { # remove CODE WORDS DESCRIPTION PART [ASSIGNMENT]
    flaw=
    rm -f "$dir/released"
    env ${5:+"$5"} timeout 20 sh "$dir/guard" remove "$4" > "$dir/out" 2>&1
    code=$?
    [ $code = "$1" ] || flaw="exit code $code"
    if [ -z "$2" ]; then
        [ ! -s "$dir/out" ] || flaw="$flaw; it says $(cat "$dir/out")"
    else
        [ "$(wc -l < "$dir/out")" = 1 ] && grep -qF -e "$2" "$dir/out" ||
            flaw="$flaw; it says $(cat "$dir/out")"
    fi
    verdict "$3" "$flaw"
}

released() { # released yes|no DESCRIPTION
    was=no
    [ ! -e "$dir/released" ] || was=yes
    verdict "$2" "$([ $was = "$1" ] || echo "released: $was")"
}

hpcbctl_says() { # hpcbctl_says TEXT: what status prints; release leaves a mark
    play table "$1"
    cat > "$dir/bin/hpcbctl" << END
#!/bin/sh
[ "\$1" != release ] || : > "$dir/released"
[ "\$1" != status ] || exec table
END
    chmod +x "$dir/bin/hpcbctl"
}

header='Node n1: 1 package

JOB         CLASS    USER        PARTITION     POLICY    MECHANISM'
hpcbctl_says "No jobs."
configure 'JobSubmitPlugins=hpc_balance'
remove 1 "not removed while Slurm needs it ($conf: JobSubmitPlugins=hpc_balance)" \
    "a plugin that slurmctld needs is not removed" controller
remove 0 "although Slurm still needs it" "it is removed by force" controller \
    HPC_BALANCE_REMOVE=anyway
configure 'ClusterName=c'
remove 0 '' "the controller's plugin goes when nothing needs it" controller
released no "the controller's package undoes nothing on the host"
hpcbctl_says "$header
7           primary  1000        primary       none      -"
remove 0 '' "the node's package goes beside a primary" node
released yes "what guests have left is undone where none runs"
hpcbctl_says "$header
7           primary  1000        primary       none      -
8           guest    1000        guest         none      idle-group"
remove 0 "guests run here (job 8)" "the node's package goes beside a guest" node
released no "a running guest is not lifted"
hpcbctl_says ''
remove 0 "cannot tell" "the node's package goes when hpcbctl fails" node

fits() { # fits CODE PART VERSION
    play slurmctld "slurm-wlm $3"
    play slurmd "slurm $3"
    timeout 20 sh "$dir/guard" fits "$2" > "$dir/out" 2>&1
    code=$?
    flaw=
    [ $code = "$1" ] || flaw="exit code $code"
    [ "$(wc -l < "$dir/out")" = "$1" ] || flaw="$flaw; it says $(cat "$dir/out")"
    verdict "$2: built for 22.05.8, Slurm is $3" "$flaw"
}

fits 0 controller 22.05.8
fits 1 controller 22.05.9
fits 1 controller 24.11.5
grep -q 'PreemptType=preempt/hpc_balance, and would not take the select plugin' "$dir/out"
verdict "it says what each of the controller's plugins would do" "$([ $? = 0 ] || cat "$dir/out")"
fits 0 node 22.05.11
fits 1 node 24.11.5
