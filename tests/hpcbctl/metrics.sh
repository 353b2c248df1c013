#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# hpcbctl metrics on this host, with a state of its own; promtool has the last word where
# it is installed.
hpcbctl=${HPCB_BUILDDIR:-.}/hpcbctl/hpcbctl
number=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
umask 022
HPC_BALANCE_CONF=$dir/hpc-balance.conf
export HPC_BALANCE_CONF
printf 'StateDir=%s/state\nSpoolDir=%s/spool\nCollectorDir=%s/collector\n' \
    "$dir" "$dir" "$dir" > "$HPC_BALANCE_CONF"
mkdir -p "$dir/spool/records" "$dir/collector"
echo 1..13

verdict() { # verdict DESCRIPTION FLAW
    number=$((number + 1))
    echo "${2:+not }ok $number - $1"
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

call() { # call ARG...: sets code; its output is in $dir/1 and $dir/2
    timeout 60 "$hpcbctl" "$@" > "$dir/1" 2> "$dir/2" < /dev/null
    code=$?
}

prints() { # prints LINE: the last call has printed it
    flaw=
    [ "$code" = 0 ] || flaw="exit code $code: $(cat "$dir/2")"
    grep -qxF -e "$1" "$dir/1" || flaw="$flaw; it prints: $(cat "$dir/1")"
    verdict "metrics: $1" "$flaw"
}

refuses() { # refuses CODE PATTERN ARG...
    want=$1 pattern=$2 flaw=
    shift 2
    call "$@"
    [ "$code" = "$want" ] || flaw="exit code $code"
    [ ! -s "$dir/1" ] || flaw="$flaw; it prints: $(cat "$dir/1")"
    { grep -qE -e "$pattern" "$dir/2" && [ "$(wc -l < "$dir/2")" = 1 ]; } ||
        flaw="$flaw; stderr: $(cat "$dir/2")"
    verdict "$*: $pattern" "$flaw"
}

call metrics
prints 'hpcb_jobs_ended_total{class="guest"} 0'
printf 'guest 12 41870001 60000000 18100000 3\n' > "$dir/spool/totals"
: > "$dir/spool/records/1.n1.json"
flaw=$(grep hpcb_collector "$dir/1")
verdict "nothing of a collector where none is" "$flaw"
echo '{"version":1,"records":7,"pending_runs":2,"more":{}}' > "$dir/collector/stats.json"
call metrics
prints 'hpcb_collector_records_total 7'
prints 'hpcb_collector_pending_runs 2'
prints 'hpcb_cpu_seconds_total{class="guest"} 41.870001'
prints 'hpcb_evictions_total 3'
prints 'hpcb_spooled_records 1'

if command -v promtool > /dev/null; then
    flaw=$(promtool check metrics < "$dir/1" 2>&1) && flaw=
    [ -s "$dir/1" ] || flaw="$flaw; nothing is printed"
    verdict "promtool finds no flaw" "$flaw"
else
    number=$((number + 1))
    echo "ok $number - promtool finds no flaw # SKIP promtool is not installed"
fi

call metrics --output "$dir/out.prom"
flaw=
[ "$code" = 0 ] || flaw="exit code $code: $(cat "$dir/2")"
cmp -s "$dir/out.prom" "$dir/1" && flaw="$flaw; it prints as well"
grep -q '^hpcb_info' "$dir/out.prom" || flaw="$flaw; the file has: $(cat "$dir/out.prom")"
[ "$(find "$dir" -maxdepth 1 -name '*out.prom*' | wc -l)" = 1 ] || flaw="$flaw; leftovers"
verdict "metrics --output writes the file and nothing else" "$flaw"

call metrics --output "$dir/out.prom"
printf 'guest 12 41870000 60000000 18100000 3\n' > "$dir/spool/totals"
call metrics
if [ "$(id -u)" = 0 ]; then
    prints 'hpcb_cpu_seconds_total{class="guest"} 41.870001'
else
    prints 'hpcb_cpu_seconds_total{class="guest"} 41.870000'
fi

refuses 1 'metrics: .*no/such' metrics --output "$dir/no/such/out.prom"
echo 'guest 1' > "$dir/spool/totals"
refuses 1 'totals: damaged' metrics
refuses 2 '--json is not for metrics' metrics --json
