# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""One command of hpcbctl on many nodes at once, over ssh or what --remote names."""

import concurrent.futures
import os
import shlex
import shutil
import subprocess

from .text import UsageError, neutral
from .version import SBINDIR

# This, the node's name, the command.
REMOTE = "ssh -o BatchMode=yes -o ConnectTimeout=3"


class Answer:
    """What a node said.  why: one sentence if the command did not run to its end; code
    and out are then None and empty."""

    def __init__(self, node, code=None, out="", why=None):
        self.node, self.code, self.out, self.why = node, code, out, why


def words_of(remote):
    """--remote as words.  UsageError if there is none."""
    try:
        words = shlex.split(remote)
    except ValueError as error:
        raise UsageError(f"--remote: {error}") from None
    if not words:
        raise UsageError("--remote: allowed: a command, or none")
    return words


def each(remote, nodes, args, at_once, timeout):
    """An Answer for each node, in the order of nodes, from `hpcbctl args`.  remote: as
    words; timeout: seconds for one node."""
    if remote == ["none"]:
        return [Answer(node, why="--remote=none") for node in nodes]
    if shutil.which(remote[0]) is None:
        return [Answer(node, why=f"{remote[0]} is not installed") for node in nodes]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda node: call(node, [*remote, node], args, timeout),
                             nodes))


def call(node, before, args, timeout):
    """The Answer of `before hpcbctl args`."""
    words = [*before, os.path.join(SBINDIR, "hpcbctl"), *args]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=timeout, encoding="utf-8",
                              errors="backslashreplace", check=False)
    except subprocess.TimeoutExpired:
        return Answer(node, why=f"no answer within {timeout} s")
    except OSError as error:
        return Answer(node, why=f"{words[0]}: {error.strerror}")
    said = done.stderr.strip().splitlines()
    why = neutral(said[-1]) if said else f"exit code {done.returncode}"
    return Answer(node, done.returncode, done.stdout, why if done.returncode else None)
