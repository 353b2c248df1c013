#!/usr/bin/env bats
# Bad input: ten malformed values per option, and broken configuration files.  Each gives
# one clear line that names the option and the value, and a non-zero exit.

load helpers
load guest

setup_file() { cluster_up; }
teardown_file() { cluster_down; }

# refused OPTION VALUE: sbatch fails with one line of ours that names both.
refused() {
    local option=$1 value=$2 lines
    run as_user timeout -k 5 "$(secs 30)" sbatch "--$option=$value" -n1 --wrap true
    echo "--$option=$value -> $status: $output"
    [ "$status" -ne 0 ] || return 1
    lines=$(grep -c -- "--$option" <<< "$output")
    [ "$lines" -eq 1 ]
}

@test "--guest takes no value" {
    for v in yes 1 no '' ' ' true '-1' 'a=b' "$(printf 'x%.0s' {1..5000})" '%s%n'; do
        refused guest "$v"
    done
}

@test "--hpc-balance: ten malformed policies" {
    for v in '' fast AUTO2 'auto,auto' 'static' 'static:' 'static:9' 'static:1,,2' \
        'static:-1' "$(printf '1%.0s' {1..3000})" 'auto;rm -rf /' '%s%n'; do
        refused hpc-balance "$v"
    done
}

@test "--hpc-balance: policies that are not built are refused, not ignored" {
    refused hpc-balance deadline
    grep -q 'not built' <<< "$output"
}

@test "--hpc-window: ten malformed values" {
    for v in '' 1s 1s: :90% 1s:0% 1s:100% 1s:-5% 0s:50% 1e9s:50% 1y:50% nan:50% 1s:inf% 1s:90%:x; do
        refused hpc-window "$v"
    done
}

@test "--bw-profile: ten malformed values" {
    for v in '' mem mem= mem=12X mem=-1G mem=1G,mem=2G disk=1G 'mem=1G,' net=1e400 \
        cpu=101% mem=99999999999999999999G 'mem=1G;net=1G'; do
        refused bw-profile "$v"
    done
}

@test "--bw-profile: good values are accepted and kept in the tag" {
    job=$(submit --hold --bw-profile=mem=12G,net=1G,cpu=60% -n1 --wrap true)
    job_field "$job" AdminComment | grep -q '"bw"'
    cancel_all
}

@test "a guest that cannot work is refused with what to do instead" {
    for opts in --exclusive --mem=0 --gres=gpu:1 --exclusive=user; do
        run as_user timeout -k 5 "$(secs 30)" sbatch --guest $opts -n1 --wrap true
        echo "$opts -> $status: $output"
        [ "$status" -ne 0 ]
    done
    run as_user timeout -k 5 "$(secs 30)" sbatch --guest -p primary -n1 --wrap true
    echo "$output"
    [ "$status" -ne 0 ]
}

@test "configuration: unknown keys, duplicates, huge numbers and junk give one line" {
    mkdir -p "$WORK/conf"
    cd "$WORK/conf"
    printf 'NoSuchKey=1\n' > unknown
    printf 'GuestPartition=guest\nGuestPartition=other\n' > duplicate
    printf 'GuestPriority=99999999999999999999999\n' > huge
    head -c 4096 /dev/urandom > junk
    printf 'YieldSpin=-5\n' > negative
    printf 'StateDir=relative/path\n' > relative
    printf 'GuestCgroup=../../escape\n' > escape
    printf 'YieldNapMax\n' > novalue
    printf '%s=1\n' "$(printf 'A%.0s' {1..9000})" > longline
    printf 'GuestGres=maybe\n' > boolean
    for f in unknown duplicate huge junk negative relative escape novalue longline boolean missing; do
        run as_root "$HPCBCTL" --config "$WORK/conf/$f" check
        echo "$f -> $status: $output"
        [ "$status" -ne 0 ]
        [ "$(grep -c "$WORK/conf/$f" <<< "$output")" -ge 1 ]
    done
}

@test "hpcbctl: usage errors exit 2 with one line" {
    for args in '' frobnicate 'check --nope' 'job' 'job middle' 'status extra'; do
        run as_root "$HPCBCTL" $args
        echo "'$args' -> $status: $output"
        [ "$status" -eq 2 ]
    done
}

@test "slurmctld and the nodes are alive after all this" {
    run as_root sinfo -h -o %T
    [ "$status" -eq 0 ]
    not grep -qE 'down|drain|fail' <<< "$output"
}
