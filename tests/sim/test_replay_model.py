# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcb-sim replay: who waits for what, who is ended, and what counts, on histories of a few
jobs that can be worked out by hand."""

import os
import subprocess
import sys
import tempfile
import unittest

from test_replay import REGIMES, SOURCE, replay, swf
import json

MIB = 1024
OURS = ("guests", "guests_memory")


class Model(unittest.TestCase):
    def regimes(self, jobs, *arguments):
        done = replay("\n".join(jobs) + "\n", *arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["regimes"]

    def turnaround(self, jobs, *arguments):
        """Of the mean job, by regime."""
        found = self.regimes(jobs, *arguments)
        return [found[name]["turnaround_mean_seconds"] for name in REGIMES]


class PrimariesNeedMemory(Model):
    def test_a_primary_waits_for_memory(self):
        # Two of one CPU and 600 of 1000 MiB: side by side by CPUs, one after another by memory.
        jobs = [swf(0, 100, 1, asked=600 * MIB), swf(0, 100, 1, asked=600 * MIB)]
        arguments = ("--nodes", "1", "--cpus-per-node", "2", "--memory", "1000",
                     "--guest-part", "0")
        for mean in self.turnaround(jobs, *arguments):
            self.assertAlmostEqual(mean, 150, delta=0.1)
        jobs = [swf(0, 100, 1, asked=500 * MIB), swf(0, 100, 1, asked=500 * MIB)]
        for mean in self.turnaround(jobs, *arguments):
            self.assertAlmostEqual(mean, 100, delta=0.1)

    def test_a_wide_primary_needs_memory_on_each_node(self):
        # 3 CPUs of 400 MiB: one node of 1000 MiB has room for two of them.
        job = [swf(0, 100, 3, asked=400 * MIB)]
        arguments = ("--cpus-per-node", "4", "--memory", "1000", "--guest-part", "0", "--nodes")
        self.assertEqual(self.regimes(job, *arguments, "2")["dedicated"]["jobs"], 1)
        done = replay(job[0], *arguments, "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 jobs passed over (too_large: more CPUs or memory than 1 nodes of 4 "
                      "CPUs and 1000 MiB have)", done.stderr)

    def test_backfill_leaves_the_memory_of_the_first(self):
        # The first in the queue waits for memory until 100 s; a short one that wants some runs
        # before, a long one after.
        jobs = [swf(0, 100, 1, asked=600 * MIB, limit=120),
                swf(1, 100, 1, asked=900 * MIB, limit=120),
                swf(2, 30, 1, asked=200 * MIB, limit=60),
                swf(3, 500, 1, asked=200 * MIB, limit=600)]
        mean = self.turnaround(jobs, "--nodes", "1", "--cpus-per-node", "4", "--memory", "1000",
                               "--guest-part", "0")[0]
        self.assertAlmostEqual(mean, (100 + 199 + 30 + 697) / 4, delta=15)

    def test_a_guest_does_not_start_on_reserved_memory(self):
        # The node's memory is promised to a primary that uses all of it.
        jobs = [swf(0, 1000, 2, 0.5, used=1000 * MIB, asked=1000 * MIB),
                swf(10, 100, 1, 1.0, used=MIB, asked=MIB)]
        found = self.regimes(jobs, "--nodes", "2", "--cpus-per-node", "1", "--memory", "1000",
                             "--guest-part", "100", "--guest-cost", "0")
        for name in REGIMES:
            self.assertGreater(found[name]["guest_turnaround_mean_seconds"], 989, name)

    def test_nothing_is_lent_on_a_guess(self):
        # Nobody knows what the primary uses of what it asked for.
        jobs = [swf(0, 1000, 2, 0.5, used=-1, asked=4096 * MIB),
                swf(10, 100, 1, 1.0, used=MIB, asked=MIB)]
        done = replay("\n".join(jobs), "--nodes", "2", "--cpus-per-node", "1", "--memory",
                      "4096", "--guest-part", "100", "--json")
        said = json.loads(done.stdout)
        self.assertEqual(said["assumed"]["memory_used"], 1)
        self.assertGreater(
            said["regimes"]["guests_memory"]["guest_turnaround_mean_seconds"], 989)


class GuestsComeLast(Model):
    # The guest holds memory that the primary wants at 10 s.
    JOBS = [swf(0, 100, 1, 1.0, used=600 * MIB, asked=600 * MIB),
            swf(10, 100, 4, 0.5, used=300 * MIB, asked=300 * MIB)]
    ARGUMENTS = ("--nodes", "2", "--cpus-per-node", "2", "--memory", "1000", "--guest-part",
                 "100", "--guest-cost", "0")

    def test_a_primary_takes_its_memory_from_a_guest(self):
        found = self.regimes(self.JOBS, *self.ARGUMENTS)
        self.assertAlmostEqual(found["guests"]["primary_turnaround_mean_seconds"], 100, delta=0.1)
        self.assertEqual(found["guests"]["evictions"], 1)
        # What it did in 10 s is lost.
        self.assertAlmostEqual(found["guests"]["lost_cpu_seconds"], 10, delta=0.1)

    def test_stock_slurm_does_not_preempt(self):
        found = self.regimes(self.JOBS, *self.ARGUMENTS)["nice"]
        self.assertAlmostEqual(found["primary_turnaround_mean_seconds"], 190, delta=0.1)
        self.assertEqual(found["evictions"], 0)

    def test_a_guest_that_may_not_be_requeued_is_cancelled(self):
        found = self.regimes(self.JOBS, *self.ARGUMENTS, "--no-requeue")["guests"]
        self.assertEqual((found["jobs"], found["cancelled"], found["guests"]), (1, 1, 0))

    def test_a_primary_goes_where_no_guest_has_to_go(self):
        # The guest's node has no room for 2 x 300 MiB without its memory; two others have.
        jobs = [swf(0, 500, 1, 1.0, used=600 * MIB, asked=600 * MIB),
                swf(10, 100, 4, 0.1, used=MIB, asked=300 * MIB)]
        found = self.regimes(jobs, "--nodes", "3", "--cpus-per-node", "2", "--memory", "1000",
                             "--guest-part", "100", "--guest-cost", "0")
        self.assertEqual(found["guests"]["evictions"], 0)


class Limits(Model):
    # A guest that has 40 % of a CPU needs 250 s for 100.
    @staticmethod
    def jobs(limit):
        return [swf(0, 1000, 2, 0.6, limit=1200), swf(0, 100, 1, 1.0, limit=limit)]

    ARGUMENTS = ("--nodes", "2", "--cpus-per-node", "1", "--guest-part", "100", "--guest-cost",
                 "0")

    def test_a_slow_guest_runs_into_its_limit(self):
        found = self.regimes(self.jobs(120), *self.ARGUMENTS)
        self.assertEqual((found["dedicated"]["jobs"], found["dedicated"]["timeouts"]), (2, 0))
        for name in OURS:
            self.assertEqual((found[name]["jobs"], found[name]["timeouts"],
                              found[name]["guest_timeouts"]), (1, 1, 1), name)
            # Killed at its limit, with 40 % of a CPU until then; that is no use to anybody.
            self.assertAlmostEqual(found[name]["lost_cpu_seconds"], 48, delta=0.1)
            self.assertEqual(found[name]["guest_cpu_seconds"], 0)

    def test_a_longer_limit_lets_it_end(self):
        for limit, arguments in ((300, ()), (120, ("--guest-limit", "250"))):
            found = self.regimes(self.jobs(limit), *self.ARGUMENTS, *arguments)
            for name in OURS:
                self.assertEqual((found[name]["jobs"], found[name]["timeouts"]), (2, 0))
                self.assertAlmostEqual(found[name]["guest_turnaround_mean_seconds"], 250,
                                       delta=1)

    def test_an_assumed_limit_ends_nobody(self):
        found = self.regimes(self.jobs(-1), *self.ARGUMENTS)
        self.assertEqual([found[name]["timeouts"] for name in REGIMES], [0] * 4)

    def test_who_used_up_the_limit_does_so_again(self):
        # As a guest it gets less done, but no more than in the history was wanted of it.
        found = self.regimes(self.jobs(100), *self.ARGUMENTS)
        for name in OURS:
            self.assertEqual((found[name]["jobs"], found[name]["timeouts"]), (2, 0))
            self.assertAlmostEqual(found[name]["guest_turnaround_mean_seconds"], 100, delta=0.1)
            self.assertAlmostEqual(found[name]["guest_cpu_seconds"], 40, delta=0.1)

    def test_backfill_plans_by_limits(self):
        # The second waits for the first; the third would fit before by its running time, and
        # does not by its limit.
        jobs = [swf(0, 300, 3, limit=320), swf(1, 100, 4, limit=120),
                swf(2, 200, 1, limit=3600)]
        mean = self.turnaround(jobs, "--nodes", "1", "--cpus-per-node", "4",
                               "--guest-part", "0")[0]
        self.assertAlmostEqual(mean, (300 + 399 + 598) / 3, delta=1)


class Crumbs(Model):
    # The primary never waits: next to it a guest gets nothing.
    ARGUMENTS = ("--nodes", "2", "--cpus-per-node", "1", "--guest-part", "100", "--guest-cost",
                 "10", "--guest-max-slowdown", "0")

    def test_a_guest_that_gets_nothing_is_stopped_and_requeued(self):
        found = self.regimes([swf(0, 1000, 2, 1.0), swf(0, 100, 1, 1.0)], *self.ARGUMENTS)
        for name in OURS:
            self.assertEqual((found[name]["starved"], found[name]["evictions"]), (1, 1), name)
            # The primary is slowed down until the guest is stopped: 10 s at 1 / 1.1.
            self.assertAlmostEqual(found[name]["primary_slowdown_mean"], 1.0009, delta=0.0001)
            self.assertAlmostEqual(found[name]["guest_turnaround_mean_seconds"], 1101, delta=2)
        self.assertEqual(found["nice"]["starved"], 0)

    def test_a_guest_that_starved_waits_for_room(self):
        jobs = [*(swf(0, 1000, 2, 1.0) for _ in range(5)), swf(0, 100, 1, 1.0)]
        found = self.regimes(jobs, *self.ARGUMENTS)
        for name in OURS:
            self.assertEqual(found[name]["starved"], 1)
            self.assertAlmostEqual(found[name]["guest_turnaround_mean_seconds"], 5101, delta=2)

    def test_a_guest_that_may_not_be_requeued_stays(self):
        found = self.regimes([swf(0, 1000, 2, 1.0), swf(0, 100, 1, 1.0)], *self.ARGUMENTS,
                             "--no-requeue")
        for name in OURS:
            self.assertEqual((found[name]["jobs"], found[name]["starved"]), (2, 0), name)

    def test_a_guest_with_its_share_is_left_alone(self):
        found = self.regimes([swf(0, 1000, 2, 0.98), swf(0, 10, 1, 1.0)], *self.ARGUMENTS)
        for name in OURS:
            self.assertEqual(found[name]["evictions"], 0)
            self.assertAlmostEqual(found[name]["guest_turnaround_mean_seconds"], 500, delta=1)


class Harm(Model):
    # Of two nodes, so that it is no guest; it leaves half of each CPU.
    JOBS = [swf(0, 20000, 2, 0.5), swf(0, 1000, 1, 1.0)]
    ARGUMENTS = ("--nodes", "2", "--cpus-per-node", "1", "--guest-part", "100")

    def guests(self, *arguments):
        """For which part of the time they run, and the figures of that regime."""
        said = json.loads(replay("\n".join(self.JOBS) + "\n", *self.ARGUMENTS, *arguments,
                                 "--json").stdout)
        return said["cluster"]["guest_time"], said["regimes"]["guests"]

    def test_a_cost_below_the_limit_restricts_nobody(self):
        time, found = self.guests("--guest-cost", "0.99")
        self.assertEqual(time, 1)
        self.assertAlmostEqual(found["guest_turnaround_mean_seconds"], 2000, delta=1)
        self.assertAlmostEqual(found["primary_slowdown_mean"], 1.00098, delta=1e-5)

    def test_twice_the_limit_leaves_half_of_the_time(self):
        time, found = self.guests("--guest-cost", "2")
        self.assertAlmostEqual(time, 0.5, delta=0.001)
        self.assertAlmostEqual(found["guest_turnaround_mean_seconds"], 4000, delta=10)
        self.assertAlmostEqual(found["primary_slowdown_mean"], 1.00198, delta=1e-5)

    def test_now_and_then_they_are_tried_again(self):
        time, _ = self.guests("--guest-cost", "1.5")
        self.assertGreater(time, 0.505)
        self.assertLess(time, 0.55)

    def test_who_harms_in_a_quarter_of_the_time_goes_elsewhere(self):
        time, found = self.guests("--guest-cost", "4.1")
        self.assertEqual(time, 0)
        self.assertEqual(found["starved"], 1)
        self.assertEqual(found["primary_slowdown_mean"], 1)

    def test_without_a_limit_all_run(self):
        time, found = self.guests("--guest-cost", "50", "--guest-max-slowdown", "0")
        self.assertEqual(time, 1)
        # In the guest's 2000 s it works for 2000 / 1.5.
        self.assertAlmostEqual(found["primary_slowdown_mean"], 1.03333, delta=1e-4)

    def test_it_is_said(self):
        text = replay("\n".join(self.JOBS) + "\n", *self.ARGUMENTS, "--guest-cost", "2").stdout
        self.assertIn("GuestMaxSlowdown=1% is less than guests cost (--guest-cost): on "
                      "nodes of primaries they run for 50 % of the time.", text)


class Window(Model):
    def test_what_ends_last_does_not_decide(self):
        # Ten jobs in 1000 s, and one more that runs for 5000 s.
        jobs = [swf(100 * i, 50, 1) for i in range(10)] + [swf(1000, 5000, 1)]
        found = self.regimes(jobs, "--nodes", "1", "--cpus-per-node", "1", "--guest-part", "0")
        self.assertAlmostEqual(found["dedicated"]["throughput_jobs_per_hour"], 36, delta=0.01)
        self.assertAlmostEqual(found["dedicated"]["efficiency"], 0.5, delta=0.001)
        self.assertEqual(found["dedicated"]["period_seconds"], 1000)
        self.assertAlmostEqual(found["dedicated"]["makespan_seconds"], 6000, delta=1)

    def test_what_is_submitted_at_once_counts_until_its_end(self):
        jobs = [swf(i, 1000, 1) for i in range(20)]
        found = self.regimes(jobs, "--nodes", "1", "--cpus-per-node", "1", "--guest-part", "0")
        self.assertAlmostEqual(found["dedicated"]["throughput_jobs_per_hour"], 3.6, delta=0.01)
        self.assertEqual(found["dedicated"]["efficiency"], 1)

    def test_the_output_says_how_full_the_cluster_is(self):
        # 100 of 2 x 200 CPU seconds are the guest's, 200 the primary's.
        text = "\n".join((swf(0, 100, 2), swf(0, 100, 1), swf(200, 1, 2)))
        arguments = ("--nodes", "2", "--cpus-per-node", "1", "--guest-part", "100")
        said = json.loads(replay(text, *arguments, "--json").stdout)
        self.assertAlmostEqual(said["offered_load"], 0.755, delta=0.001)
        self.assertAlmostEqual(said["offered_guest_load"], 0.25, delta=0.001)
        self.assertIn("Jobs ask for 75.5 % of the CPUs' time, guests among them for 25 %.",
                      replay(text, *arguments).stdout)
        said = json.loads(replay(swf(0, 100, 2), *arguments, "--json").stdout)
        self.assertIsNone(said["offered_load"])

    def test_dedicated_tells_what_would_be_guests_apart(self):
        jobs = [swf(0, 100, 2), swf(0, 100, 1)]
        found = self.regimes(jobs, "--nodes", "2", "--cpus-per-node", "1", "--guest-part", "100")
        dedicated = found["dedicated"]
        self.assertAlmostEqual(dedicated["primary_turnaround_mean_seconds"], 100, delta=0.1)
        self.assertAlmostEqual(dedicated["guest_turnaround_mean_seconds"], 200, delta=0.1)
        self.assertEqual((dedicated["guests"], dedicated["guest_cpu_seconds"]), (0, 0))

    def test_start_and_end_count_what_was_inside(self):
        # Submitted at 0, began at 100, ran for 1000; of that 500 ... 700 counts.
        lines = [swf(0, 1000, 1).replace(" 0 0 ", " 0 100 ", 1), swf(600, 1000, 1),
                 swf(0, 100, 1), swf(700, 100, 1)]
        done = replay("\n".join(lines), "--nodes", "1", "--cpus-per-node", "2", "--guest-part",
                      "0", "--json", "--start", "500", "--end", "700")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual((said["history"]["jobs"], said["history"]["passed_over"]["outside"]),
                         (2, 2))
        self.assertIn("2 jobs passed over (outside: not between --start and --end)", done.stderr)
        found = said["regimes"]["dedicated"]
        self.assertEqual(found["period_seconds"], 200)
        self.assertAlmostEqual(found["cpu_seconds"], 300, delta=0.1)
        self.assertAlmostEqual(found["efficiency"], 0.75, delta=0.001)

    def test_dates(self):
        text = "JobIDRaw|Submit|Start|ElapsedRaw|AllocCPUS\n" \
            "1|2026-11-22T23:00:00|2026-11-22T23:30:00|3600|1\n"
        arguments = ("--nodes", "1", "--cpus-per-node", "1", "--json", "--start", "2026-11-23",
                     "--end", "2026-11-23T12:00")
        said = json.loads(replay(text, *arguments, form="--sacct").stdout)
        self.assertAlmostEqual(said["regimes"]["dedicated"]["makespan_seconds"], 1800, delta=1)
        for wrong in (("--start", "soon"), ("--end", "2026-13-01"),
                      ("--start", "10", "--end", "10")):
            done = replay(text, "--nodes", "1", "--cpus-per-node", "1", *wrong, form="--sacct")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), wrong)


class MadeTrace(Model):
    """sim/make-trace's: what the README says of it."""

    @staticmethod
    def trace(*arguments):
        return subprocess.run([sys.executable, os.path.join(SOURCE, "sim", "make-trace"),
                               "--jobs", "6000", *arguments], check=True, text=True,
                              capture_output=True).stdout.splitlines()

    def found(self, load, *arguments):
        return self.regimes(self.trace("--load", load), "--nodes", "100", "--cpus-per-node",
                            "32", *arguments)

    def test_below_its_capacity_a_cluster_does_what_is_submitted(self):
        found = self.found("0.7", "--guest-limit", "1000")
        for name in OURS:
            self.assertAlmostEqual(found[name]["throughput_jobs_per_hour"] /
                                   found["dedicated"]["throughput_jobs_per_hour"], 1, delta=0.02)

    def test_above_it_lent_memory_gives_more(self):
        found = self.found("1.4", "--guest-limit", "1000")
        self.assertGreater(found["guests_memory"]["throughput_jobs_per_hour"],
                           found["dedicated"]["throughput_jobs_per_hour"])
        self.assertGreater(found["guests_memory"]["guest_cpu_seconds"],
                           found["guests"]["guest_cpu_seconds"])
        self.assertLess(found["guests_memory"]["primary_turnaround_mean_seconds"],
                        found["dedicated"]["primary_turnaround_mean_seconds"])


if __name__ == "__main__":
    unittest.main()
