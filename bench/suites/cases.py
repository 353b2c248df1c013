# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The cases of MPICH's and of mpi4py's test suite: a line each as in MPICH's testlist, with
the suite and the directory in front:

    mpich coll/allred 4 arg=-count=10 timeLimit=60
"""

import os
import re
from dataclasses import dataclass, field

TITLES = {"mpich": "MPICH", "openmpi": "Open MPI"}
DEFAULT_RANKS = 2
MPI4PY_RANKS = (2, 3)
# Of what is run here nothing depends on these: our own locks and limits hold, graphics
# processors are not used.
IGNORED = ("lock", "init", "memtype", "mpix")
PATTERNS = {"timeLimit": r"[1-9][0-9]{0,4}", "mem": r"[0-9]{1,4}(\.[0-9]*)?",
            "mpiversion": r"[0-9]\.[0-9]", "xfail": r".+", "strict": r".*",
            "resultTest": r"TestStatus|TestStatusNoErrors|TestErrFatal"}


@dataclass
class Case:
    suite: str
    program: str       # below the suite's directory; of mpi4py a module
    ranks: int = DEFAULT_RANKS
    arguments: list = field(default_factory=list)
    environ: list = field(default_factory=list)   # NAME=VALUE each
    launch: list = field(default_factory=list)    # more arguments of the launcher
    keys: dict = field(default_factory=dict)      # what PATTERNS names
    unknown: list = field(default_factory=list)   # words that nobody knows

    @property
    def name(self):
        program = self.program if self.suite == "mpich" else f"{self.suite}/{self.program}"
        return " ".join([program, str(self.ranks), *self.arguments, *self.environ])

    def seconds(self):
        """The limit of a run, or None if the line has none."""
        return int(self.keys["timeLimit"]) if "timeLimit" in self.keys else None

    def add(self, word):
        key, equals, value = word.partition("=")
        lists = {"arg": self.arguments, "env": self.environ, "mpiexecarg": self.launch}
        if key in lists and (key != "env" or "=" in value):
            lists[key].append(value)
        elif key in PATTERNS and re.fullmatch(PATTERNS[key], value):
            self.keys[key] = value
        elif equals and key not in (*IGNORED, "timeLimit", "mem", "mpiversion"):
            self.unknown.append(word)


def parse(line):
    """A Case, or None if the line has none.  What is malformed gets its default."""
    words = line.partition("#")[0].split()
    if len(words) < 2 or ".." in words[1] or not re.fullmatch(r"\w[\w./+-]*", words[1], re.A):
        return None
    case = Case(words[0], words[1])
    if len(words) > 2 and re.fullmatch(r"[1-9][0-9]{0,3}", words[2]):
        case.ranks = int(words[2])
    for word in words[2:]:
        case.add(word)
    return case


def read(path):
    """The lines of a file without comments and white space at the ends."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return [line.partition("#")[0].strip() for line in file.read().splitlines()]


def mpich_lines(tree, mpi, directory=""):
    """Of the testlists in a configured tree.  testlist.cvar chooses algorithms of MPICH's
    own, which no other MPI has."""
    for name in ("testlist", "testlist.dtp", "testlist.cvar")[:3 if mpi == "mpich" else 2]:
        path = os.path.join(tree, directory, name)
        for line in read(path) if os.path.isfile(path) else []:
            word = line.split()[0] if line else "!"
            below = os.path.join(directory, word)
            if word.startswith("!"):
                continue
            if not os.path.isdir(os.path.join(tree, below)):
                yield "mpich " + os.path.join(directory, line)
            elif name == "testlist":
                yield from mpich_lines(tree, mpi, below)


def mpi4py_lines(tree):
    names = sorted(name for name in os.listdir(os.path.join(tree, "test"))
                   if re.fullmatch(r"test_\w+\.py", name))
    return [f"mpi4py {name[:-3]} {ranks}" for name in names for ranks in MPI4PY_RANKS]


def find(suite, mpi, tree, listed=None):
    """The cases of a suite: all, or those of the file `listed`."""
    if listed:
        lines = [line for line in read(listed) if line.startswith(f"{suite} ")]
    else:
        lines = mpich_lines(tree, mpi) if suite == "mpich" else mpi4py_lines(tree)
    return [case for case in map(parse, lines) if case]


def obstacle(case, mpi, version, tree, gigabytes):
    """Why a case cannot be run, or None.  version: of the MPI standard, as "3.1"."""
    keys = case.keys
    if case.suite == "mpi4py":
        path = os.path.join(tree, "test", f"{case.program}.py")
        return None if os.path.exists(path) else "not in this mpi4py"
    if mpi != "mpich" and keys.get("strict", "").lower() == "false":
        return "not of the MPI standard"
    # As MPICH's runtests has it: expected of MPICH, not of others.
    if mpi == "mpich" and "xfail" in keys:
        return f"expected to fail: {keys['xfail']}"
    if keys.get("mpiversion", "0.0") > version:
        return f"needs MPI {keys['mpiversion']}"
    if float(keys.get("mem", 0)) > gigabytes:
        return f"needs {keys['mem']} GB of memory"
    if not os.access(os.path.join(tree, case.program), os.X_OK):
        return "does not compile with this MPI"
    return None
