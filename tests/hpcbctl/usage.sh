#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# What hpcbctl says to those who call it in a wrong way: one line and exit code 2; and
# to a shell that calls what slurmd calls: one line and exit code 0.
hpcbctl=${HPCB_BUILDDIR:-.}/hpcbctl/hpcbctl
number=0
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
unset SLURM_JOB_ID SLURM_JOB_UID SLURM_CONF HPC_BALANCE_CONF
echo 1..97

verdict() { # verdict DESCRIPTION FLAW
    number=$((number + 1))
    echo "${2:+not }ok $number - $1"
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

call() { # call ARG...: sets code; its output is in $out
    timeout 20 "$hpcbctl" "$@" > "$out/1" 2> "$out/2" < /dev/null
    code=$?
}

lines() { wc -l < "$out/$1" | tr -d ' '; }

refuses() { # refuses WORDS ARG...: usage error whose line has WORDS
    words=$1 flaw=
    shift
    call "$@"
    [ "$code" = 2 ] || flaw="exit code $code, not 2"
    [ "$(lines 2)" = 1 ] && [ ! -s "$out/1" ] || flaw="$flaw; not one line on stderr"
    grep -qF -e "$words" "$out/2" || flaw="$flaw; it says: $(cat "$out/2")"
    LC_ALL=C grep -q '[[:cntrl:]]' "$out/2" && flaw="$flaw; it prints control characters"
    verdict "usage error: $words" "$flaw"
}

prints() { # prints WORDS ARG...: exit code 0, WORDS on stdout
    words=$1 flaw=
    shift
    call "$@"
    [ "$code" = 0 ] || flaw="exit code $code, not 0"
    [ ! -s "$out/2" ] || flaw="$flaw; stderr: $(cat "$out/2")"
    grep -qF -e "$words" "$out/1" || flaw="$flaw; it does not print it"
    verdict "$* prints: $words" "$flaw"
}

declines() { # declines WORDS ARG...: exit code 1 and one line with WORDS
    words=$1 flaw=
    shift
    call "$@"
    [ "$code" = 1 ] || flaw="exit code $code, not 1"
    [ "$(lines 2)" = 1 ] && [ ! -s "$out/1" ] || flaw="$flaw; not one line on stderr"
    grep -qF -e "$words" "$out/2" || flaw="$flaw; it says: $(cat "$out/2")"
    verdict "declined: $words" "$flaw"
}

grumbles() { # grumbles VERB: a line on stderr and exit code 0
    flaw=
    call job "$1"
    [ "$code" = 0 ] || flaw="exit code $code, not 0"
    [ "$(lines 2)" = 1 ] && [ ! -s "$out/1" ] || flaw="$flaw; not one line on stderr"
    grep -q "^hpcbctl: job $1: no job in the environment" "$out/2" ||
        flaw="$flaw; it says: $(cat "$out/2")"
    verdict "job $1 $2" "$flaw"
}

refuses "a verb is missing"
refuses "a verb is missing" --json
refuses "unknown verb 'checks'" checks
refuses "unknown verb ''" ""
refuses "check: takes no argument" check me
refuses "status: takes no argument" status n1 n2
refuses "release: give nothing or windows" release 17
refuses "status: --state-dir is for release" status --state-dir /run
refuses "release: --state-dir: give an absolute path" release windows --state-dir run
refuses "snapshot: takes no argument" snapshot here
refuses "calibrate: takes no argument" calibrate n1
refuses "status: --cpus, --seconds, --net and --force are for calibrate" status --force
refuses "check: --cpus, --seconds, --net and --force are for calibrate" check --cpus 0
refuses "option '--net' needs a value" calibrate --net
refuses "check: --output is for snapshot and metrics" check -o x
refuses "status: --keep-names is for snapshot" --keep-names status
refuses "profile: give show, set, forget or learn" profile
refuses "profile: give show, set, forget or learn" profile all
refuses "status: --user, --name, --executable and --all are for profile" status -u root
refuses "profile: --output is for snapshot and metrics" profile show -o x
refuses "profile: --all is for profile forget" profile learn --all x
refuses "records: give verify, vacuum or import" records
refuses "records verify: takes no argument" records verify x
refuses "records vacuum: 2026-02-30: allowed: one day, YYYY-MM-DD" records vacuum 2026-02-30
refuses "records import: give files of records" records import
refuses "gang: give list, pause, resume, join, leave or set" gang
refuses "gang: give list, pause, resume, join, leave or set" gang stop
refuses "gang list: takes no argument" gang list 7
refuses "gang pause: give a job's number or nothing" gang pause 0
refuses "gang resume: give a job's number or nothing" gang resume 7 8
refuses "gang join: give a job's number" gang join
refuses "gang leave: give a job's number" gang leave 7 8
refuses "gang leave: give a job's number" gang leave 0
refuses "gang set: give quantum=SECONDS or window=QUANTA" gang set
refuses "gang set: quantum: allowed: 0.05 to 10 (seconds)" gang set quantum=0.04
refuses "gang set: window: allowed: 1 to 16" gang set window=0
refuses "gang set: 'q=1' is none of quantum=, window= and partition=" gang set q=1
refuses "gang set: partition: give the name of one" gang set window=2 partition=
refuses "gang set: give quantum=SECONDS or window=QUANTA" gang set partition=guest
refuses "guests: give stop, drain or resume" guests
refuses "guests: give stop, drain or resume" guests start
refuses "guests: give stop, drain or resume" guests stop n1
refuses "status: --nodes and --remote are for guests and check" status --nodes n1
refuses "check: --wait is for guests stop" check --wait 3
refuses "check: --remote needs --nodes" check --remote ssh
refuses "option '--nodes' needs a value" guests stop --nodes
refuses "unknown verb 'me'" help me
refuses "job: give begin or end" job
refuses "job: give begin or end" job start
refuses "job: give begin or end" job begin now
refuses "unknown option '--jsn'" --jsn check
refuses "unknown option '-x'" -x check
refuses "unknown option" check --json=yes
refuses "option '--config' needs a value" check --config
refuses "option '-c' needs a value" check -c
refuses "unknown verb" "$(printf 'a\nb\033[31m\007')"
refuses "unknown option" "$(printf -- '--a\nb\377')"
refuses "unknown verb" "$(printf '%5000s' x)"
refuses "unknown verb '--help'" -- --help

prints "Usage: hpcbctl [--config FILE] [--json] VERB" --help
prints "hpcbctl [--config FILE] calibrate" calibrate --help
prints "Usage: hpcbctl [--config FILE] [--json] VERB" help
prints "hpcbctl [--config FILE] guests stop" help guests stop
prints "job begin" -h
prints "hpcbctl [--config FILE] check" check --help
prints "hpcbctl [--config FILE] status" --help status
prints "hpcbctl [--config FILE] release" release -h
prints "hpcbctl [--config FILE] snapshot" snapshot --help
prints "hpcbctl [--config FILE] profile show" profile show --help
prints "hpcbctl [--config FILE] profile set" profile set --help
prints "hpcbctl [--config FILE] profile forget" profile forget --help
prints "hpcbctl [--config FILE] profile learn" profile learn --help
prints "hpcbctl [--config FILE] records verify" records verify --help
prints "hpcbctl [--config FILE] records vacuum" records vacuum --help
prints "hpcbctl [--config FILE] records import" records import --help
prints "hpcbctl [--config FILE] job end" job end --help
prints "hpcbctl [--config FILE] gang list" gang list --help
prints "hpcbctl [--config FILE] company" company --help
prints "hpcbctl [--config FILE] gang pause" gang pause --help
prints "hpcbctl [--config FILE] gang resume" gang resume --help
prints "hpcbctl [--config FILE] gang join" gang join --help
prints "hpcbctl [--config FILE] gang leave" gang leave --help
prints "hpcbctl [--config FILE] gang set" gang set --help
prints "hpcbctl [--config FILE] guests stop" guests stop --help
prints "hpcbctl [--config FILE] guests drain" guests drain --help
prints "hpcbctl [--config FILE] guests resume" guests resume --help
prints "hpc-balance" --version

declines "--seconds: '0' is not a whole number from 1 to 600" calibrate --seconds 0
declines "--cpus: '0-' is no list of CPUs" calibrate --cpus 0-
declines "--cpus: some of '8191' may not be used here" calibrate --cpus 8191
declines "--net: '1Q' is neither bytes per second" calibrate --net 1Q
declines "/nowhere/x.conf" --config /nowhere/x.conf calibrate

grumbles begin "outside of slurmd"
grumbles end "outside of slurmd"
SLURM_JOB_ID=x SLURM_JOB_UID=0
export SLURM_JOB_ID SLURM_JOB_UID
grumbles begin "with a job id that is none"
SLURM_JOB_ID=0
grumbles end "with job id 0"
SLURM_JOB_ID=1 SLURM_JOB_UID=99999999999
grumbles begin "with a user id that is too large"
