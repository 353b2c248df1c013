# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# Runs the programs of this directory with and without the library under one MPI and
# compares what every rank writes and the exit code; TAP on stdout.  Sourced by
# compare-openmpi and compare-mpich, which set mpi and version (what its launcher says).
# $HPCB_BUILDDIR has the programs.
# shellcheck shell=bash disable=SC2154

set -u

programs=$HPCB_BUILDDIR/tests/mpi
library=$HPCB_BUILDDIR/.libs/libhpcb_mpi.so
tool=$programs/tool.$mpi.so
# Seconds a run: most take less than one, but ranks that poll wait long for one another
# on a loaded machine.
limit=$((60 * ${CK_TIMEOUT_MULTIPLIER:-1}))
count=0

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# The launcher under its Debian name, or under the common one if it is this MPI's.
find_launcher() {
    local name
    for name in "mpiexec.$mpi" mpiexec; do
        if "$name" --version 2>/dev/null | grep -qi "$version"; then
            echo "$name"
            return
        fi
    done
    return 1
}

launch() {
    local ranks=$1
    shift
    case $mpi in
    openmpi)
        # By default it does not use the loopback interface, and on a machine with no other
        # Open MPI 5 waits for ever for the programs that it spawned.
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_tcp_if_include=lo \
            timeout -k 5 $limit "$launcher" -n "$ranks" --oversubscribe --bind-to none "$@"
        ;;
    mpich)
        timeout -k 5 $limit "$launcher" -n "$ranks" "$@"
        ;;
    esac
}

