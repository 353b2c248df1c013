# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""sim/verdicts.py and what sim/results counts: by the rules of sim/papers.json."""

import importlib.machinery
import importlib.util
import os
import unittest

SOURCE = os.environ["HPCB_SRCDIR"]


def load(name):
    """sim/results is a script without a suffix."""
    loader = importlib.machinery.SourceFileLoader(
        os.path.splitext(name)[0], os.path.join(SOURCE, "sim", name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


RESULTS = load("results")
VERDICTS = load("verdicts.py")
KEPT, BROKEN, UNDECIDED = VERDICTS.KEPT, VERDICTS.BROKEN, VERDICTS.UNDECIDED


class Verdicts(unittest.TestCase):
    def test_a_paper_s_figure_lies_in_the_band_or_within_a_tenth_of_itself(self):
        for paper, values, wanted in ((100, [91], KEPT), (100, [89], BROKEN),
                                      (100, [109], KEPT), (100, [111], BROKEN),
                                      (100, [20, 50], BROKEN), (100, [20, 200], KEPT),
                                      (-50, [-46], KEPT), (-50, [-44], BROKEN)):
            self.assertEqual(VERDICTS.verdict(paper, values), wanted, (paper, values))

    def test_a_change_below_10_percent_has_a_room_of_a_point(self):
        self.assertEqual(VERDICTS.verdict(5, [5.9], change=True), KEPT)
        self.assertEqual(VERDICTS.verdict(5, [5.9]), BROKEN)
        self.assertEqual(VERDICTS.verdict(5, [6.1], change=True), BROKEN)
        self.assertEqual(VERDICTS.verdict(0, [0], change=True), KEPT)
        # 10 % from 10 on.
        self.assertEqual(VERDICTS.verdict(20, [18.5], change=True), KEPT)
        self.assertEqual(VERDICTS.verdict(20, [17.5], change=True), BROKEN)

    def test_two_bands_that_only_touch_are_broken(self):
        """What was measured: the median of what is simulated lies in its band, or near its
        median."""
        said = VERDICTS.measured_verdict
        self.assertEqual(said([8, 13, 17], [10, 50, 97]), BROKEN)
        self.assertEqual(said([8, 13, 17], [10, 16, 97]), KEPT)
        self.assertEqual(said([1257, 1805, 2040], [1200, 1210, 1310]), BROKEN)
        self.assertEqual(said([20, 20, 20], [21.9]), KEPT)
        self.assertEqual(said([20, 20, 20], [22.1]), BROKEN)
        self.assertEqual(said([4, 4, 4], [4.9], change=True), KEPT)
        self.assertEqual(said([4, 4, 4], [4.9]), BROKEN)

    def test_ratios_are_judged_as_changes(self):
        document = RESULTS.Document()
        self.assertEqual(document.judge("a", 0.9192, [0.961, 1.0], ratio=True), BROKEN)
        self.assertEqual(document.judge("a", 0.9192, [0.92], ratio=True), KEPT)
        self.assertEqual(document.judge("a", 0.95, [0.93, 0.99], ratio=True), "kept, wide")
        self.assertTrue(document.judge_measured("a", [1.1, 1.1], [1.0]).endswith("✗"))
        self.assertFalse(document.judge_measured("a", [1.1, 1.1], [1.1]).endswith("✗"))
        self.assertEqual(document.verdicts.summary("a"), (5, 3, 1, 0, 2, 0, 0))

    def test_no_change_is_counted(self):
        document = RESULTS.Document()
        document.judge("a", 1.005, [1.0], ratio=True)
        document.judge("a", 1.05, [1.05], ratio=True)
        document.judge("a", 0.5, [7.0], change=True)
        document.judge("a", 100, [100])  # no figure of a change
        document.judge_measured("a", [0.9, 1.05, 1.2], [1.05])
        self.assertEqual(document.verdicts.summary("a"), (5, 4, 0, 3, 1, 0, 0))

    def test_cells_of_one_figure_are_one_row(self):
        for cells, wanted in (((KEPT, BROKEN, KEPT), BROKEN), ((KEPT, UNDECIDED), KEPT),
                              ((VERDICTS.NOT_MEASURED, UNDECIDED), UNDECIDED)):
            counts = VERDICTS.Counts()
            for cell in cells:
                counts.add("a", cell, "x")
            counts.add("a", KEPT, "y")
            self.assertEqual(counts.rows("a"), {"x": wanted, "y": KEPT})
            self.assertEqual(counts.broken("a"), ["x"] if wanted == BROKEN else [])
        counts = VERDICTS.Counts()
        counts.add("a", KEPT, "x", no_change=True)
        counts.add("a", KEPT, "x", no_change=False)
        counts.add("a", KEPT, "y", no_change=True)
        counts.add("a", KEPT, "y")
        self.assertEqual(counts.summary("a"), (2, 2, 0, 1, 0, 0, 0))

    def test_what_nobody_has_simulated_is_not_undecided(self):
        document = RESULTS.Document()
        figure = {"what": "x", "paper": 1, "text": ""}
        self.assertEqual(RESULTS.jitter_figure(document, "a", figure, None),
                         ("–", "not simulated"))
        self.assertEqual(RESULTS.jitter_figure(document, "a", {**figure, "paper": None}, [1])[1],
                         UNDECIDED)
        self.assertEqual(RESULTS.jitter_figure(document, "a", {**figure, "open": "y"}, [1])[1],
                         UNDECIDED + ": y")
        self.assertEqual(RESULTS.jitter_figure(document, "a", figure, [2, None]),
                         ("never", BROKEN))
        self.assertEqual(document.verdicts.summary("a"), (4, 0, 0, 0, 1, 2, 1))

    def test_times_that_grow(self):
        said = RESULTS.blowup
        self.assertEqual(said([0, 2, 5], {0: 1, 2: 1.4, 5: 2.2}, 1.5), 2)
        self.assertEqual(said([0, 2, 5], {0: 1, 2: 1.5, 5: 9}, 1.5), 0)
        self.assertIsNone(said([0, 2, 5], {0: 1, 2: 1.4, 5: 2}, 1.5))

    def test_a_sentence_that_the_figures_do_not_show_is_not_written(self):
        RESULTS.claim(True, "x")
        with self.assertRaises(SystemExit):
            RESULTS.claim(False, "x")
        with self.assertRaises(SystemExit):
            RESULTS.quoted("results-sim.md", "this is nowhere in there")


if __name__ == "__main__":
    unittest.main()
