# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""A real unbalanced application for bench/balance/jobs: LAMMPS with as many atoms in one
half of a box as it can hold and few in the other.  Ranks get slabs of equal size, as its
default is; what a slab costs grows with the square of its density."""

import os
import re
import shutil

from cluster import BenchError

NAME = "lammps"
MPI = "openmpi"      # of Debian's package
PROGRAM = "lmp"
INPUT = "in.lammps"

# Of each rank's slab, and what it is supposed to cost: only to choose which settings the
# search for the best static one tries.
DENSITIES = (0.2, 0.35, 0.6, 0.84)
LOADS = (0.3, 0.8, 2.1, 4.0)

# Time steps that count as one iteration of the report.
STEPS = 3
SLAB = 36
WIDTH = 30

HEAD = """\
units lj
atom_style atomic
processors {ranks} 1 1
region box block 0 {length} 0 {width} 0 {width} units box
create_box 1 box
"""

# Atoms of neighbouring slabs, and of periodic images, do not touch each other.
FILL = """\
lattice fcc {density}
region slab{rank} block {low} {high} 0.5 {inner} 0.5 {inner} units box
create_atoms 1 region slab{rank}
"""

RUN = """\
mass 1 1.0
velocity all create 1.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo {steps}
thermo_style custom step cpu pe
thermo_modify format 3 %.15g
run {total}
"""


def script(iterations):
    """LAMMPS' input."""
    ranks = len(DENSITIES)
    slabs = [FILL.format(rank=rank, density=density, low=rank * SLAB + 0.5,
                         high=(rank + 1) * SLAB - 0.5, inner=WIDTH - 0.5)
             for rank, density in enumerate(DENSITIES)]
    return (HEAD.format(ranks=ranks, length=ranks * SLAB, width=WIDTH) + "".join(slabs)
            + RUN.format(steps=STEPS, total=STEPS * iterations))


def prepare(directory, iterations):
    if not shutil.which(PROGRAM):
        raise BenchError(f"{PROGRAM} is not installed (scripts/install-deps --bench), or "
                         "leave lammps out: --programs")
    with open(os.path.join(directory, INPUT), "w", encoding="ascii") as file:
        file.write(script(iterations))


def command(directory):
    return [PROGRAM, "-in", os.path.join(directory, INPUT), "-log", "none"]


def parse(text):
    """What a run gives, from LAMMPS' own words.  It does not tell what each rank
    computes."""
    loop = re.search(r"^Loop time of (\S+) on \d+ procs", text, re.M)
    rows = re.findall(r"^ *\d+ +([\d.]+) +(-?[\d.]+(?:e[-+]\d+)?) *$", text, re.M)
    if not loop or len(rows) < 2:
        raise BenchError(f"{PROGRAM}: no loop time and no iterations in its output")
    at = [float(seconds) for seconds, _energy in rows]
    return {"wall": float(loop.group(1)), "checksum": rows[-1][1], "util": None,
            "times_ms": [1e3 * (after - before) for before, after in zip(at, at[1:])]}
