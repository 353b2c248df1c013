#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# hpcbctl company, in a directory of its own.
hpcbctl=${HPCB_BUILDDIR:-.}/hpcbctl/hpcbctl
number=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
umask 022
HPC_BALANCE_CONF=$dir/hpc-balance.conf
export HPC_BALANCE_CONF
printf 'CollectorDir=%s\nProfileStore=%s/profiles\n' "$dir" "$dir" > "$HPC_BALANCE_CONF"
echo 1..8

verdict() { # verdict DESCRIPTION FLAW
    number=$((number + 1))
    echo "${2:+not }ok $number - $1"
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

says() { # says DESCRIPTION CODE PATTERN ARG...: PATTERN is "" for nothing at all
    what=$1 wanted=$2 pattern=$3 flaw=
    shift 3
    timeout 60 "$hpcbctl" company "$@" > "$dir/out" 2>&1
    code=$?
    if [ "$pattern" ]; then
        grep -Eq "$pattern" "$dir/out" || flaw='it is missing'
    elif [ -s "$dir/out" ]; then
        flaw='more than that'
    fi
    [ $code = "$wanted" ] && [ -z "$flaw" ] || flaw="exit code $code: $(cat "$dir/out")"
    verdict "$what" "$flaw"
}

now=$(date +%s)
says 'without a list' 0 ''
says 'without a list, as JSON' 0 '"company": *\[' --json
{
    echo 'hpcb-company 1'
    echo "00000000000000aa 00000000000000bb 0 4000000000 $((now - 10)) 1000"
    echo "00000000000000aa 00000000000000cc 0 0 $((now - 7 * 24 * 3600)) 1000"
    echo "00000000000000aa 00000000000000dd 0 0 $((now - 100 * 24 * 3600)) 1000"
} > "$dir/company"
says 'who is kept off' 0 \
    '^Guest=4000000000:00000000000000bb Primary=root:00000000000000aa Last=[0-9T:-]+ Weight=1.000 ApartUntil=[0-9T:-]+$'
says 'whose last choice it is' 0 '^Guest=root:00000000000000cc .* Weight=0.500 LastChoice=yes$'
says 'as JSON' 0 "\"apart_until\": *$((now + 3590))" --json
grep -q 00000000000000dd "$dir/out"
verdict 'who is forgotten' "$([ $? = 1 ] || echo 'it is there')"
# FNV-1a of uid 0 in four bytes and "sweep".
program=$(python3 -c '
n = 14695981039346656037
for byte in b"sweep":
    n = (n ^ byte) * 1099511628211 % 2**64
print("%08x%08x" % (0, (n ^ n >> 32) % 2**32))')
"$hpcbctl" profile set --user root --name sweep mem=1G,net=1M > "$dir/out" 2>&1 || cat "$dir/out"
{
    echo 'hpcb-company 1'
    echo "00000000000000aa $program 0 0 $now 1000"
} > "$dir/company"
says 'programs that have a profile by their names' 0 '^Guest=root:sweep Primary=root:00000000000000aa '
echo rubbish > "$dir/company"
says 'what is no list' 1 'not a list of bad company'
