# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# The cases of mpi-suites: reads the lists of cases, runs one case without and with the
# library, and judges it.  Sourced by mpi-suites, which sets library, limit (seconds a
# run), results (a directory) and, for each MPI, launcher and mpi_version.
#
# A case is a line as in MPICH's testlist, with the suite and the directory in front:
#   mpich coll/allred 4 arg=-count=10 timeLimit=60
# shellcheck shell=bash disable=SC2154

declare -A titles=([openmpi]="Open MPI" [mpich]=MPICH)

# Read a line into case_*; what is malformed gets its default, what is unknown is noted in
# case_unknown.  Return 1 if the line has no case.
read_case() { # read_case LINE
    local word words
    read -ra words <<< "${1%%#*}"
    [ ${#words[@]} -ge 2 ] || return
    case_suite=${words[0]} case_program=${words[1]} case_ranks=2
    case_limit=$limit case_result='' case_xfail='' case_memory=0 case_least=0
    case_env=() case_args=() case_launch=() case_unknown=()
    [[ $case_program =~ ^[A-Za-z0-9_][A-Za-z0-9_./+-]*$ && $case_program != *..* ]] || return
    [[ ! ${words[2]:-} =~ ^[1-9][0-9]{0,3}$ ]] || case_ranks=${words[2]}
    for word in "${words[@]:2}"; do read_key "$word"; done
}

read_key() { # read_key KEY=VALUE
    local value=${1#*=}
    case $1 in
    arg=*) case_args+=("$value") ;;
    env=?*=*) case_env+=("$value") ;;
    mpiexecarg=*) case_launch+=("$value") ;;
    resultTest=*) case_result=$value ;;
    xfail=?*) case_xfail=$value ;;
    timeLimit=*) [[ ! $value =~ ^[1-9][0-9]{0,4}$ ]] || case_limit=$((value * limit_factor)) ;;
    mem=*) [[ ! $value =~ ^[0-9]{1,4}(\.[0-9]*)?$ ]] || case_memory=$value ;;
    mpiversion=*) [[ ! $value =~ ^[0-9]\.[0-9]$ ]] || case_least=$value ;;
    # Not for what is run here: strictness is configured, cases of one directory that
    # share a file are locked by us, graphics processors are not used.
    strict=* | mpix=* | lock=* | init=* | memtype=*) ;;
    *=*) case_unknown+=("$1") ;;
    esac
}

case_name() {
    local words=("$case_program" "$case_ranks" "${case_args[@]}" "${case_env[@]}")
    [ "$case_suite" = mpich ] || words[0]=$case_suite/$case_program
    echo "${words[*]} (${titles[$mpi]})"
}

# The cases of MPICH's suite in a built tree.  testlist.cvar chooses algorithms of MPICH's
# own, which no other MPI has.
mpich_cases() { # mpich_cases TREE [DIR]
    local tree=$1 dir=${2:-} list line word
    for list in testlist testlist.dtp testlist.cvar; do
        [ -r "$tree/$dir/$list" ] || continue
        [ $list != testlist.cvar ] || [ "$mpi" = mpich ] || continue
        while IFS= read -r line || [ -n "$line" ]; do
            line=${line%%#*}
            read -r word _ <<< "${line//$'\r'/}"
            case $word in '' | '!'*) continue ;; esac
            if [ ! -d "$tree/$dir/$word" ]; then
                echo "mpich ${dir:+$dir/}${line//$'\r'/}" | tr -s ' \t' ' ' | sed 's|/ |/|'
            elif [ $list = testlist ]; then
                mpich_cases "$tree" "${dir:+$dir/}$word"
            fi
        done < "$tree/$dir/$list"
    done
}

