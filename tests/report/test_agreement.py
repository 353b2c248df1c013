# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What the end-to-end tests compare records and sacct with (tests/e2e/records.py)."""

import importlib.util
import os
import tempfile
import unittest

from tools import HERE, record

_SPEC = importlib.util.spec_from_file_location(
    "agreement", os.path.join(HERE, "..", "e2e", "records.py"))
agreement = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(agreement)

# Two runs of job 7: one that was preempted before its script, and one that has ended.
SACCT = """\
7|PREEMPTED|00:00:00|1|2025-11-21T12:00:00
7|COMPLETED|00:08.000|1|2025-11-21T12:02:00
7.batch|COMPLETED|00:08.000|1|2025-11-21T12:02:00
8|FAILED|00:08.000|1|2025-11-21T12:00:00
8.batch|FAILED|00:08.000|1|2025-11-21T12:00:00
9|CANCELLED by 0|00:00:00|0|None
10|PENDING|00:00:00|1|Unknown
"""


def run(job_id, restart=0, **given):
    return {(job_id, restart): record(job_id, restart=restart, **given)}


class Agreement(unittest.TestCase):
    def problems(self, runs, sacct=SACCT, began=None):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(sacct)
            file.flush()
            return agreement.compare(runs, agreement.read_sacct(file.name), began)[1]

    def test_what_agrees(self):
        both = {**run(7, 1), **run(8)}
        self.assertEqual(self.problems(both), [])
        self.assertEqual(self.problems({**both, **run(7, 0, cpu=0)}), [])

    def test_a_run_is_lost(self):
        self.assertEqual(len(self.problems(run(7, 1))), 3)
        self.assertIn("job 7: 0 runs, sacct has 2", self.problems(run(8)))

    def test_a_preempted_run_that_had_begun_is_lost(self):
        began = SACCT.replace("7|COMPLETED", "7.batch|CANCELLED|00:00:00|1|x\n7|COMPLETED")
        self.assertEqual(self.problems({**run(7, 1), **run(8)}, began),
                         ["job 7: 1 runs, sacct has 2"])

    def test_a_preempted_run_without_a_start(self):
        lost = SACCT.replace("PREEMPTED|00:00:00|1|2025-11-21T12:00:00",
                             "PREEMPTED|00:00:00|1|None")
        for runs in ({**run(7, 1)}, {**run(7, 1), **run(7, 0, cpu=0)}):
            self.assertEqual(self.problems({**runs, **run(8)}, lost), [])

    def test_what_has_begun_must_be_there(self):
        began = SACCT.replace("7|COMPLETED", "7.batch|CANCELLED|00:00:00|1|x\n7|COMPLETED")
        first, both = {**run(7, 0), **run(8)}, {(7, 0), (8, 0)}
        self.assertEqual(self.problems(first, began, both), [])
        self.assertEqual(self.problems(first, began, both | {(7, 1)}),
                         ["job 7: run 1 has begun and is lost"])
        self.assertIn("job 8: 0 runs, sacct has 1",
                      self.problems(run(7, 0), began, {(7, 0)}))

    def test_a_run_is_doubled(self):
        self.assertEqual(self.problems({**run(7, 1), **run(8), **run(8, 1, cpu=0)}),
                         ["job 8: 2 runs, sacct has 1"])

    def test_cpu_time_differs(self):
        self.assertEqual(self.problems({**run(7, 1), **run(8, cpu=8.3)}),
                         ["CPU time differs by more than 1 %",
                          "job 8: 8.300 s, sacct 8.000 s"])

    def test_a_node_is_missing(self):
        self.assertEqual(len(self.problems({**run(7, 1), **run(8, complete=False)})), 1)

    def test_times(self):
        for text, seconds in (("00:00:01", 1), ("01:02.500", 62.5),
                              ("1-00:00:01", 86401)):
            self.assertEqual(agreement.seconds(text), seconds)


if __name__ == "__main__":
    unittest.main()
