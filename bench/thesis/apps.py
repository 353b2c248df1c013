# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The applications in the roles of the thesis (its tables 1-2 to 1-7).

Each is a program from Debian's packages.  Its input is generated here, from a fixed
seed, so that a run is fixed work with one answer; how much work is measured once
(Runner.calibrate), for the thesis' running time times the scale.  What an application
computes on is chosen so that two nodes with a 1 Gb/s network and CPUs of about 2020
leave some of the CPUs' time as the thesis' nodes did (table 3-2).
"""

import os
import random
import re
from dataclasses import dataclass

from cluster import BenchError

# HPL's list parameters hold at most so many values.
HPL_LIST = 20

NEXUS_RUN = """\
begin mrbayes;
set autoclose=yes nowarn=yes seed=11 swapseed=12;
execute data.nex;
prset aamodelpr=fixed(wag);
lset rates=gamma;
mcmc nruns=1 nchains={chains} ngen={work} samplefreq=100 printfreq=1000
    diagnfreq=100000000 checkpoint=no;
end;
"""

# Monte Carlo of a regression's heteroskedasticity-consistent t values.
ECONOMETRICS = """\
set.seed(7)
n <- 200; k <- 12; beta <- seq_len(k) / k; total <- numeric(k)
for (i in seq_len({work})) {{
  x <- cbind(1, matrix(rnorm(n * (k - 1)), n))
  y <- x %*% beta + rnorm(n) * exp(x[, 2] / 2)
  inverse <- solve(crossprod(x)); b <- inverse %*% crossprod(x, y)
  meat <- crossprod(x * drop(y - x %*% b))
  total <- total + (b - beta) / sqrt(diag(inverse %*% meat %*% inverse))
}}
cat("answer", sprintf("%.12g", total), "\\n")
"""

# Charged particles: the long-range part is Fourier transforms of a grid that is spread
# over the nodes.
MOLECULES = """\
units lj
atom_style charge
lattice fcc 0.8442
region box block 0 14 0 14 0 14
create_box 2 box
create_atoms 1 box
set type 1 type/fraction 2 0.5 12393
mass * 1.0
set type 1 charge 0.1
set type 2 charge -0.1
velocity all create 1.0 87287 loop geom
pair_style lj/cut/coul/long 2.5
pair_coeff * * 1.0 1.0
kspace_style pppm 1.0e-4
kspace_modify mesh 32 32 32 order 3
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo_style custom step temp etotal press
run {work}
"""


DNA = "ACGT"
PROTEIN = "ACDEFGHIKLMNPQRSTVWY"


def sequences(taxa, sites, seed, letters=DNA, change=0.05):
    """DNA or proteins that have evolved along a random tree."""
    rng = random.Random(seed)

    def mutate(sequence):
        return [rng.choice(letters) if rng.random() < change else old
                for old in sequence]

    found = [[rng.choice(letters) for _ in range(sites)]]
    while len(found) < taxa:
        parent = found.pop(rng.randrange(len(found)))
        found += [mutate(parent), mutate(parent)]
    return ["".join(mutate(sequence)) for sequence in found]


def phylip(taxa, sites, seed):
    rows = [f"t{i:<9}{sequence}"
            for i, sequence in enumerate(sequences(taxa, sites, seed))]
    return "\n".join([f" {taxa} {sites}"] + rows) + "\n"


def nexus(taxa, sites, seed):
    rows = [f"t{i} {sequence}"
            for i, sequence in enumerate(sequences(taxa, sites, seed, PROTEIN))]
    return "\n".join(["#NEXUS", "begin data;", f"dimensions ntax={taxa} nchar={sites};",
                      "format datatype=protein gap=-;", "matrix", *rows, ";", "end;",
                      ""])


def hpl_input(size, count, nodes):
    """hpccinf.txt: `count` systems of `size` unknowns, the rows of each over all
    nodes."""
    sizes = min(count, HPL_LIST)
    blocks = -(-count // sizes)
    lines = ["Systems of linear equations", "one after the other", "HPL.out", "8",
             f"{sizes} N", " ".join([str(size)] * sizes),
             f"{blocks} NB", " ".join(["64"] * blocks),
             "0 PMAP", "1 grid", f"{nodes} P", "1 Q", "16.0 threshold",
             "1 PFACT", "2", "1 NBMIN", "4", "1 NDIV", "2", "1 RFACT", "1",
             "1 BCAST", "0", "1 DEPTH", "0", "1 SWAP", "64 threshold",
             "0 L1", "0 U", "1 equilibration", "8 alignment"]
    return "\n".join(lines) + "\n"


def prepare_hal1(work, _nodes):
    # The menu: n, number of puzzling steps; y, begin.
    return {"infile": phylip(20, 400, 1), "menu": f"n\n{work}\ny\n"}


def prepare_hpl(work, nodes):
    # hpcc runs other tests too, whose size follows from the memory (MiB).
    return {"hpccinf.txt": hpl_input(2000, work, nodes), "hpccmemf.txt": "Process=1\n"}


def prepare_mrbayes(work, nodes):
    return {"data.nex": nexus(16, 1000, 2),
            "run.nex": NEXUS_RUN.format(work=work, chains=nodes)}


def prepare_wrf(work, _nodes):
    return {"in.melt": MOLECULES.format(work=work)}


def prepare_gauss(work, _nodes):
    return {"simulation.R": ECONOMETRICS.format(work=work)}


def prepare_paup(_work, _nodes):
    return {"alignment": phylip(12, 400, 3)}


@dataclass(frozen=True)
class App:
    """name: the role; seconds: the thesis' wall time; probe: units of work that take
    about a second; waits: waits for the network, so that its waits shall be sleeps;
    answer: file and pattern that say what was computed."""
    name: str
    program: str
    package: str
    seconds: float
    probe: int
    prepare: object
    command: str
    answer: tuple
    parallel: bool = False
    waits: bool = False
    unit: str = ""
    stdin: str = "/dev/null"

    def executable(self):
        return self.command.split()[0]

    def write_inputs(self, directory, work, nodes):
        for name, text in self.prepare(work, nodes).items():
            with open(os.path.join(directory, name), "w", encoding="ascii") as file:
                file.write(text)

    def read_answer(self, directory):
        """What the application computed, as text to compare."""
        name, pattern = self.answer
        path = os.path.join(directory, name)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found = re.findall(pattern, file.read(), re.MULTILINE)
        except OSError as error:
            raise BenchError(f"{path}: {error.strerror}") from None
        if not found:
            raise BenchError(f"{path}: {self.program} gave no answer")
        return " | ".join(" ".join(match.split()) for match in found)


APPS = {app.name: app for app in (
    App("GAUSS", "R, a regression's Monte Carlo", "r-base-core", 180, 8000,
        prepare_gauss, "/usr/lib/R/bin/R --vanilla --no-echo --file=simulation.R",
        ("out", r"^answer (.*)$"), unit="samples"),
    App("HAL1", "TREE-PUZZLE, parallel", "tree-ppuzzle", 167, 2000, prepare_hal1,
        "/usr/bin/tree-ppuzzle infile -randseed1", ("infile.tree", r"\A([^;]*;)"),
        parallel=True, unit="puzzling steps", stdin="menu"),
    App("HPL", "HPL in hpcc", "hpcc", 357, 1, prepare_hpl, "/usr/bin/hpcc",
        ("hpccoutf.txt", r"^(\|\|Ax-b\|\|_oo.*)$"), parallel=True, waits=True,
        unit="systems"),
    App("MrBayes", "MrBayes", "mrbayes-mpi", 91, 300, prepare_mrbayes,
        "/usr/lib/mrbayes-mpi/mb-mpi run.nex",
        ("data.nex.p", r"^(\d+\t\S+\t\S+)"), parallel=True, waits=True,
        unit="generations"),
    App("WRF", "LAMMPS, charged particles", "lammps", 392, 50, prepare_wrf,
        "/usr/bin/lmp -in in.melt -log none",
        ("out", r"^(\s*\d+(?:\s+-?[\d.]+){3}\s*)$"), parallel=True, waits=True,
        unit="time steps"),
    App("PAUP", "PhyML, bootstrap", "phyml", 212, 10, prepare_paup,
        "/usr/lib/phyml/bin/phyml -i alignment -d nt -m HKY85 -c 1 -b {work} "
        "--r_seed 1 --quiet --no_memory_check",
        ("alignment_phyml_tree.txt", r"\A([^;]*;)"), unit="bootstrap replicates"),
)}


def fit(first, second, seconds):
    """Work that takes `seconds`, from two (work, seconds): (units, seconds of the
    start and end of the program, seconds of a unit)."""
    (small, short), (large, long) = first, second
    each = max((long - short) / (large - small), 0.05 * long / large)
    fixed = max(0.0, short - each * small)
    return max(1, round((seconds - fixed) / each)), fixed, each


def missing(names):
    """Packages of these applications that are not installed."""
    return [app.package for name, app in APPS.items()
            if name in names and not os.access(app.executable(), os.X_OK)]
