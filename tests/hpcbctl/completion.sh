#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# etc/hpcb-completion.bash: what a shell completes, and that it knows each verb.
PATH=${HPCB_BUILDDIR:-.}/hpcbctl:${HPCB_SRCDIR:-.}/report:$PATH
# shellcheck source=etc/hpcb-completion.bash
. "${HPCB_SRCDIR:-.}/etc/hpcb-completion.bash"
# Who types does not wait for longer; a test on a busy machine does.
timeout() { shift && "$@"; }
number=0
echo 1..9

completes() { # completes WANTED FUNCTION WORD...: the last word is being typed
    local wanted=$1 function=$2 said
    shift 2
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    "$function" "$1"
    said=" ${COMPREPLY[*]} "
    number=$((number + 1))
    if [[ $said = *" $wanted "* ]]; then
        echo "ok $number - $* completes to $wanted"
    else
        echo "not ok $number - $* completes to $wanted"
        echo "# it completes to:$said"
    fi
}

completes guests _hpcbctl hpcbctl gu
completes guests _hpcbctl hpcbctl --json gu
completes "stop drain resume" _hpcbctl hpcbctl guests ''
completes learn _hpcbctl hpcbctl profile le
completes --nodes _hpcbctl hpcbctl guests stop --no
completes status _hpcbctl hpcbctl help st
completes --json _hpcb_program hpcb-guests --js
completes --records _hpcb_program hpcb-report --rec

# Each first word of the general help is a verb that is completed.
number=$((number + 1))
missing=$(hpcbctl --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort -u |
    grep -vxF -f <(tr ' ' '\n' <<< "$_hpcb_verbs"))
[ -z "$missing" ] && hpcbctl --help | grep -q '^  guests ' || echo -n "not "
echo "ok $number - every verb of hpcbctl --help is known"
[ -z "$missing" ] || echo "# missing: $missing"
