# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# What the tests of packages share.

TOP=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
PARTS=(node controller mpi tools doc)

deb() { ls "$HPCB_PACKAGES/slurm-hpc-balance-$1"_*.deb; } # deb PART

field() { dpkg-deb -f "$(deb "$1")" "$2"; } # field PART NAME

slurm_here() { slurmctld -V | awk '{ print $2 }'; }