# run OUT RANKS PRELOAD PROGRAM [ARGUMENT...]: everything that comes of it, in file OUT.
run() {
    local out=$1 ranks=$2 preload=$3 program=$4 code=0 file
    shift 4
    # Both runs of one that is not there would be the same.
    if [[ $program == "$programs"/* && ! -x $program ]]; then
        echo "Bail out! $program is not built"
        exit 1
    fi
    rm -rf "$work/ranks"
    mkdir "$work/ranks"
    HPCB_TEST_OUT=$work/ranks/out \
        launch "$ranks" env ${preload:+LD_PRELOAD="$preload"} "$program" "$@" \
        >"$out.log" 2>&1 </dev/null || code=$?
    for file in "$work"/ranks/out.*; do
        echo "== ${file##*.}"
        cat "$file"
    done >"$out"
    echo "== exit code $code" >>"$out"
}

explain() {
    local file
    for file in "$@"; do
        sed 's/^/# /' "$file"
    done
}

ok() {
    count=$((count + 1))
    echo "ok $count - $1"
}

not_ok() {
    count=$((count + 1))
    echo "not ok $count - $1"
}

ended_by_limit() { # ended_by_limit FILE
    grep -qE '^== exit code (124|137)$' "$1"
}

# A run that did not end, as it may without the library: ten more of those tell.
hangs_by_itself() { # hangs_by_itself RANKS PROGRAM [ARGUMENT...]
    local ranks=$1 tries=10
    shift
    ended_by_limit "$work/without" && return
    ended_by_limit "$work/with" || return
    while [ $tries -gt 0 ]; do
        run "$work/alone" "$ranks" '' "$@"
        ended_by_limit "$work/alone" && return
        tries=$((tries - 1))
    done
    return 1
}

# difference WITHOUT WITH: of what two runs wrote; it says which line is of which run.
difference() {
    diff -u -L 'without the library' -L 'with the library' "$1" "$2" >"$work/diff"
}

# same NAME RANKS PROGRAM [ARGUMENT...]: what $work/without and $work/with say, but for
# who spins and who sleeps.
same() {
    if difference <(grep -vi sleeps "$work/without") <(grep -vi sleeps "$work/with"); then
        ok "$1"
    elif hangs_by_itself "${@:2}"; then
        ok "$1 # SKIP this MPI hangs in it without the library"
    else
        not_ok "$1"
        explain "$work/diff" "$work/with.log"
    fi
}

# sleeps NAME: the last run with the library slept wherever it had to wait long, and
# came to its end.
sleeps() {
    grep -E 'spins|did not wait|sleeps:? *(0|F)' "$work/with" >"$work/spins"
    grep 'exit code [^0]' "$work/with" >>"$work/spins"
    if grep -q sleeps "$work/with" && [ ! -s "$work/spins" ]; then
        ok "$1"
    else
        not_ok "$1"
        explain "$work/spins" "$work/with.log"
    fi
}

# Whether every call slept in the last run.
all_slept() {
    ! grep -qE 'spins|did not wait|sleeps:? *(0|F)|exit code [^0]' "$work/with"
}

# sleeps_again NAME PROGRAM: of the last run or of another one: on a busy machine a rank
# is awake for longer.
sleeps_again() {
    local tries=2
    while [ $tries -gt 0 ] && ! all_slept; do
        run "$work/with" 2 "$library" "$2"
        tries=$((tries - 1))
    done
    sleeps "$1"
}

# naps_sleep NAME PRELOAD
naps_sleep() {
    local library=$2
    run "$work/with" 2 "$library" "$programs/naps.$mpi"
    sleeps_again "$1" "$programs/naps.$mpi"
}

# compare NAME RANKS PROGRAM [ARGUMENT...]
compare() {
    local name=$1 ranks=$2
    shift 2
    run "$work/without" "$ranks" '' "$@"
    run "$work/with" "$ranks" "$library" "$@"
    same "$name" "$ranks" "$@"
}

# The same for a program that says that there is "no" WHAT in an older MPI.
compare_new() { # compare_new WHAT NAME RANKS PROGRAM [ARGUMENT...]
    local what=$1
    shift
    run "$work/without" "${@:2:1}" '' "${@:3}"
    if grep -q "^no $what" "$work/without"; then
        ok "$1 # SKIP this MPI has no $what"
        return
    fi
    run "$work/with" "${@:2:1}" "$library" "${@:3}"
    same "$@"
}

# stacked NAME WITHOUT WITH PROGRAM: the same for two values of LD_PRELOAD.
stacked() {
    run "$work/without" 2 "$2" "$4"
    run "$work/with" 2 "$3" "$4"
    same "$1" 2 "$4"
}

fortran() {
    local module=$1
    if [ ! -x "$programs/$module.$mpi" ]; then
        ok "$module # SKIP no Fortran compiler for this MPI"
        return
    fi
    compare "$module" 2 "$programs/$module.$mpi"
    sleeps_again "$module sleeps" "$programs/$module.$mpi"
}

over_tcp() {
    local ranks=3
    export OMPI_MCA_btl=tcp,self UCX_TLS=tcp,self
    compare 'messages over TCP' 2 "$programs/messages.$mpi"
    # Three ranks on two CPUs often hang in MPICH 4.0's MPI_Finalize over TCP, without the
    # library as well.
    [ "$mpi" = openmpi ] || ranks=2
    compare 'collectives over TCP' $ranks "$programs/collectives.$mpi"
    naps_sleep 'every call sleeps over TCP' "$library"
    sessions 'over TCP'
    unset OMPI_MCA_btl UCX_TLS
}

# A directory with an mpi.h of the standard ABI of MPI 5, which is the same for all.
abi_headers() {
    local dir
    for dir in $(mpicc.openmpi --showme:incdirs 2>/dev/null) \
        $(mpicc.mpich -show 2>/dev/null | grep -o -- '-I[^ ]*' | cut -c 3-); do
        [ ! -e "$dir/standard_abi/mpi.h" ] || echo "$dir/standard_abi"
        [ ! -e "$dir/mpi_abi.h" ] || echo "$dir"
    done | head -n 1
}

compile_abi() { # compile_abi OUT SOURCE [OPTION...]
    cc -w -DMPI_ABI -I"$headers" -I"$HPCB_SRCDIR/tests/mpi" "${@:3}" -o "$1" \
        "$HPCB_SRCDIR/tests/mpi/$2" "$work/abi/libmpi_abi.so.1" >>"$work/cc.log" 2>&1
}

# Handles are other things there: the library does not look at them.
standard_abi() {
    local headers library_of_abi name='the standard ABI'
    headers=$(abi_headers)
    library_of_abi=$(cc -print-file-name="libmpi_abi_$mpi.so.1.0.0" 2>/dev/null)
    if [ -z "$headers" ] || [ ! -e "$library_of_abi" ]; then
        ok "$name # SKIP this MPI does not have it"
        return
    fi
    mkdir "$work/abi"
    ln -s "$library_of_abi" "$work/abi/libmpi_abi.so.1"
    if ! compile_abi "$work/abi/messages" messages.c ||
        ! compile_abi "$work/abi/module.so" module.c -shared -fPIC; then
        not_ok "$name"
        explain "$work/cc.log"
        return
    fi
    local -x LD_LIBRARY_PATH=$work/abi${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    compare "$name" 2 "$work/abi/messages"
    compare "$name in a module" 2 "$programs/dlopened.$mpi" "$work/abi/module.so"
    sleeps "$name sleeps"
}

naps() {
    naps_sleep 'every call sleeps' "$library"
    naps_sleep 'every call sleeps behind another tool' "$tool:$library"
    naps_sleep 'every call sleeps in front of another tool' "$library:$tool"
    export HPCB_YIELD_SPIN=-5 HPCB_YIELD_NAP_MAX=1e9
    naps_sleep 'malformed settings are the defaults' "$library"
    unset HPCB_YIELD_SPIN HPCB_YIELD_NAP_MAX
}

stacks() {
    local messages=$programs/messages.$mpi
    stacked 'another tool sees the same in front' "$tool" "$tool:$library" "$messages"
    stacked 'another tool sees the same behind' "$tool" "$library:$tool" "$messages"
    export TOOL_NEXT=1
    stacked 'one that asks for the next symbol, in front' \
        "$tool" "$tool:$library" "$messages"
    stacked 'one that asks for the next symbol, behind' \
        "$tool" "$library:$tool" "$messages"
    unset TOOL_NEXT
    stacked 'only the library leaves LD_PRELOAD' \
        "$tool" "$tool:$library" "$programs/life.$mpi"
}

# observe OUT RANKS PROGRAM: run, each rank with a page of its own.
observe() {
    local out=$1 ranks=$2 page
    rm -rf "$work/pages"
    mkdir "$work/pages"
    for page in $(seq 0 $((ranks - 1))); do
        truncate -s 256 "$work/pages/page.$page"
    done
    # shellcheck disable=SC2016
    HPCB_TEST_PAGE=$work/pages/page run "$out" "$ranks" "$library" sh -c \
        'HPCB_PAGE=$HPCB_TEST_PAGE.${OMPI_COMM_WORLD_RANK:-$PMI_RANK} exec "$@"' sh "$3"
}

# The same as without the library, also while it observes.
observed() {
    local program=$programs/$2.$mpi
    run "$work/without" "$1" '' "$program"
    observe "$work/with" "$1" "$program"
    same "$2 observed" "$1" "$program"
    HPCB_YIELD=off observe "$work/with" "$1" "$program"
    same "$2 observed, without sleeps" "$1" "$program"
}

expect() { # expect NAME LINE...: in what the last run of each rank wrote
    local name=$1 line
    shift
    for line in "$@"; do
        if [ "$(grep -cx "$line" "$work/with")" -ne 2 ]; then
            not_ok "$name"
            explain "$work/with" "$work/with.log"
            return
        fi
    done
    ok "$name"
}

iterations() {
    local lines=('period 2' 'iterations: 1' 'samples: 1' 'mostly .*: 1' 'in a call: 0'
        'child: 0' 'at the end: 0')
    observe "$work/with" 2 "$programs/iterations.$mpi"
    expect 'iterations' "${lines[@]}"
    HPCB_YIELD=off observe "$work/with" 2 "$programs/iterations.$mpi"
    expect 'iterations without sleeps' "${lines[@]}"
}

observers() {
    observed 3 collectives
    observed 2 messages
    observed 2 errors
    observed 2 fatal
    observed 2 threads
    observed 2 life
    iterations
    HPCB_YIELD=off
    export HPCB_YIELD
    run "$work/with" 2 "$library" "$programs/naps.$mpi"
    unset HPCB_YIELD
    if grep -q spins "$work/with" && ! grep -q 'exit code [^0]' "$work/with"; then
        ok 'nothing sleeps where that is off'
    else
        not_ok 'nothing sleeps where that is off'
        explain "$work/with"
    fi
}

# Calls and programs that only the MPI itself can get right.
unchanged() {
    local limit=$((limit / 2))
    local requests=$programs/requests.$mpi
    compare 'a rank that waits serves others' 2 "$programs/serves.$mpi"
    compare 'one-sided communication' 3 "$programs/windows.$mpi"
    compare 'neighbourhood collectives' 3 "$programs/neighbours.$mpi"
    compare 'files' 3 "$programs/files.$mpi"
    compare 'requests of several kinds' 2 "$requests"
    # Open MPI 4.1 does not return from it.
    [ "$mpi" = openmpi ] || compare 'one of several kinds fails' 2 "$requests" status
    compare 'waits in several threads' 2 "$programs/waiters.$mpi"
    compare 'signals during waits' 2 "$programs/interrupted.$mpi"
    compare 'yields outside of MPI calls' 2 "$programs/outside.$mpi"
    compare 'truncated collectives' 2 "$requests" truncated
    compare 'rounding' 5 "$programs/rounding.$mpi"
    compare 'calls from MPI_Finalize' 3 "$programs/finalize.$mpi"
    compare_new 'calls with MPI_Count' 'MPI_Count on some ranks' 3 \
        "$programs/bigcount.$mpi"
}

# matches NAME PATTERN...: of a line in what the last run with the library wrote, and it
# came to its end.
matches() {
    local name=$1 pattern
    shift
    for pattern in "$@" 'exit code 0'; do
        if ! grep -q "$pattern" "$work/with"; then
            not_ok "$name"
            explain "$work/with" "$work/with.log"
            return
        fi
    done
    ok "$name"
}

# A rank that is never late waits for nobody who sleeps.
short_sends() {
    local told=OMPI_MCA_btl_vader_flags told_5=OMPI_MCA_btl_sm_flags
    local program=$programs/eager.$mpi
    run "$work/with" 2 "$library" "$program"
    matches 'a short message ends without its receiver' \
        '^512 .*: 0' '^2048 .*: 0' "^$told=$" "^$told_5=$"
    [ "$mpi" = openmpi ] || return
    local -x $told=send,inplace $told_5=send,inplace
    run "$work/with" 2 "$library" "$program"
    matches 'but if the user wants it otherwise' \
        '^512 .*: 1' "^$told=send,inplace$" "^$told_5=send,inplace$"
    unset $told $told_5
    export HPCB_YIELD=off
    run "$work/with" 2 "$library" "$program"
    unset HPCB_YIELD
    matches 'or if nobody sleeps' '^512 .*: 1' "^$told=$" "^$told_5=$"
}

# Which once hung in Open MPI with sends that end without their receivers.
floods() {
    local program=$programs/flood.$mpi
    compare 'more messages than there are buffers' 2 "$program"
    mixed 'more messages than there are buffers, in a mixture' 2 "$program"
}

# A rank that is asked for something while it waits must not let others wait: of three
# runs by turns the best one counts, so that load from others matters less.
served_in_time() {
    local name='a rank that waits serves others in time' turn
    for turn in 1 2 3; do
        run "$work/without.$turn" 2 '' "$programs/serves.$mpi" times
        run "$work/with.$turn" 2 "$library" "$programs/serves.$mpi" times
    done
    awk '/ took / {
            run = FILENAME ~ /without/ ? "without" : "with"
            part = $0
            sub(/ in a .* took .*/, "", part)
            if (!((run, part) in best) || $NF < best[run, part]) best[run, part] = $NF
            parts[part]
        }
        END {
            for (part in parts)
                if (!(("with", part) in best) ||
                    best["with", part] > 5 * best["without", part] + 0.5)
                    print part ":", best["without", part], "s without the library,",
                        best["with", part], "s with it"
        }' "$work"/without.? "$work"/with.? >"$work/slow"
    grep 'exit code [^0]' "$work"/with.? >>"$work/slow"
    if [ ! -s "$work/slow" ]; then
        ok "$name"
    else
        not_ok "$name"
        explain "$work/slow"
    fi
}

