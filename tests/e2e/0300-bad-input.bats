#!/usr/bin/env bats
# Bad input: ten malformed values per option, and broken configuration files.  Each gives
# one clear line that names the option and the value, and a non-zero exit.

load helpers
load guest

setup_file() { cluster_up; }
teardown_file() { cluster_down; }

# sbatch fails with each of these, and with one line of ours that names option and value.
refused() { # refused OPTION VALUE...
    # shellcheck disable=SC2016 # expanded in the sandbox: to enter it costs more than sbatch
    run as_user bash -c '
        limit=$1 option=--$2 wrong=0
        shift 2
        for value; do
            output=$(timeout -k 5 "$limit" sbatch "$option=$value" -n1 --wrap true 2>&1)
            status=$?
            printf "%s=%s -> %s: %s\n" "$option" "$value" $status "$output"
            [ $status -ne 0 ] && [ "$(grep -c -- "$option" <<< "$output")" -eq 1 ] || wrong=1
        done
        exit $wrong' refused "$(secs 30)" "$@"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "--guest takes no value" {
    refused guest yes 1 no '' ' ' true '-1' 'a=b' "$(printf 'x%.0s' {1..5000})" '%s%n'
}

@test "--hpc-balance: ten malformed policies" {
    refused hpc-balance '' fast AUTO2 'auto,auto' 'static' 'static:' 'static:9' 'static:1,,2' \
        'static:-1' "$(printf '1%.0s' {1..3000})" 'auto;rm -rf /' '%s%n'
}

@test "--hpc-balance: policies that are not built are refused, not ignored" {
    refused hpc-balance deadline
    grep -q 'not built' <<< "$output"
}

@test "--hpc-window: ten malformed values" {
    refused hpc-window '' 1s 1s: :90% 1s:0% 1s:100% 1s:-5% 0s:50% 1e9s:50% 1y:50% nan:50% \
        1s:inf% 1s:90%:x
}

@test "--hpc-window: a longer period than WindowMaxPeriod is refused with what is allowed" {
    run as_user timeout -k 5 "$(secs 30)" sbatch --hpc-window=3600s:94% -n1 --wrap true
    [ "$status" -ne 0 ]
    grep -q -- '--hpc-window=3600s:94%.*up to 10s (WindowMaxPeriod)' <<< "$output"
}

@test "--bw-profile: ten malformed values" {
    refused bw-profile '' mem mem= mem=12X mem=-1G mem=1G,mem=2G disk=1G 'mem=1G,' net=1e400 \
        cpu=101% mem=99999999999999999999G 'mem=1G;net=1G'
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
    # shellcheck disable=SC2016 # expanded in the sandbox
    as_root bash -c '
        for name in unknown duplicate huge junk negative relative escape novalue longline \
            boolean missing; do
            output=$("$1" --config "$2/$name" check 2>&1)
            status=$?
            echo "$name -> $status: $output"
            [ $status -ne 0 ] && grep -q "$2/$name" <<< "$output" || wrong=1
        done
        exit ${wrong:-0}' check "$HPCBCTL" "$WORK/conf"
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
