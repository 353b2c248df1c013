# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Slurm's commands: what they print, and one sentence if they fail."""

import os
import re
import shutil
import subprocess

from .text import ReportError, neutral

# Seconds that a command may take.
TIMEOUT = 20

# Columns of a field of squeue -O.
_WIDTH = 64

_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_:/]*)=(\S*)")


def run(*args, timeout=TIMEOUT):
    """(exit code, standard output, first line of standard error) of a command."""
    if shutil.which(args[0]) is None:
        raise ReportError(f"{args[0]} is not installed")
    env = {**os.environ, "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}
    try:
        done = subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=timeout, env=env, encoding="utf-8",
                              errors="backslashreplace", check=False)
    except subprocess.TimeoutExpired:
        raise ReportError(f"{args[0]}: no answer within {timeout} s") from None
    except OSError as error:
        raise ReportError(f"{args[0]}: {error.strerror}") from None
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return done.returncode, done.stdout, neutral(said[0]) if said else ""


def ask(*args):
    """What the command prints.  ReportError if it fails."""
    code, out, said = run(*args)
    if code != 0:
        raise ReportError(f"{args[0]} {args[1]}: {said or f'exit code {code}'}")
    return out


def pairs(line):
    """Key=Value of a line of `scontrol -o show`, as far as values hold no blanks."""
    return dict(_PAIR.findall(line))


def partition(name):
    """The settings of a partition.  ReportError if there is none."""
    code, out, said = run("scontrol", "-a", "-o", "show", "partition", name)
    if code != 0:
        raise ReportError(f"partition {name} (GuestPartition): {said}")
    return pairs(out)


def hostnames(nodes):
    """The names in a host list of Slurm's.  ReportError for what is none."""
    if not nodes or nodes == "(null)":
        return []
    if not re.fullmatch(r"[A-Za-z0-9_.,\[\]-]+", nodes):
        raise ReportError(f"'{neutral(nodes)}' is no list of nodes")
    return ask("scontrol", "show", "hostnames", nodes).split()


def hostlist(names):
    """Names as Slurm writes them in short."""
    return ask("scontrol", "show", "hostlistsorted", ",".join(names)).strip()


def queue(*options, fields):
    """Rows of squeue, as tuples.  No field may hold a user's text."""
    form = ",".join(f"{field}:{_WIDTH}" for field in fields)
    out = ask("squeue", "-h", "-a", "-r", *options, "-O", form)
    return [tuple(line[at * _WIDTH:(at + 1) * _WIDTH].strip() for at in range(len(fields)))
            for line in out.splitlines() if line.strip()]


def cluster_cpus():
    """CPUs of all nodes that slurmctld knows, down or not."""
    code, out, said = run("sinfo", "-h", "-a", "-N", "-o", "%N %c", timeout=10)
    if code != 0:
        raise ReportError(f"sinfo: {said}")
    # A node has a line for each of its partitions.
    nodes = dict(line.split() for line in out.splitlines() if len(line.split()) == 2)
    return sum(int(cpus) for cpus in nodes.values() if cpus.isdecimal())