sessions() { # sessions [HOW]
    local limit=$((limit / 2)) when
    for when in alone before after across; do
        compare_new sessions "sessions${1:+ $1}: $when" 2 "$programs/sessions.$mpi" "$when"
    done
}

# mixed NAME RANKS PROGRAM [ARGUMENT...]: every second rank has no library.
mixed() {
    local name=$1 ranks=$2
    shift 2
    run "$work/without" "$ranks" '' "$@"
    # shellcheck disable=SC2016
    run "$work/with" "$ranks" "$library" sh -c '
        case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in *[13579]) unset LD_PRELOAD ;; esac
        exec "$@"' sh "$@"
    same "$name" "$ranks" "$@"
}

# Two programs in one MPI_COMM_WORLD, of which one has the library.
two_programs() {
    local name='another program without the library' one=$programs/messages.$mpi two
    two=$work/other
    cp "$one" "$two"
    run "$work/without" 1 '' "$one" : -n 1 "$two"
    run "$work/with" 1 "$library" "$one" : -n 1 "$two"
    same "$name" 1 "$one" : -n 1 "$two"
}

mixtures() {
    local limit=$((limit / 2))
    local program=$programs/messages.$mpi
    mixed 'collectives in a mixture' 3 "$programs/collectives.$mpi"
    mixed 'messages in a mixture' 2 "$program"
    mixed 'threads in a mixture' 2 "$programs/threads.$mpi"
    mixed 'one-sided communication in a mixture' 3 "$programs/windows.$mpi"
    mixed 'rounding in a mixture' 5 "$programs/rounding.$mpi"
    two_programs
    run "$work/without" 2 '' "$program"
    # shellcheck disable=SC2016
    run "$work/with" 2 "$library" sh -c '"$@"; exit $?' sh "$program"
    same 'ranks under a shell' 2 "$program"
    LD_PRELOAD=$library run "$work/with" 2 '' "$program"
    same 'the launcher has the library, too' 2 "$program"
}

