# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Cost grows about as n log n: CPU time by that of a sixteenth of the size.  n log n would be
21 times, n squared 256."""

import os
import resource
import subprocess
import tempfile
import unittest

SOURCE = os.environ["HPCB_SRCDIR"]
PROGRAM = os.path.join(os.environ["HPCB_BUILDDIR"], "sim", "hpcb-sim")
MOST = 120


def cpu_seconds(*arguments):
    """User time of the fastest of three runs."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([PROGRAM, *arguments], check=True, stdout=subprocess.DEVNULL, timeout=300)
        times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(times)


class Cost(unittest.TestCase):
    def growth(self, small, large):
        # A run of no time at all would say nothing.
        self.assertGreater(small, 0.005)
        self.assertLess(large / small, MOST)

    def test_noise_by_nodes(self):
        hour = os.path.join(SOURCE, "sim", "scenarios", "hour-16384.json")
        self.growth(*(cpu_seconds("run", hour, "--set", f"nodes=[{nodes}]", "--set",
                                  "job.seconds=10") for nodes in (16384, 262144)))

    def test_replay_by_jobs(self):
        def seconds(jobs):
            with tempfile.NamedTemporaryFile(suffix=".swf") as trace:
                subprocess.run([os.path.join(SOURCE, "sim", "make-trace"), "--jobs", str(jobs),
                                "--nodes", "1000", "--cpus-per-node", "32"],
                               check=True, stdout=trace, timeout=300)
                return cpu_seconds("replay", "--swf", trace.name, "--nodes", "1000",
                                   "--cpus-per-node", "32")
        self.growth(seconds(4000), seconds(64000))


if __name__ == "__main__":
    unittest.main()
