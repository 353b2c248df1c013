# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/balance/run: which settings it searches, and what it expects of them;
bench/balance/jobs: what it asks of Slurm, in what order, and what it reports."""

import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


sys.path.insert(0, os.path.join(TOP, "bench"))


def load(name):
    loader = SourceFileLoader(name, os.path.join(TOP, "bench", name, "run"))
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


from balance import app as application  # noqa: E402
from balance import plan, report  # noqa: E402
from cluster import BenchError  # noqa: E402

balance = load("balance")


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


def run(rep, regime, times, program="metbench", mpi="openmpi"):
    return {"rep": rep, "mpi": mpi, "program": program, "regime": regime,
            "wall": sum(times) / 1e3, "times_ms": times, "checksum": "1",
            "util": [0.5] * plan.RANKS, "took": 1}


class Plan(unittest.TestCase):
    def test_what_each_regime_asks_for(self):
        for regime in plan.ALL:
            job, step = plan.options_of(regime, ([4, 5, 4, 5], [0, 0, 1, 1]))
            self.assertEqual(len(job), 0 if regime in ("none", "none-again", "pinned") else 1)
            for option in job:
                self.assertTrue(option.startswith("--hpc-balance="))
            self.assertNotIn("-spin", " ".join(job + step))

    def test_static_is_where_the_model_wants_it(self):
        best = plan.candidates("metbench", 2)[1]
        self.assertEqual(plan.options_of("static-spin", (best.priorities, best.places)),
                         (["--hpc-balance=static:4,5,4,5"], ["--cpu-bind=map_cpu:0,0,1,1"]))

    def test_candidates_differ_by_more_than_names(self):
        for program in balance.PROGRAMS:
            loads = balance.loads_of(program)
            found = plan.candidates(program, 4)
            self.assertEqual(len({plan.signature(s, loads) for s in found}), 4)
            self.assertEqual(set(found[0].priorities), {4})

    def test_each_run_once_and_in_the_same_order(self):
        programs = list(balance.PROGRAMS)
        runs = plan.schedule(2, plan.MPIS, programs, False)
        self.assertEqual(len({one.key for one in runs}), len(runs))
        self.assertEqual(runs, plan.schedule(2, plan.MPIS, programs, False))
        complete = plan.schedule(2, plan.MPIS, programs, True)
        self.assertEqual(len(complete), 2 * 2 * 4 * len(plan.ALL))
        self.assertLess({one.key for one in runs}, {one.key for one in complete})

    def test_what_is_compared_follows_each_other(self):
        blocks = [key for key, _ in itertools.groupby(
            plan.schedule(3, plan.MPIS, list(balance.PROGRAMS), False),
            key=lambda one: one.key[:3])]
        self.assertEqual(len(blocks), 3 * 2 * 4)

    def test_only_some_regimes_and_none(self):
        runs = plan.schedule(1, ["mpich"], ["metbench"], True, ["auto"])
        self.assertEqual({one.regime for one in runs}, {"none", "auto"})


    def test_the_application_runs_with_its_own_mpi(self):
        runs = plan.schedule(1, plan.MPIS, list(plan.PROGRAMS), True)
        self.assertEqual({one.mpi for one in runs if one.program == "lammps"}, {"openmpi"})
        self.assertEqual({one.mpi for one in runs if one.program == "metbench"},
                         set(plan.MPIS))


# As LAMMPS of Debian 12 writes it; its columns are wider.
LAMMPS = """\
LAMMPS (23 Jun 2022 - Update 1)
Setting up Verlet run ...
  Time step     : 0.005
   Step          CPU           PotEng    
         0   0             -3.04571987654321
         8   0.054321      -3.0812
        16   0.154321      -3.1e-05
Loop time of 0.155 on 4 procs for 16 steps with 16384 atoms