# Of every long wait at least half of the CPU time is free, whatever call it is in.
# What waits in that did not sleep for half of the time, to $work/spins.
find_spinners() {
    # Lines are NAME WALL CPU; a name may have spaces.
    awk '$NF ~ /^[0-9.]+$/ && $(NF - 1) >= 10 { waits++; if (2 * $NF > $(NF - 1)) print }
        END { if (waits < 30) print "waits in", waits, "calls only" }' \
        "$work/with" >"$work/spins"
    grep 'exit code [^0]' "$work/with" >>"$work/spins"
}

find_spinners_of_a_run() {
    run "$work/with" 2 "$library" "$programs/naps.$mpi" everywhere
    find_spinners
    cat "$work/spins"
}

# On a busy machine what the other rank sends comes late and in pieces: a call spins if it
# does in each of three tries.
naps_everywhere() {
    local name='naps wherever the MPI waits' tries=3
    find_spinners_of_a_run >"$work/spinners"
    while [ -s "$work/spinners" ] && [ $((tries -= 1)) -gt 0 ]; do
        find_spinners_of_a_run >"$work/again"
        awk '{ sub(/ [0-9.]+ [0-9.]+$/, "") } NR == FNR { seen[$0]; next } $0 in seen' \
            "$work/spinners" "$work/again" >"$work/both"
        mv "$work/both" "$work/spinners"
    done
    if [ ! -s "$work/spinners" ]; then
        ok "$name"
    else
        not_ok "$name"
        explain "$work/spinners" "$work/spins" "$work/with.log"
    fi
}

