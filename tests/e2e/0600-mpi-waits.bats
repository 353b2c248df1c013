#!/usr/bin/env bats
# libhpcb_mpi.so reaches MPI programs by --hpc-balance and YieldWaits=, and nobody else.

load helpers
load guest

setup_file() { cluster_up; }
teardown_file() { cluster_down; }
setup() { cancel_all; }

build_program() { # build_program MPI
    cat > "$WORK/hello.c" <<'EOF'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int rank, size, sum;
    char line[4096];
    int seen = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        seen |= strstr(line, "libhpcb_mpi.so") != NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d sum %d library %d preload '%s'\n", rank, size, sum, seen,
           getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "");
    MPI_Finalize();
    return 0;
}
EOF
    "mpicc.$1" -o "$WORK/hello.$1" "$WORK/hello.c"
    chmod 755 "$WORK/hello.$1"
}

# Slurm's side of the MPI: Debian's Slurm 26.05 is built without PMIx.
has_interface() { # has_interface MPI
    local name=pmi2
    [ "$1" != openmpi ] || name=pmix
    as_user srun --mpi=list 2>&1 | grep -qw "$name" && return
    echo "# $1 left out: this Slurm has no mpi/$name" >&3
    return 1
}

for_both() { # for_both EXPECTED_LIBRARY SRUN OPTION...
    local library=$1 mpi
    shift
    for mpi in openmpi mpich; do
        command -v "mpicc.$mpi" > /dev/null && has_interface "$mpi" || continue
        build_program "$mpi"
        run_mpi 60 --user user -- srun -D / -N2 -n2 "$@" "$WORK/hello.$mpi"
        echo "$mpi: $status: $output"
        [ "$status" -eq 0 ] || return 1
        [ "$(grep -c "of 2 sum 1 library $library" <<< "$output")" -eq 2 ] || return 1
    done
}

@test "plain jobs do not get the library" { for_both 0; }

@test "--hpc-balance: every rank has the library, and it leaves LD_PRELOAD again" {
    for_both 1 --hpc-balance
    grep -q "preload ''" <<< "$output"
}

@test "guests do not get it" { for_both 0 --guest; }

@test "a program that is no MPI program runs as before" {
    run as_user timeout -k 5 "$(secs 60)" srun --hpc-balance -n1 bash -c 'echo plain $((1+1))'
    [ "$status" -eq 0 ]
    [ "$output" = "plain 2" ]
}

@test "a job that is submitted from within one with the library does not inherit it" {
    local library show='echo "${LD_PRELOAD-unset} ${HPCB_YIELD_JOB-unset}"'
    run as_user timeout -k 5 "$(secs 60)" srun --hpc-balance -n1 bash -c "$show"
    [ "$status" -eq 0 ]
    [[ "$output" =~ libhpcb_mpi.so\ [0-9]+$ ]]
    library=${output% *}
    run as_user env "LD_PRELOAD=$library" HPCB_YIELD_JOB=1 \
        timeout -k 5 "$(secs 60)" srun -n1 bash -c "$show"
    [ "$status" -eq 0 ]
    [ "$output" = "unset unset" ]
}