Performance: 44582.8 tau/day, 103.201 timesteps/s
50.9% CPU use with 4 MPI tasks x no OpenMP threads
"""


class Application(unittest.TestCase):
    def test_a_slab_for_each_rank(self):
        text = application.script(10)
        self.assertIn("processors 4 1 1\n", text)
        self.assertEqual(text.count("create_atoms"), plan.RANKS)
        self.assertIn("region slab3 block 108.5 143.5 ", text)
        self.assertTrue(text.endswith("run 30\n"))

    def test_what_it_says(self):
        found = application.parse(LAMMPS)
        self.assertEqual((found["wall"], found["checksum"]), (0.155, "-3.1e-05"))
        self.assertEqual([round(ms, 3) for ms in found["times_ms"]], [54.321, 100.0])

    def test_nothing_that_it_said(self):
        for text in ("", "ERROR: Lost atoms\n", LAMMPS[:LAMMPS.index("Loop")]):
            with self.assertRaises(BenchError):
                application.parse(text)

    def test_a_placement_for_its_loads(self):
        self.assertEqual(len(plan.candidates("lammps", 3)), 3)


class Report(unittest.TestCase):
    def test_who_does_not_tell_its_utilisation(self):
        found = self.results({**run(0, "none", [80] * 40, "lammps"), "util": None})
        self.assertIn("| none | 1 | 3.20 | 1.000 | 1.000 | – | – | – | – |",
                      report.as_markdown(found))

    def results(self, *runs):
        return report.Results({"iterations": 40, "unit_ms": 8}, list(runs), [])

    def test_converged(self):
        self.assertEqual(report.converged([50.0] * 40), 0)
        self.assertAlmostEqual(report.converged([80.0] * 10 + [50.0] * 30), 10, delta=1)
        self.assertIsNone(report.converged([80.0] * 30 + [50.0] * 10))
        # One iteration that the machine has disturbed says nothing.
        self.assertEqual(report.converged([50.0] * 5 + [90.0] + [50.0] * 34), 0)

    def test_ratios_are_of_one_repetition(self):
        found = self.results(run(0, "none", [80] * 40), run(0, "auto", [40] * 40),
                             run(1, "none", [100] * 40), run(1, "auto", [60] * 40),
                             run(2, "auto", [1] * 40))
        self.assertEqual(found.ratios("openmpi", "metbench", "auto"), [0.5, 0.6])

    def test_steady_is_the_second_half(self):
        found = self.results(run(0, "none", [80] * 40), run(0, "auto", [80] * 20 + [40] * 20))
        self.assertEqual(found.ratios("openmpi", "metbench", "auto", key="half"), [0.5])

    def promises_of(self, *runs):
        return [row[-1] for row in report.promises(self.results(*runs))]

    def test_within_3_percent_of_static(self):
        base = (run(0, "none", [80] * 40), run(0, "static", [50] * 40))
        self.assertEqual(self.promises_of(*base, run(0, "dlrb", [51] * 40)), ["yes", "yes"])
        self.assertEqual(self.promises_of(*base, run(0, "dlrb", [52] * 40)),
                         ["**no**", "**no**"])

    def test_better_than_static_where_loads_change(self):
        base = (run(0, "none", [80] * 40, "metbenchvar"),
                run(0, "static", [90] * 40, "metbenchvar"))
        self.assertEqual(self.promises_of(*base, run(0, "auto", [80] * 40, "metbenchvar")),
                         ["yes", "yes"])
        self.assertEqual(self.promises_of(*base, run(0, "auto", [91] * 40, "metbenchvar")),
                         ["**no**", "**no**"])

    def test_a_balanced_job_loses_1_percent_at_most(self):
        base = run(0, "none", [100] * 40, "balanced")
        self.assertEqual(self.promises_of(base, run(0, "auto", [101] * 40, "balanced")),
                         ["yes"])
        self.assertEqual(self.promises_of(base, run(0, "auto", [102] * 40, "balanced")),
                         ["**no**"])

    def test_runs_that_hung_are_told(self):
        hung = [{"hung": ["mpich", "stencil", name]} for name in ("auto", "none", "auto")]
        found = report.Results({"iterations": 40, "unit_ms": 8},
                               [run(0, "none", [80] * 40)], [], hung)
        for text in (report.as_text(found), report.as_markdown(found)):
            self.assertIn("again: mpich stencil auto (2), mpich stencil none (1).", text)

    def test_other_results_are_told(self):
        runs = [run(0, "none", [80] * 40), run(0, "dlrb", [50] * 40),
                {**run(1, "none", [80] * 40), "checksum": "2"}]
        self.assertNotIn("program differ", report.as_markdown(self.results(*runs)))
        runs.append(run(1, "dlrb", [50] * 40))
        self.assertIn("program differ",
                      report.as_markdown(self.results(*runs)))

    def test_notes_are_told(self):
        found = report.Results({"iterations": 40, "unit_ms": 8},
                               [run(0, "none", [80] * 40)], [],
                               notes=[{"note": "Of Tuesday."}])
        self.assertIn("\n- Of Tuesday.\n", report.as_markdown(found))

    def test_documents(self):
        self.assertEqual(report.as_text(self.results()), "nothing to report yet")
        found = self.results(run(0, "none", [80] * 40), run(0, "dlrb", [50] * 40),
                             run(0, "static", [50] * 40))
        for text in (report.as_text(found), report.as_markdown(found)):
            self.assertIn("0.625", text)
        self.assertIn("| dlrb | 1 | 2.00 | 0.625 | 0.625 |", report.as_markdown(found))
        self.assertIn("Metbench, dlrb | 11 % | – | 38 % (dlrb)", report.as_markdown(found))


class Script(unittest.TestCase):
    """bench/balance/jobs with state files only: it starts no sandbox."""

    def call(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", os.path.join(TOP, "bench", "balance", "jobs"), *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def test_bad_options(self):
        for words in (["--mpi", "lam"], ["--programs", "x"], ["--regimes", "none,y"],
                      ["--report"], ["--report", "--state", "/nonexistent"]):
            done = self.call(*words)
            self.assertEqual(done.returncode, 2)
            self.assertNotIn("Traceback", done.stderr)

    def test_report_of_a_state_that_is_not_complete(self):
        with tempfile.TemporaryDirectory() as scratch:
            state, written = (os.path.join(scratch, name) for name in ("state", "md"))
            with open(state, "w", encoding="utf-8") as file:
                for record in ({"balance-jobs": 1, "iterations": 40, "unit_ms": 8},
                               {"rate": 1}, run(0, "none", [80] * 40),
                               run(0, "auto", [50] * 40),
                               {"static": [[4, 5, 4, 5], [0, 0, 1, 1]],
                                "program": "metbench", "spins": False}):
                    file.write(json.dumps(record) + "\n")
            done = self.call("--report", "--state", state, "--write", written)
            self.assertEqual((done.returncode, done.stderr), (3, ""))
            self.assertIn("runs are missing", done.stdout)
            with open(written, encoding="utf-8") as file:
                self.assertIn("static `0:4 0:5 1:4 1:5`", file.read())


if __name__ == "__main__":
    unittest.main()