mpi4py_cases() { # mpi4py_cases TREE
    local file ranks
    for file in "$1"/test/test_*.py; do
        file=${file##*/}
        for ranks in 2 3; do echo "mpi4py ${file%.py} $ranks"; done
    done
}

# Every process of a session and what left it, known by a mark in its environment.
members() { # members SESSION MARK
    {
        ps -o stat=,pid= -s "$1" | awk '!/^Z/ { print $2 }'
        grep -lszxF "HPCB_SUITES_RUN=$2" /proc/[0-9]*/environ | cut -d/ -f3
    } 2> /dev/null | sort -u
}

end_session() { # end_session SESSION MARK
    local pids none=0 tries=50
    while [ $((tries--)) -gt 0 ]; do
        mapfile -t pids < <(members "$1" "$2")
        if [ ${#pids[@]} -gt 0 ]; then
            none=0
            kill -KILL "${pids[@]}" 2> /dev/null
        else
            # One that leaves the session, or begins a program, may be missed once.
            [ $((++none)) -lt 2 ] || return 0
        fi
        sleep 0.02
    done
    echo "# processes of a run that do not end: ${pids[*]}" >&2
}

# Run a command in a session of its own, whose processes all end with it; set status and
# took (milliseconds).
run() { # run OUT SECONDS DIR CMD...
    local out=$1 seconds=$2 dir=$3 mark=$$.$BASHPID.$RANDOM start=${EPOCHREALTIME/./}
    shift 3
    (cd "$dir" && HPCB_SUITES_RUN=$mark exec setsid timeout -k 5 "$seconds" "$@") \
        > "$out" 2>&1 < /dev/null &
    session=$!
    # shellcheck disable=SC2064 # the run of this moment
    trap "exec 2> /dev/null; end_session $session $mark; exit 130" INT TERM HUP
    wait $session
    status=$?
    end_session $session "$mark"
    trap - INT TERM HUP
    took=$(((${EPOCHREALTIME/./} - start) / 1000))
}

# What a rank runs.
case_command() {
    case $case_suite in
    mpich) echo "./${case_program##*/}" ;;
    mpi4py) printf '%s\n' "$tree/venv/bin/python" main.py -q "$case_program" ;;
    esac
}

case_dir() {
    case $case_suite in
    mpich) dirname "$tree/$case_program" ;;
    mpi4py) echo "$tree/test" ;;
    esac
}

# Run the case once, and count it in runs, passes and milliseconds; last is pass, fail or
# hang.
attempt() { # attempt without|with SECONDS
    local environment=("${case_env[@]}") command launch=("${launcher[@]}" "${case_launch[@]}")
    mapfile -t command < <(case_command)
    [ "$1" = without ] || environment+=("LD_PRELOAD=$library")
    run "$out.$1" "$2" "$(case_dir)" \
        "${launch[@]}" -n "$case_ranks" env "${environment[@]}" "${command[@]}" "${case_args[@]}"
    runs[$1]=$((runs[$1] + 1)) milliseconds[$1]=$took
    if [ "$took" -ge $(($2 * 1000)) ]; then
        last=hang hangs[$1]=$((hangs[$1] + 1))
    elif "passed_$case_suite" "$out.$1"; then
        last=pass passes[$1]=$((passes[$1] + 1))
    else
        last=fail
    fi
}

# As MPICH's runtests has it: any other line of output is an error.
only_no_errors() {
    grep -qE '^[[:space:]]*No [Ee]rrors[[:space:]]*$' "$1" &&
        ! grep -vE '^[[:space:]]*(No [Ee]rrors|Test Passed)[[:space:]]*$|FORTRAN STOP' "$1" |
        grep -q .
}

passed_mpich() {
    case $case_result in
    TestErrFatal | TestStatus) [ "$status" -ne 0 ] ;;
    TestStatusNoErrors) [ "$status" -ne 0 ] && only_no_errors "$1" ;;
    *) [ "$status" -eq 0 ] && only_no_errors "$1" ;;
    esac
}

# The ranks' lines of output mix.
passed_mpi4py() {
    [ "$status" -eq 0 ] && grep -q 'Ran [1-9]' "$1" && ! grep -q 'cannot be preloaded' "$1"
}

more_memory_than() { # more_memory_than GIGABYTES
    awk -v need="$1" '/^MemAvailable:/ { exit !($2 / 1048576 > need) }' /proc/meminfo
}

