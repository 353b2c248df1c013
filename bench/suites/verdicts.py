# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Verdicts on tests that ran by turns without and with the library.

A test counts as compared if it passes each time without.  It is broken if it then fails or
hangs with the library even once, after as many runs of each kind as were asked for.  Of one
that fails at times without too nothing is known, unless it fails far more often with."""

from math import comb

from stats import BROKEN, KEPT, UNDECIDED
from suites.outcomes import BAD, PASS, SKIP

# Verdicts of a test besides kept and broken; it is not compared.
FLAKY = "flaky in both"
FAILS = "fails without the library"
SKIPPED = "skipped"
UNPROVEN = "the library is not seen in all ranks"
UNREACHED = "not reached with the library"
COMPARED = (KEPT, BROKEN)
MIN_SHARE = 0.8    # of the suite's tests
CERTAIN_PAIRS = 5  # all of them different: one case of 252 by chance
WORSE = 0.01       # probability of so many failures by chance


def probability(bad, runs, bad_with, runs_with):
    """Of at least bad_with of all failures being with the library if it changes nothing
    (Fisher's exact test)."""
    total = bad + bad_with
    chosen = range(bad_with, min(total, runs_with) + 1)
    return sum(comb(runs_with, one) * comb(runs, total - one) for one in chosen) / comb(
        runs + runs_with, total)


def of_failures(bad, runs, bad_with, runs_with, final):
    """Of a test that failed; None: more runs can tell."""
    if bad == 0:
        certain = runs >= CERTAIN_PAIRS and bad_with == runs_with
        return BROKEN if runs >= runs_with and (final or certain) else None
    if bad_with <= bad:
        return FLAKY if bad < runs and bad_with else FAILS
    if not final:
        return None
    return BROKEN if probability(bad, runs, bad_with, runs_with) < WORSE else FLAKY


def of_test(pairs, final):
    """pairs: (outcome without, with), None where a run did not get to this test, UNPROVEN for
    a pass with a library that is not seen.  None: more runs can tell; with final they cannot
    be had."""
    without = [one for one, _ in pairs if one not in (None, SKIP)]
    passes = PASS in without
    # What passes without the library and is skipped with it does not pass.
    bads = (*BAD, SKIP) if passes else BAD
    with_it = [other for _, other in pairs if other in (PASS, *bads)]
    bad = sum(one in BAD for one in without)
    bad_with = sum(other in bads for other in with_it)
    if not without:
        return SKIPPED
    if not with_it:
        unproven = any(other == UNPROVEN for _, other in pairs)
        return FAILS if bad else UNPROVEN if unproven else UNREACHED
    if bad or bad_with:
        found = of_failures(bad, len(without), bad_with, len(with_it), final)
        return UNDECIDED if final and found is None else found
    return KEPT


def of_case(pairs, final):
    """{test: verdict or None}.  pairs: of ({test: outcome} without, with)."""
    tests = dict.fromkeys(test for pair in pairs for one in pair for test in one)
    return {test: of_test([(one.get(test), other.get(test)) for one, other in pairs], final)
            for test in tests}


def of_suite(verdicts):
    """Of the verdicts of all tests of a suite; text that is no verdict is a reason why a
    test did not run."""
    compared = sum(one in COMPARED for one in verdicts)
    if BROKEN in verdicts:
        return BROKEN
    if UNDECIDED in verdicts or not compared or compared < MIN_SHARE * len(verdicts):
        return UNDECIDED
    return KEPT
