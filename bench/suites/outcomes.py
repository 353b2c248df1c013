# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What a run of a case has shown: an outcome for each test in it.  A case of MPICH's suite
is one test; one of mpi4py's is a module with many, and one more, WHOLE: does the module end
as it should?"""

import os
import re

PASS, FAIL, HANG, SKIP = "pass", "fail", "hang", "skip"
BAD = (FAIL, HANG)
WHOLE = "whole"
# The worst of what several ranks say of a test.
ORDER = (SKIP, PASS, FAIL, HANG)
# What the library says in each rank with HPCB_DEBUG, if it makes waits sleep there.
PROOF = re.compile(r"^libhpcb_mpi: .*: waits sleep .*$", re.M)
OURS = re.compile(r"^libhpcb_mpi: .*\n?", re.M)

NO_ERRORS = re.compile(r"\s*No [Ee]rrors\s*")
# runtests accepts these lines beside it.
ALLOWED = re.compile(r"\s*|\s*Test Passed\s*|.*FORTRAN STOP.*|.*requesting checkpoint\s*"
                     r"|.*checkpoint completed\s*")
# SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGSYS: no test ends by them on
# purpose, but each of them is a status other than zero, which some tests are to end with.
CRASHES = (4, 5, 6, 7, 8, 11, 31)
CRASHED = re.compile(r"\bsignal:? \(?(4|5|6|7|8|11|31)\b|\(signal (4|5|6|7|8|11|31)\)")


def proofs(text):
    """How many processes have said that the library is in them."""
    return len(PROOF.findall(text))


def is_crash(status, text):
    """status: of subprocess; a shell's status of a signal is 128 and its number."""
    return status < 0 or status - 128 in CRASHES or bool(CRASHED.search(text))


def says_no_errors(text, often):
    """Whether it does, and nothing else; often: or more than once."""
    lines = text.splitlines()
    found = sum(bool(NO_ERRORS.fullmatch(line)) for line in lines)
    other = any(not NO_ERRORS.fullmatch(line) and not ALLOWED.fullmatch(line) for line in lines)
    return not other and (found > 0 if often else found == 1)


def of_mpich(kind, status, text):
    """Of a program's output and status (None: did not end).  As MPICH's runtests has it,
    where kind is the case's resultTest, but for one thing: what has to end with a status
    other than zero must not crash."""
    text = OURS.sub("", text)
    if status is None:
        return HANG
    if kind is None:
        good = status == 0 and says_no_errors(text, False)
    else:
        good = status != 0 and not is_crash(status, text)
        if kind == "TestStatusNoErrors":
            good = good and says_no_errors(text, True)
    return PASS if good else FAIL


def of_rank(text, status):
    """({test: outcome}, whether it got to the end) of the lines that a rank has written
    (mpi4py_rank.py).  A test that began and has no outcome is where the run stopped."""
    found, begun, ended = {}, None, False
    for line in text.splitlines():
        word, _, test = line.partition(" ")
        if word == "begin":
            begun = test
        elif word in ORDER:
            found[test] = max(found.get(test, word), word, key=ORDER.index)
            begun = None if test == begun else begun
        ended = word == "end"
    if begun is not None:
        found[begun] = HANG if status is None else FAIL
    return found, ended


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def of_mpi4py(directory, ranks, status):
    """Of the files of all ranks in a directory.  Status 1 is that of tests that failed."""
    files = [of_rank(read(os.path.join(directory, name)), status)
             for name in sorted(os.listdir(directory))]
    found = {}
    for outcomes, _ in files:
        for test, outcome in outcomes.items():
            found[test] = max(found.get(test, outcome), outcome, key=ORDER.index)
    failed = any(outcome in BAD for outcome in found.values())
    whole = len(files) == ranks and all(ended for _, ended in files)
    if status is None:
        found[WHOLE] = HANG
    else:
        found[WHOLE] = PASS if whole and status == (1 if failed else 0) else FAIL
    return found