# plain NAME PROGRAM: the same for a program without MPI.
plain() {
    local code=0
    "$2" >"$work/without" 2>&1 || code=$?
    echo "== exit code $code" >>"$work/without"
    code=0
    LD_PRELOAD=$library "$2" >"$work/with" 2>&1 || code=$?
    echo "== exit code $code" >>"$work/with"
    if ! grep -q 'awake 1' "$work/without"; then
        not_ok "$1"
        explain "$work/without"
    elif difference "$work/without" "$work/with"; then
        ok "$1"
    else
        not_ok "$1"
        explain "$work/diff"
    fi
}

compile_plain() { # compile_plain OUT [OPTION...]
    cc -w "${@:2}" -o "$1" "$HPCB_SRCDIR/tests/mpi/plain.c" -pthread \
        >>"$work/cc.log" 2>&1
}

plain_programs() {
    local program=$work/plain
    if ! compile_plain "$program"; then
        not_ok 'a program without MPI'
        explain "$work/cc.log"
        return
    fi
    plain 'a program without MPI' "$program"
    if compile_plain "$program.static" -static; then
        plain 'a static program' "$program.static"
    else
        ok 'a static program # SKIP no static C library'
    fi
    # Another user's, so that the loader takes it as one to be careful with.
    if chown 65534 "$program" 2>/dev/null && chmod u+s "$program" &&
        chmod a+rx "$work" && "$program" | grep -q 'secure 1'; then
        plain 'a setuid program' "$program"
    else
        ok 'a setuid program # SKIP cannot be made here'
    fi
}

