# shellcheck shell=bash disable=SC2034,SC2154 # the files of lib/ share variables
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# status: hosts, daemons, nodes, running guests.  Exit code 0 when every host and
# daemon runs, 1 otherwise.

daemons_of() { # daemons_of HOST
    if [ "$1" = ctl ]; then echo munged mariadbd slurmdbd slurmctld; else echo munged slurmd; fi
}

# Prints "HOST PID NAME=yes|no ..." for each host; the pid is 0 when it is down.
host_lines() {
    local host name pid line
    while read -r host; do
        pid=$(host_pid "$host") || pid=0
        line="$host $pid"
        for name in $(daemons_of "$host"); do
            if [ "$pid" != 0 ] && in_host "$host" /run/hpcb/lib/daemon running "$name"; then
                line+=" $name=yes"
            else
                line+=" $name=no"
            fi
        done
        echo "$line"
    done < <(host_names)
}

sandbox_status() {
    local hosts
    load_state || die "$DIR: no sandbox is up here"
    hosts=$(host_lines < /dev/null)
    if [ "$OPT_JSON" = yes ]; then status_json "$hosts"; else status_text "$hosts"; fi
    ! grep -qE ' 0 |=no' <<< "$hosts"
}

ask_slurm() { in_host ctl timeout $ANSWER "$@" 2> /dev/null < /dev/null; }

status_text() { # status_text HOST_LINES
    local host pid daemons
    echo "sandbox $ID in $DIR, user $USER_NAME$([ "$PLAIN" = no ] || echo ', plain Slurm')"
    while read -r host pid daemons; do
        daemons=${daemons//=yes/}
        if [ "$pid" = 0 ]; then
            echo "$host: not running"
        else
            echo "$host: process $pid, ${daemons//=no/ (not running)}"
        fi
    done <<< "$1"
    [[ $1 =~ ^ctl\ [1-9] ]] || return 0
    ask_slurm sinfo
    echo "running guests:"
    ask_slurm squeue -t R -p guest
}

status_json() { # status_json HOST_LINES
    local host pid daemons word comma=
    printf '{"id":%s,"dir":"%s","user":"%s","plain":%s,"shared_cpus":%s,"hosts":[' "$ID" "$DIR" \
        "$USER_NAME" "$(json_bool "$PLAIN")" "$(json_bool "$SHARED")"
    while read -r host pid daemons; do
        printf '%s{"name":"%s","pid":%s' "$comma" "$host" "$pid"
        for word in $daemons; do
            printf ',"%s":%s' "${word%=*}" "$(json_bool "${word#*=}")"
        done
        printf '}'
        comma=,
    done <<< "$1"
    printf '],"nodes":{'
    ask_slurm sinfo -h -N -p primary -o '"%N":"%T"' | paste -sd, | tr -d '\n'
    printf '},"guests":['
    ask_slurm squeue -h -t R -p guest -o '{"job":%A,"node":"%N"}' | paste -sd, | tr -d '\n'
    printf ']}\n'
}

json_bool() { if [ "$1" = yes ]; then echo true; else echo false; fi; }
