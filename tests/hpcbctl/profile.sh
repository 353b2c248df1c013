#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# hpcbctl profile show, set, forget, learn, in a directory of its own.
hpcbctl=${HPCB_BUILDDIR:-.}/hpcbctl/hpcbctl
number=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
umask 022
HPC_BALANCE_CONF=$dir/hpc-balance.conf
store=$dir/spool/profiles.json
TZ=UTC
export HPC_BALANCE_CONF TZ
echo "ProfileStore=$store" > "$HPC_BALANCE_CONF"
me=$(id -u)
echo 1..63

verdict() { # verdict DESCRIPTION FLAW
    number=$((number + 1))
    echo "${2:+not }ok $number - $1"
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

call() { # call ARG...: sets code; its output is in $dir/1 and $dir/2
    timeout 20 "$hpcbctl" profile "$@" > "$dir/1" 2> "$dir/2" < /dev/null
    code=$?
}

works() { # works PATTERN ARG...: exit code 0, nothing on stderr, PATTERN on stdout
    pattern=$1 flaw=
    shift
    call "$@"
    [ "$code" = 0 ] || flaw="exit code $code"
    [ ! -s "$dir/2" ] || flaw="$flaw; stderr: $(cat "$dir/2")"
    grep -qE -e "$pattern" "$dir/1" || flaw="$flaw; it prints: $(cat "$dir/1")"
    verdict "$*: $pattern" "$flaw"
}

silent() { # silent ARG...: exit code 0 and not a word
    flaw=
    call "$@"
    [ "$code" = 0 ] || flaw="exit code $code"
    [ ! -s "$dir/1" ] && [ ! -s "$dir/2" ] || flaw="$flaw; it says $(cat "$dir/1" "$dir/2")"
    verdict "$1" "$flaw"
}

fails() { # fails CODE WORDS ARG...: one line on stderr that has WORDS
    expected=$1 words=$2 flaw=
    shift 2
    call "$@"
    [ "$code" = "$expected" ] || flaw="exit code $code, not $expected"
    [ "$(wc -l < "$dir/2")" -eq 1 ] || flaw="$flaw; not one line"
    grep -qF -e "$words" "$dir/2" || flaw="$flaw; it says: $(cat "$dir/2")"
    LC_ALL=C grep -q '[[:cntrl:]]' "$dir/2" && flaw="$flaw; control characters"
    verdict "$words" "$flaw"
}

shows() { # shows PATTERN ARG...: as works, of show
    pattern=$1
    shift
    works "$pattern" show "$@"
}

lacks() { # lacks PATTERN ARG...: show prints no such line
    pattern=$1 flaw=
    shift
    call show "$@"
    [ "$code" = 0 ] || flaw="exit code $code"
    grep -qE -e "$pattern" "$dir/1" && flaw="$flaw; it prints: $(cat "$dir/1")"
    verdict "show $* does not print $pattern" "$flaw"
}

record() { # record JOB NODE CPU_SECONDS MEMBERS: a run of 10 s on 2 CPUs
    cat > "$dir/$1.$2.json" << END
{"version":1,"job_id":$1,"node":"$2","cluster":"c","class":"primary","policy":"none","user_id":$me,"partition":"p","begin":1000.000000,"end":1010.000000,"wall_seconds":10.000000,"cpus":2,"cpu_seconds":$3,"run_delay_seconds":0.000000,"memory_peak_bytes":0,"efficiency":null,"stolen_fraction":null$4}
END
}

# ---- An empty store ----

shows '^No profiles\.$'
shows '"profiles": *\[' --json
fails 1 "no such profile" forget --all
[ ! -e "$store" ] && flaw='' || flaw="it is there"
verdict "nothing was written" "$flaw"

# ---- set, show, forget ----

silent set --user "$me" --name CG --executable /opt/cg.B.4 mem=12G,net=1.5M,cpu=60%
silent set -u root -n 'a b%' mem=1K
shows "CG +cg\.B\.4 +12\.0G \(0%\) +1\.5M \(0%\) +60% +- +set  20"
shows '^root +a b%25 +- +1\.0K' --user root
lacks 'CG' --name 'a b%'
lacks 'a b' --executable /x/cg.B.4
lacks 'CG' --user 4294967294
shows '"mean": *12884901888' --json -n CG
shows '"fixed": *true' --json -n CG
works '^1 forgotten$' forget --name 'a b%'
fails 1 "no such profile" forget --name 'a b%'
works '"forgotten": 1' forget --json --user "$me" --executable cg.B.4

# ---- learn ----

record 1 n1 20.000000 ',"job_name":"CG","executable":"cg.B.4","memory_bytes":1000,"network_bytes":0'
record 1 n2 10.000000 ',"job_name":"CG","executable":"cg.B.4","memory_bytes":3000,"network_bytes":0'
record 2 n1 10.000000 ',"job_name":"CG","executable":"cg.C.4","memory_bytes":6000'
works '^2 records, 1 runs learned: memory of 1, network of 1, CPU of 1, peak memory of 0$' learn "$dir/1.n1.json" "$dir/1.n2.json"
shows 'CG +cg\.B\.4 +200\.0 \(0%\) +0\.0 \(0%\) +75% +- +1 '
shows 'CG +- +200\.0 \(0%\) +0\.0 \(0%\) +75% +- +1 '
works '"runs": 1, "refused": 0, "with_mem": 1, "with_net": 0, "with_cpu": 1, "with_peak": 0' learn --json "$dir/2.n1.json"
shows 'CG +cg\.C\.4 +600\.0 \(0%\) +- +50% +- +1 '
shows 'CG +- +400\.0 \(50%\) +0\.0 \(0%\) +62% +- +2 '
works 'runs learned' learn --name EP --executable ep "$dir/1.n1.json"
shows 'EP +ep +100\.0 '
# A job needs as much memory on each node as on the one that needs most.
for node in n1:4096 n2:8192; do
    record 4 "${node%:*}" 10.000000 ',"job_name":"FT","executable":"ft"'
    sed -i "s/memory_peak_bytes\":0/memory_peak_bytes\":${node#*:}/" "$dir/4.${node%:*}.json"
done
works 'peak memory of 1$' learn "$dir/4.n1.json" "$dir/4.n2.json"
shows 'FT +ft +- +- +50% +8\.0K \(0%\) +1 '
# Of nodes with fewer tasks than they can have only the part of the CPUs holds.
record 5 n1 10.000000 ',"job_name":"IS","executable":"is","memory_bytes":6000,"spread":true'
works 'memory of 0, network of 0, CPU of 1, peak memory of 0$' learn "$dir/5.n1.json"
works '^0 records, 0 runs' learn --user 4294967294 "$dir/1.n1.json"
silent set -u "$me" -n EP -e ep mem=5
works 'runs learned' learn --name EP --executable ep "$dir/1.n1.json"
shows 'EP +ep +5\.0 \(0%\) +- +- +- +set '
silent set -u "$me" -n "$(printf 'x\n\033')" mem=1
shows 'x%0A%1B '

# ---- learn from what the collector has merged ----

merged() { # merged JOB RESTART NAME EFFICIENCY MEM
    cat << END
{"version":1,"kind":"job","cluster":"c","job_id":$1,"restart":$2,"user_id":$me,"user":"u","partition":"p","job_name":"$3","executable":"/bin/x","class":"guest","efficiency":$4,"mem_bandwidth":$5,"net_bandwidth":null,"evictions":0,"node_records":[]}
END
}

# A later line of a run replaces an earlier one; the last one is being written.
day=$dir/2026-11-21.jsonl
{
    merged 11 0 MG 0.900000 null
    merged 12 0 MG 0.500000 '{"mean":1024,"p95":9}'
    echo
    merged 11 0 MG 0.500000 '{"mean":1024.5,"p95":9}'
    merged 12 1 MG 0.500000 null
    merged 13 0 M%25%C3%A9 0.250000 null
    merged 14 0 MG 0.100000 null | cut -c 1-90 | tr -d '\n'
} > "$day"
works '^5 records, 4 runs learned: memory of 2, network of 0, CPU of 4, peak memory of 0$' learn "$day"
shows '^[^ ]+ +MG +x +1\.0K \(0%\) +- +50% +- +3 '
shows 'M%25%C3%A9 +x +- +- +25%'
shows 'M%25%C3%A9' --name "$(printf 'M%%\303\251')"
merged 15 0 LU 0.250000 null > "$dir/cpu.jsonl"
works '^No record says what bytes its job moved: ' learn "$dir/cpu.jsonl"
record 16 n1 20.000000 ',"job_name":"BT","executable":"bt"'
merged 16 0 BT 0.250000 null | sed 's,/bin/x,bt,' > "$dir/bt.jsonl"
merged 18 0 SP 0.250000 '{"mean":1024,"p95":9},"spread":true' > "$dir/sp.jsonl"
works 'memory of 0, network of 0, CPU of 1, peak memory of 0$' learn "$dir/sp.jsonl"
works '^2 records, 1 runs' learn "$dir/bt.jsonl" "$dir/16.n1.json"
shows 'BT +bt +- +- +25% +.*1 '
# Slurm may give an id again.
record 19 n1 20.000000 ',"job_name":"LU","executable":"lu","submit":1700000000'
record 19 n2 20.000000 ',"job_name":"LU","executable":"lu","submit":1760000000'
works '^2 records, 2 runs learned' learn "$dir/19.n1.json" "$dir/19.n2.json"
merged 17 0 M%zz 0.250000 null > "$dir/bad.jsonl"
fails 1 "bad.jsonl, line 1: its job_name or executable is none" learn "$dir/bad.jsonl"
merged 0 0 MG 0.250000 null > "$dir/bad.jsonl"
fails 1 "bad.jsonl, line 1: not a record of a job" learn "$dir/bad.jsonl"
merged 1 0 MG -1 '{"mean":-5}' > "$dir/odd.jsonl"
works '1 runs learned: memory of 0, network of 0, CPU of 0' learn "$dir/odd.jsonl"

# ---- What cannot be ----

record 3 n1 10.000000 ''
fails 1 "3.n1.json, line 1: it holds no job_name: give --name" learn "$dir/3.n1.json"
echo '{"version":1' > "$dir/bad.json"
fails 1 "bad.json, line 1: not a record" learn "$dir/1.n1.json" "$dir/bad.json"
shows 'CG +cg\.B\.4 +.* +2 '
fails 1 "No such file" learn "$dir/none.json"
fails 1 "--user=no?body: no such user" show --user "$(printf 'no\nbody')"
fails 2 "give --user, --name and one profile" set --user root mem=1G
fails 2 "give --user, --name and one profile" set --user root --name x
fails 2 "--bw-profile=mem=x: allowed" set --user root --name x mem=x
fails 2 "1 to 255 bytes" set --user root --name '' mem=1
fails 2 "give --user, --name or --executable, or --all alone" forget
fails 2 "give --user, --name or --executable, or --all alone" forget --all --name x
fails 2 "takes no argument" show CG
fails 2 "give the records to learn from" learn
fails 2 "profile: give show, set, forget or learn" teach
fails 2 "profile: --all is for profile forget" show --all
echo 'GuestGres=maybe' > "$HPC_BALANCE_CONF"
fails 1 "GuestGres=maybe" show
echo "ProfileStore=$store" > "$HPC_BALANCE_CONF"
printf '{' > "$store"
fails 1 "profiles.json is not a profile store: not one JSON object" show
fails 1 "is not a profile store" set -u root -n x mem=1
