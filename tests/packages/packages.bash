# shellcheck shell=bash disable=SC2034 # the variables are for those who load this
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# What the tests of packages share.

TOP=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
PARTS=(node controller mpi report sim tools doc)

deb() { ls "$HPCB_PACKAGES/slurm-hpc-balance-$1"_*.deb; } # deb PART

field() { dpkg-deb -f "$(deb "$1")" "$2"; } # field PART NAME

# Are Slurm's internal headers to be had, so that the packages hold the plugins for them?
has_slurm_src() { [ "${HPCB_SLURM_SRC:-}" != none ] && "$TOP/scripts/slurm-headers" > /dev/null 2>&1; }

slurm_here() { slurmctld -V | awk '{ print $2 }'; }

# Another release than the one that runs here.
other_slurm() { case $(slurm_here) in 24.11.*) echo 22.05.8 ;; *) echo 24.11.5 ;; esac; }
