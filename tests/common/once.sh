#!/bin/sh
# What several directories need is defined in one file: no other source spells it out.
cd "${HPCB_SRCDIR:-.}" || exit 1
number=0

# What has the extended regular expression, but the file where it is at home.
once() { # once FILE WHAT REGEX
    number=$((number + 1))
    others=$(grep -rnE --include='*.[ch]' -e "$3" cgroup common hpcbctl hpcbd jobsubmit \
        mpi policy preempt records select sensor sim spank | grep -v "^$1:")
    if ! grep -qE -e "$3" "$1"; then
        echo "not ok $number - $2 is in $1"
        echo "# nothing in $1 matches $3"
    elif [ -n "$others" ]; then
        echo "not ok $number - $2 is only in $1"
        echo "$others" | sed 's/^/# /'
    else
        echo "ok $number - $2 is only in $1"
    fi
}

echo 1..7
once cgroup/node.c "the name of a job's group" '"[^"]*/job_%'
once cgroup/knob.h "the name of cpu.idle" '"cpu\.idle"'
once common/conf.c "what the guest partition is" \
    'str(case)?cmp\([^)]*guest_partition'
once common/tag.c "the tag's member of AdminComment" 'MEMBER +"hpcb"|\([a-z]+, "hpcb"'
once common/yield.h "the default of a nap" '(NAP|nap)_?(MAX|max)?_?DEFAULT_US +[0-9]'
once policy/window.h "the shortest period of a window in ns" 'PERIOD_MIN_NS +[A-Z0-9]'
once common/window.h "the shortest period of a window in us" 'PERIOD_MIN_US +[A-Z0-9]'