without_mpi() {
    local shell='echo "$HPCB_TEST_WORD"; ls / >/dev/null; cat /proc/self/timerslack_ns'
    local plain preloaded
    plain=$(HPCB_TEST_WORD=word bash -c "$shell" 2>&1)
    preloaded=$(HPCB_TEST_WORD=word LD_PRELOAD=$library bash -c "$shell" 2>&1)
    if [ "$plain" = "$preloaded" ]; then
        ok 'a process without MPI'
    else
        not_ok 'a process without MPI'
        echo "# $preloaded"
    fi
}

all() {
    compare collectives 3 "$programs/collectives.$mpi"
    compare messages 2 "$programs/messages.$mpi"
    over_tcp
    compare errors 2 "$programs/errors.$mpi"
    compare 'a fatal error' 2 "$programs/fatal.$mpi"
    compare threads 2 "$programs/threads.$mpi"
    compare 'life of a program' 2 "$programs/life.$mpi"
    compare 'MPI in a module' 2 "$programs/dlopened.$mpi" "$programs/module.$mpi.so"
    sleeps 'MPI in a module sleeps'
    fortran fortran
    fortran f08
    standard_abi
    naps
    stacks
    observers
    without_mpi
    plain_programs
    unchanged
    short_sends
    floods
    served_in_time
    sessions
    mixtures
    naps_everywhere
    echo "1..$count"
}

[ -e "$library" ] || skip_all "libhpcb_mpi.so is not built"
grep -qs __asan_init "$library" && skip_all "built with sanitizers: cannot be preloaded"
[ -e "$programs/messages.$mpi" ] || skip_all "built without this MPI"
launcher=$(find_launcher) || skip_all "no launcher"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# MPICH 4.0 dies of a SIGPIPE now and then where a program ends at once.
launch 2 sleep 0.2 >"$work/smoke" 2>&1 </dev/null || skip_all "the launcher does not work here"
all
