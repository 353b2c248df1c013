#!/bin/sh
# What differs between Slurm's releases is in one file: no other source compares versions.
cd "${HPCB_SRCDIR:-.}" || exit 1
echo 1..2
others=$(grep -rlE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*(el)?if.*SLURM_VERSION' \
    bench cgroup common hpcbctl jobsubmit mpi policy sensor spank tests |
    grep -vx common/compat.h)
if [ -z "$others" ]; then
    echo "ok 1 - only common/compat.h compares versions of Slurm"
else
    echo "not ok 1 - only common/compat.h compares versions of Slurm"
    echo "$others" | sed 's/^/# /'
fi
if grep -qE '^#if SLURM_VERSION_NUMBER' common/compat.h; then
    echo "ok 2 - and does"
else
    echo "not ok 2 - and does"
fi