# Prints why a case cannot be run here.
case_obstacle() {
    if [ "$case_suite" = mpich ] && [ ! -x "$tree/$case_program" ]; then
        echo "does not compile with this MPI"
    elif [ "$case_suite" = mpi4py ] && [ ! -r "$tree/test/$case_program.py" ]; then
        echo "not in this mpi4py"
    elif [ -n "$case_xfail" ] && [ "$mpi" = mpich ]; then
        echo "expected to fail: $case_xfail"
    elif [ "${case_least/./}" -gt "${mpi_version/./}" ]; then
        echo "needs MPI $case_least"
    elif ! more_memory_than "$case_memory"; then
        echo "needs $case_memory GB of memory"
    fi
}

failures() { # failures without|with
    local text="$((runs[$1] - passes[$1])) of ${runs[$1]}"
    [ "${hangs[$1]}" -eq 0 ] || text+=" (${hangs[$1]} did not end)"
    echo "$text"
}

# Sets verdict (ok, skip, not ok) and reason.  A case that fails with the library alone gets
# two more runs of each kind.
judge() {
    local without often
    reason=$(case_obstacle) verdict=skip
    [ -z "$reason" ] || return
    attempt without "$case_limit"
    without=$last
    reason="does not end without the library"
    [ "$without" != hang ] || return
    # What takes far longer than without does not end.
    often=$((60 * limit_factor + 10 * took / 1000))
    [ $often -lt "$case_limit" ] || often=$case_limit
    attempt with $often
    if [ "$without" = fail ]; then
        reason="fails without the library"
        [ $last = pass ] || reason+=" too"
        return
    fi
    verdict=ok reason=
    [ $last != pass ] || return
    cp "$out.with" "$out.failed"
    for _ in 1 2; do
        attempt without "$case_limit"
        attempt with $often
    done
    reason="fails $(failures with) with the library, $(failures without) without"
    if [ "${passes[with]}" -eq 2 ]; then
        return
    elif [ "${passes[with]}" -ge "${passes[without]}" ]; then
        verdict=skip
    else
        verdict="not ok"
    fi
}

report_tap() { # report_tap NUMBER
    case $verdict in
    skip) echo "ok $1 - $(case_name) # SKIP $reason" ;;
    *) echo "$verdict $1 - $(case_name)${reason:+ # $reason}" ;;
    esac
    [ "$verdict" != "not ok" ] || tail -n 15 "$out.failed" | sed 's/^/#   /'
    [ ${#case_unknown[@]} -eq 0 ] || echo "# unknown to mpi-suites: ${case_unknown[*]}"
}

json_string() { # json_string TEXT
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

report_json() { # report_json
    local kind
    printf '{"suite": "%s", "mpi": "%s", "name": %s, "ranks": %d, "result": "%s", "reason": %s' \
        "$case_suite" "$mpi" "$(json_string "$(case_name)")" "$case_ranks" "$verdict" \
        "$(json_string "$reason")"
    for kind in without with; do
        printf ', "%s": {"runs": %d, "passes": %d, "hangs": %d, "ms": %d}' $kind \
            "${runs[$kind]}" "${passes[$kind]}" "${hangs[$kind]}" "${milliseconds[$kind]}"
    done
    echo '}'
}

# One case, from its line to what is reported, in files NUMBER.* of results.
run_case() { # run_case NUMBER LINE
    local out=$results/$1 lock dir
    local -A runs=([without]=0 [with]=0) passes=([without]=0 [with]=0)
    local -A hangs=([without]=0 [with]=0) milliseconds=([without]=0 [with]=0)
    read_case "$2" || return
    dir=$(case_dir)
    # Programs of one directory may write the same file.
    if [[ $dir == */io ]] && [ -d "$dir" ]; then exec {lock}< "$dir" && flock $lock; fi
    judge
    if [ "$json" = yes ]; then report_json; else report_tap "$1"; fi > "$out.report"
    [ "$verdict" != "not ok" ] || touch "$results/failed"
    rm -f "$out".{with,without,failed}
}
