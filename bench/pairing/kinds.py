# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The jobs of bench/pairing/run: variants of membench in the places of the NAS benchmarks
of the MemBUS paper, and applications with input that is made here."""

import os
import random

from pairing.runner import LONGEST_SECONDS, Kind

# What membench asks for falls with the stride (sensor/membench_kernel.h) and with reuse.
# Where a core alone can keep the memory bus busy with reading and writing, those below
# ask for about 1, 0.6 (reading only), 0.5, 0.25 and 0.06 of what PROBE does; in the
# paper's figure 1 MG and SP ask for 0.84 of what CG does, LU and IS for 0.7, FT and BT
# for 0.56, EP for 0.24.
PROBE = "max"

# These ask for as much as they can.
GREEDY = (PROBE, "read")

# Of the mixes of section 6: the most demanding job, membench-min, and the least
# demanding one, since on a processor of today membench-min still asks for a good part
# of the bus.
BASES = (PROBE, "min", "reuse8")


def membench(name, stride, *more):
    title = " ".join(["membench, stride", stride, *more])
    return Kind(name, title, "membench",
                ("--stride", stride, *more, "--seconds", str(LONGEST_SECONDS),
                 "--every-ms", "10", "--json"))


def alignment(directory, taxa=40, sites=2500):
    """DNA sequences whose sites nearly all differ, so that phyml computes each."""
    rng = random.Random(1)
    ancestor = rng.choices("ACGT", k=sites)
    with open(os.path.join(directory, "sequences"), "w", encoding="ascii") as f:
        f.write(f"{taxa} {sites}\n")
        for taxon in range(taxa):
            mutated = rng.choices("ACGT", k=sites)
            kept = rng.choices((True, False), (6, 4), k=sites)
            f.write(f"t{taxon:03d}  " + "".join(
                a if keep else b for a, b, keep in zip(ancestor, mutated, kept)) + "\n")


# Cells of the lattice in each direction, density and how the atoms act on each other.
MELT = (16, 0.8442, """\
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neigh_modify every 20 delay 0 check no""", 200)
GAS = (60, 0.1, """\
atom_modify sort 0 0.0
pair_style zero 1.0 nocoeff
pair_coeff * *
comm_modify cutoff 1.3
neigh_modify every 1000 delay 1000 check no""", 150)

LAMMPS = """\
units lj
atom_style atomic
lattice fcc {density}
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
{forces}
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
neighbor 0.3 bin
fix 1 all nve
run {steps}
"""


def lammps(name, title, setting):
    cells, density, forces, steps = setting

    def prepare(directory):
        with open(os.path.join(directory, "input"), "w", encoding="ascii") as f:
            f.write(LAMMPS.format(cells=cells, density=density, forces=forces,
                                  steps=steps))

    return Kind(name, title, "lmp", ("-in", "input", "-log", "none", "-screen", "none"),
                "lammps", prepare)


KINDS = (
    membench("max", "line", "--write"),
    membench("read", "line"),
    membench("min", "1", "--write"),
    membench("reuse2", "1", "--write", "--reuse", "2"),
    membench("reuse8", "1", "--write", "--reuse", "8"),
    lammps("gas", "LAMMPS, 864000 particles without forces", GAS),
    lammps("melt", "LAMMPS, Lennard-Jones melt of 16384 atoms", MELT),
    Kind("phyml", "PhyML, branch lengths of a tree of 40 species",
         "/usr/lib/phyml/bin/phyml",
         ("-i", "sequences", "-m", "HKY85", "-c", "4", "-b", "0", "-o", "l",
          "--no_memory_check"), "phyml", alignment),
)


def mixes(names):
    """{name of the mix: its jobs} (section 6): two of each base with two of each other,
    and one of each."""
    found = {}
    for index, base in enumerate(BASES):
        for other in names:
            if base in names and other not in BASES[:index + 1]:
                found[f"{base} + {other}"] = [base, base, other, other]
    one_of_each = list(names)[:len(names) // 2 * 2]
    if len(one_of_each) > 2:
        found["one of each"] = one_of_each
    return found
