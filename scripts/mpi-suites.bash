#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# mpi-suites.bash SUITE MPI RELEASE WORK SCRATCH [FROM]
#
# For mpi-suites: fetches the sources of SUITE (mpich, mpi4py) and configures them for an
# MPI of this release, below the directory WORK, if that has not been done yet.  Prints the
# configured tree.  FROM: sources of MPICH's suite instead of the Debian package's; they are
# configured below SCRATCH.  Exit code: 3 the sources cannot be had, 1 they cannot be built,
# with the reason on stderr.
set -u -o pipefail

complain() { echo "mpi-suites: $*" >&2; }
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/apt-source.bash
. "$here/apt-source.bash"

MPI4PY=4.1.2
NOT_AVAILABLE=3
suite=$1 mpi=$2 release=$3 work=$4 scratch=$5 from=${6:-}
compiler=mpicc.$mpi

# Each source_SUITE sets source.
source_mpich() {
    local binary package version
    if [ -n "$from" ]; then
        source=$scratch/from/source
        mkdir -p "${source%/*}" && cp -a "$from" "$source"
        return
    fi
    # shellcheck disable=SC2016 # ${...} is dpkg-query's
    read -r binary package version < <(dpkg-query -W \
        -f '${Version} ${source:Package} ${source:Version}\n' mpich) || return
    source=$work/mpich-$version/source
    [ ! -e "$source/configure" ] || return 0
    mkdir -p "${source%/*}" "$scratch/mpich" && cd "$scratch/mpich" &&
        apt_source_init "$scratch/apt" && apt_source_lists mpich "$binary" &&
        apt_source_fetch --tar-only "$package=$version" &&
        tar -xf "$(echo ./*.orig.tar.*)" --wildcards --strip-components=1 '*/test/mpi' &&
        ls test/mpi/configure >&2 && mv test/mpi "$source"
}

source_mpi4py() {
    source=$work/mpi4py-$MPI4PY/source
    [ ! -e "$source/setup.py" ] || return 0
    mkdir -p "${source%/*}" "$scratch/mpi4py" && cd "$scratch/mpi4py" &&
        timeout 300 python3 -m pip -q download --no-deps --no-binary mpi4py "mpi4py==$MPI4PY" >&2 &&
        tar -xf "$(echo ./mpi4py-*.tar.gz)" && mv mpi4py-*/ "$source"
}

# Programs are made one by one, for --quick only those that it runs.
build_mpich() {
    local options=(-q "--with-mpi=$tree.mpi" --disable-cxx --enable-fortran=no
        --enable-threads=multiple --disable-dependency-tracking --disable-static
        "CFLAGS=-O1 -g0")
    # Not to fail for what is MPICH's alone; one of the suite's libraries uses names of
    # MPI-1, which Open MPI has, but does not declare.
    [ "$mpi" != openmpi ] || options+=(--enable-strictmpi
        "CPPFLAGS=-DOMPI_OMIT_MPI1_COMPAT_DECLS=0 -DOMPI_REMOVED_USE_STATIC_ASSERT=0")
    mkdir -p "$tree.mpi/bin" && cp -a "$source" "$tree" &&
        ln -sf "$(command -v "$compiler")" "$tree.mpi/bin/mpicc" &&
        ln -sf "$(command -v "mpiexec.$mpi")" "$tree.mpi/bin/mpiexec" &&
        cd "$tree" && ./configure "${options[@]}"
}

build_mpi4py() {
    # Fast compilation, not fast programs.
    cp -a "$source" "$tree" && python3 -m venv "$tree/venv" &&
        MPI4PY_BUILD_MPICC=$compiler MPICC=$compiler CFLAGS="-O0 -g0" \
            "$tree/venv/bin/python" -m pip -q install --no-deps "$tree"
}

"source_$suite" || exit $NOT_AVAILABLE
tree=${source%/*}/$mpi-$release
if [ ! -e "$tree/.ready" ]; then
    rm -rf "$tree"
    ("build_$suite" && touch "$tree/.ready") >&2 || exit 1
fi
echo "$tree"
