#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# hpcbctl records verify, vacuum, import, in a directory of its own.
hpcbctl=${HPCB_BUILDDIR:-.}/hpcbctl/hpcbctl
number=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
umask 022
HPC_BALANCE_CONF=$dir/hpc-balance.conf
export HPC_BALANCE_CONF
echo "CollectorDir=$dir/kept" > "$HPC_BALANCE_CONF"
echo 1..14

verdict() { # verdict DESCRIPTION FLAW
    number=$((number + 1))
    echo "${2:+not }ok $number - $1"
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

call() { # call ARG...: sets code; its output is in $dir/1 and $dir/2
    timeout 60 "$hpcbctl" records "$@" > "$dir/1" 2> "$dir/2" < "$dir/in"
    code=$?
}

works() { # works PATTERN ARG...: exit code 0, nothing on stderr, PATTERN on stdout
    pattern=$1 flaw=
    shift
    call "$@"
    [ $code = 0 ] && ! [ -s "$dir/2" ] && grep -q "$pattern" "$dir/1" ||
        flaw="exit code $code: $(cat "$dir/1" "$dir/2")"
    verdict "$*: $pattern" "$flaw"
}

fails() { # fails CODE PATTERN ARG...: one line on stderr that has PATTERN
    wanted=$1 pattern=$2 flaw=
    shift 2
    call "$@"
    [ $code = "$wanted" ] && [ "$(wc -l < "$dir/2")" -eq 1 ] && grep -q "$pattern" "$dir/2" ||
        flaw="exit code $code: $(cat "$dir/1" "$dir/2")"
    verdict "$*: $pattern" "$flaw"
}

record() { # record JOB END: one that ended END seconds after 1970
    echo "{\"version\":1,\"job_id\":$1,\"node\":\"n1\",\"cluster\":\"c\",\"class\":\"guest\",\"policy\":\"none\",\"user_id\":1,\"partition\":\"p\",\"begin\":1,\"end\":$2,\"cpus\":1,\"cpu_seconds\":1,\"run_delay_seconds\":0,\"memory_peak_bytes\":0,\"nodes\":1}"
}

: > "$dir/in"
fails 1 'records.db: No such file or directory' verify
fails 1 'holds no records' vacuum
{ record 1 100 && record 2 200; } > "$dir/a"
works '^2 records of nodes are new, 0 were known; 0 lines are no records$' import "$dir/a"
works '^0 records of nodes are new, 2 were known; 0 lines' import "$dir/a"
record 3 1763683200 > "$dir/in"
works '^1 records of nodes are new' import -
: > "$dir/in"
works '^whole: 3 runs, of which 0 wait for nodes, and 3 records of nodes (version 2)$' verify
works '"runs": 3, "waiting_runs": 0, "node_records": 3}$' verify --json
{ echo rubbish && record 4 300; } > "$dir/b"
call import "$dir/b"
flaw=
[ $code = 1 ] && grep -q '^1 records of nodes are new, 0 were known; 1 lines are no' "$dir/1" ||
    flaw="exit code $code: $(cat "$dir/1" "$dir/2")"
verdict 'what is no record is counted, and the rest taken' "$flaw"
fails 1 "/no/such: No such file" import /no/such
works '^0 runs removed' vacuum
works '^3 runs removed' vacuum 2025-11-21
works '^whole: 1 runs' verify
printf 'rubbish rubbish rubbish rubbish' | dd of="$dir/kept/records/records.db" bs=1 seek=4096 conv=notrunc 2> /dev/null
fails 1 'records.db' verify
fails 1 'records.db is damaged' import "$dir/a"
