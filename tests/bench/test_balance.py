# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/balance: which settings it searches, and what it expects of them;
bench/balance-jobs: what it asks of Slurm."""

import importlib.util
import os
import sys
import unittest
from importlib.machinery import SourceFileLoader

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


sys.path.insert(0, os.path.join(TOP, "bench"))


def load(name):
    loader = SourceFileLoader(name, os.path.join(TOP, "bench", name))
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


balance = load("balance")
jobs = load("balance-jobs")


class Settings(unittest.TestCase):
    def test_two_ranks_on_each_cpu(self):
        found = list(balance.settings())
        self.assertEqual(len(found), 3 * 25)
        self.assertEqual(len({str(setting) for setting in found}), 3 * 25)
        for setting in found:
            self.assertEqual(sorted(setting.places), [0, 0, 1, 1])
            self.assertEqual(setting.places[0], 0)

    def test_the_higher_one_has_the_usual_weight(self):
        setting = balance.Setting([0, 0, 1, 1], [4, 6, 5, 4])
        self.assertEqual([setting.shares(rank) for rank in range(4)], [146, 1024, 1024, 341])

    def best(self, program):
        loads = balance.loads_of(program)
        return min(balance.settings(), key=lambda s: balance.predicted(s, loads))

    def test_metbench(self):
        """A light rank beside each heavy one, which gets three quarters of the CPU."""
        setting = self.best("metbench")
        self.assertNotEqual(setting.places[1], setting.places[3])
        self.assertEqual(setting.priorities, [4, 5, 4, 5])
        self.assertAlmostEqual(balance.predicted(setting, [1, 4, 1, 4]), 4 / 0.75, 1)

    def test_stencil(self):
        setting = self.best("stencil")
        self.assertLess(balance.predicted(setting, balance.loads_of("stencil")),
                        0.7 * balance.predicted(balance.Setting([0, 1, 0, 1], [4] * 4),
                                                balance.loads_of("stencil")))

    def test_nothing_for_a_balanced_job(self):
        self.assertEqual(self.best("balanced").priorities, [4] * 4)


class Jobs(unittest.TestCase):
    def test_regimes(self):
        for regime in jobs.REGIMES.split(","):
            job, step = jobs.options_of(regime, "metbench")
            self.assertEqual(len(job), 0 if regime in ("none", "pinned") else 1)
            for option in job:
                self.assertTrue(option.startswith("--hpc-balance="))
            self.assertNotIn("-spin", " ".join(job + step))

    def test_static_is_where_the_model_wants_it(self):
        self.assertEqual(jobs.options_of("static", "metbench"),
                         (["--hpc-balance=static:4,5,4,5"], ["--cpu-bind=map_cpu:0,0,1,1"]))


if __name__ == "__main__":
    unittest.main()
