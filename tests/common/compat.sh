#!/bin/sh
# What differs between Slurm's releases is in two files, for its public and its internal
# headers: no other source compares versions.
cd "${HPCB_SRCDIR:-.}" || exit 1
echo 1..3
others=$(grep -rlE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*(el)?if.*SLURM_VERSION' \
    bench cgroup common hpcbctl jobsubmit mpi policy preempt select sensor spank tests |
    grep -vxE '(common|select)/compat.h')
if [ -z "$others" ]; then
    echo "ok 1 - only compat.h compares versions of Slurm"
else
    echo "not ok 1 - only compat.h compares versions of Slurm"
    echo "$others" | sed 's/^/# /'
fi
n=2
for file in common/compat.h select/compat.h; do
    if grep -qE '^#if SLURM_VERSION_NUMBER' $file; then
        echo "ok $n - and $file does"
    else
        echo "not ok $n - and $file does"
    fi
    n=$((n + 1))
done
