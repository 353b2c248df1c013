#!/usr/bin/env bats
# A queue of 200 jobs, primaries and guests of all kinds (trace-200.txt), is played twice
# on one cluster: with the guests on nodes of their own, then among the primaries, which
# have n1 to n3 in both.  Each primary must start when it does without guests.  (That the
# guests run at all costs this machine, which is all nodes in one, as much in both.)
#
# The trace's times are the jobs' StartTime, not the moment of sbatch: how fast this
# machine submits is no part of the comparison, and in both runs the jobs of one burst are
# in the queue before it begins.  Both runs count from their own zero, a full second.
#
# Tolerance: one cycle of the scheduler (sched_interval of the sandbox), and a second,
# because that is what Slurm's time stamps are rounded to.

load select

CYCLE=2 # seconds: sched_interval in sandbox/lib/conf.sh
ROUNDING=1

setup_file() {
    select_up --nodes 6 && cp "$BATS_TEST_DIRNAME/trace-200.txt" "$WORK/trace" &&
        as_root scontrol update PartitionName=primary Nodes='n[1-3]'
}

teardown_file() { sandbox_down; }
setup() { needs_plugins; }

# Submits the jobs of the trace, named by class and line, after NAME; in one go, because
# entering the sandbox takes as long as sbatch.  Only then they get their times.
play() { # play NAME
    as_user bash -s "$1" "$(node_memory)" "${HPCB_E2E_SLOWNESS:-1}" << 'END'
        name=$1 memory=$2 slow=$3 line=0 bad=0
        declare -A jobs
        while read -r at class run options; do
            line=$((line + 1))
            [[ $at != '#'* ]] || continue
            while [[ $options =~ @([0-9]+) ]]; do
                options=${options/@${BASH_REMATCH[1]}/$((memory * BASH_REMATCH[1] / 100))}
            done
            [[ $options = *--mem* ]] || options="--mem=64 ${options// : / : --mem=64 }"
            both="--job-name=$name-$class$line -t1 -o /dev/null --begin=now+1hour"
            [ "$class" = p ] || both+=" --guest --requeue"
            # shellcheck disable=SC2086 # words
            job=$(sbatch --parsable $both ${options// : / : $both } --wrap "sleep $((run * slow))") ||
                { echo "line $line" && bad=1; }
            jobs[$at]+=,$job
        done < trace
        zero=$(($(date +%s) + 3 * slow))
        echo $zero > "$name.zero"
        for at in $(printf '%s\n' "${!jobs[@]}" | sort -n); do
            scontrol update JobId="${jobs[$at]#,}" \
                StartTime="$(date -d "@$((zero + at * slow))" +%FT%T)" || bad=1
        done
        # Else the first ones were too late for their time.
        [ "$(date +%s)" -le $((zero + 5 * slow)) ] || { echo "too slow: set HPCB_E2E_SLOWNESS" && bad=1; }
        exit $bad
END
}

# Slurm keeps a requeued job back for two minutes (the life of its old credential).
release_requeued() {
    local job
    for job in $(as_root squeue -h -t PD -p guest -O JobArrayID:30,RestartCnt:10 | awk '$2 > 0 { print $1 }'); do
        as_root scontrol update JobId="$job" StartTime=now || true
    done
}

drained() { release_requeued && queue_empty; }

# NAME, second of the start after zero, nodes and state, a line each: arrays and components
# too.
starts() { # starts NAME CLASS
    as_root sh -c "SLURM_TIME_FORMAT=%s sacct -a -X -n -P -S now-15minutes -o JobName,JobID,Start,NodeList,State" |
        awk -F'|' -v name="$1" -v class="$2" -v zero="$(cat "$WORK/$1.zero")" '
            index($1, name "-" class) == 1 {
                part = $2
                sub(/^[0-9]+/, "", part)
                print substr($1, length(name) + 2) part, $3 - zero, $4, $5
            }' | sort
}

recorded() { # recorded NAME CLASS COUNT
    [ "$(starts "$1" "$2" | grep -c 'COMPLETED$')" -eq "$3" ]
}

# Jobs of a class in the trace: a task of an array and a component are one each.
jobs_of() { # jobs_of CLASS
    awk -v class="$1" '$2 == class {
        n += gsub(/ : /, " : ") + 1
        if (match($0, /--array=0-[0-9]+/)) n += substr($0, RSTART + 10, RLENGTH - 10)
    } END { print n }' "$WORK/trace"
}

play_all() { # play_all NAME NODES-OF-GUESTS
    as_root scontrol update PartitionName=guest Nodes="$2"
    play "$1"
    wait_until 120 drained || { as_root squeue; return 1; }
    wait_until 20 recorded "$1" p "$(jobs_of p)"
    wait_until 20 recorded "$1" g "$(jobs_of g)"
}

@test "200 jobs, guests and primaries apart: all end well" {
    [ $(($(jobs_of p) + $(jobs_of g))) -eq 200 ]
    play_all alone 'n[4-6]'
}

@test "guests among primaries: all end well" {
    play_all among 'n[1-3]'
    # How many depends on the moment; 0705-preempt.bats wants certain ones.
    echo "# $(grep -c 'preempted JobId=.* has been requeued' "$CTLD_LOG") guests were preempted" >&3
}

@test "each primary starts when it does without guests" {
    starts alone p > "$WORK/alone.starts"
    starts among p > "$WORK/among.starts"
    [ "$(wc -l < "$WORK/alone.starts")" -eq "$(jobs_of p)" ]
    late=$(join "$WORK/alone.starts" "$WORK/among.starts" |
        awk -v most=$(((CYCLE + ROUNDING) * ${HPCB_E2E_SLOWNESS:-1})) '
            { d = $5 - $2; sum += d; if (d > max) max = d; if (d < min) min = d }
            $3 != $6 { elsewhere++ }
            d > most || d < -most { print $1 ": at " $2 " s on " $3 " alone, at " $5 " s on " $6 " among guests" }
            END { printf "# %d primaries: %+.2f s on average, %+d to %+d s; %d on other nodes\n", NR, sum / NR, min, max, elsewhere > "/dev/stderr" }
        ' 2> "$WORK/summary")
    cat "$WORK/summary" >&3
    echo "$late"
    [ -z "$late" ] || join "$WORK/alone.starts" "$WORK/among.starts"
    [ -z "$late" ]
}
