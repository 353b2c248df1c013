# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcb-sim replay: histories good and bad, and figures that can be worked out by hand."""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["HPCB_SRCDIR"]
PROGRAM = os.path.join(os.environ["HPCB_BUILDDIR"], "sim", "hpcb-sim")
REGIMES = ("dedicated", "nice", "guests", "guests_memory")
FIGURES = ("jobs", "throughput_jobs_per_hour", "efficiency", "turnaround_mean_seconds",
           "guest_cpu_seconds", "primary_slowdown_mean")
HEADER = "JobIDRaw|Submit|ElapsedRaw|AllocCPUS|State|TotalCPU|TimelimitRaw|ReqMem|" \
         "NNodes|MaxRSS|NTasks"


def swf(submit, run, cpus, load=1.0, used=100, limit=-1, asked=200):
    """A line: used and asked in KiB of a CPU."""
    return f"1 {submit} 0 {run} {cpus} {run * load} {used} {cpus} {limit} {asked} " \
        "1 1 1 1 1 1 -1 -1"


# Of glibc's sources, which Debian has in the package locales.
COMMA = "de_DE"


def comma_locale(place):
    """The environment of a locale whose decimal point is a comma, made below place; None
    if the machine cannot make one.  That a program enters it is the program's affair."""
    try:
        subprocess.run(["localedef", "-i", COMMA, "-f", "ISO-8859-1",
                        os.path.join(place, COMMA)], check=True, capture_output=True)
        environment = {"LOCPATH": place, "LC_ALL": COMMA}
        point = subprocess.run(
            [sys.executable, "-c", "import locale; locale.setlocale(locale.LC_ALL, ''); "
             "print(locale.localeconv()['decimal_point'])"], check=True,
            capture_output=True, text=True, env={**os.environ, **environment}).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return environment if point == ",\n" else None


def replay(text, *arguments, form="--swf", environment=None):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False,
                                     encoding="utf-8") as stream:
        stream.write(text)
    try:
        return subprocess.run([PROGRAM, "replay", form, stream.name, *arguments],
                              capture_output=True, text=True, check=False, timeout=300,
                              env={**os.environ, **(environment or {})})
    finally:
        os.unlink(stream.name)


class Replay(unittest.TestCase):
    def said(self, text, *arguments, **more):
        done = replay(text, *arguments, "--json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr

    def test_two_jobs_by_hand(self):
        # The second waits for the first: 100 s, then 100 s.
        text = "; a comment\n" + swf(0, 100, 2) + "\n" + swf(0, 100, 2, 0.5) + "\n"
        said, complaints = self.said(text, "--nodes", "1", "--cpus-per-node", "2",
                                     "--guest-part", "0")
        self.assertEqual(complaints, "")
        for regime in REGIMES:
            found = said["regimes"][regime]
            self.assertEqual(found["jobs"], 2)
            self.assertAlmostEqual(found["throughput_jobs_per_hour"], 36, 4)
            self.assertAlmostEqual(found["efficiency"], 0.75, 4)
            self.assertAlmostEqual(found["turnaround_mean_seconds"], 150, 4)
            self.assertEqual(found["guest_cpu_seconds"], 0)
            self.assertAlmostEqual(found["left_idle_cpu_seconds"], 100, 3)
            self.assertAlmostEqual(found["primary_slowdown_mean"], 1, 6)

    def test_backfill_does_not_delay_the_first(self):
        # Of 4 CPUs 3 are busy for 100 s; the first in the queue wants 4; a short one
        # and a long one of one CPU are behind it.
        jobs = [swf(0, 100, 3, limit=100), swf(1, 100, 4, limit=100),
                swf(2, 50, 1, limit=50), swf(3, 500, 1, limit=500)]
        said, _ = self.said("\n".join(jobs), "--nodes", "2", "--cpus-per-node", "2",
                            "--guest-part", "0")
        # The plan's grain is a minute, and backfill looks every 30 s.
        mean = said["regimes"]["dedicated"]["turnaround_mean_seconds"]
        self.assertAlmostEqual(mean, (100 + 199 + 50 + 697) / 4, delta=15)

    def test_a_guest_gets_what_a_primary_leaves(self):
        # All one-node jobs are guests: the primary needs two nodes.
        text = swf(0, 1000, 2, 0.6) + "\n" + swf(0, 100, 1, 1.0) + "\n"
        said, _ = self.said(text, "--nodes", "2", "--cpus-per-node", "1", "--guest-part",
                            "100", "--guest-cost", "2", "--guest-max-slowdown", "0",
                            "--nice-share", "50")
        regimes = said["regimes"]
        self.assertAlmostEqual(regimes["dedicated"]["turnaround_mean_seconds"], 1050, 3)
        # 100 s of CPU time from 40 % of a CPU.
        self.assertAlmostEqual(regimes["guests"]["guest_turnaround_mean_seconds"], 250,
                               delta=1)
        # 250 of the seconds at 1 / 1.02.
        self.assertAlmostEqual(regimes["guests"]["primary_slowdown_mean"], 1.0049,
                               delta=0.0003)
        self.assertEqual(regimes["guests"]["guest_cpu_seconds"], 100)
        # 40 % that is idle, and half of the 60 %; the primary takes 1.6 times as long.
        self.assertAlmostEqual(regimes["nice"]["guest_turnaround_mean_seconds"], 142.86,
                               delta=1)
        self.assertAlmostEqual(regimes["nice"]["primary_slowdown_mean"], 1.0536,
                               delta=0.002)

    def test_lent_memory_lets_a_guest_start(self):
        # The primary has asked for all of the node and uses a tenth.
        primary = swf(0, 1000, 2, 0.5, used=100 * 1024, asked=1024 * 1024)
        text = primary + "\n" + swf(10, 100, 1, 1.0, used=1024, asked=1024) + "\n"
        said, _ = self.said(text, "--nodes", "2", "--cpus-per-node", "1", "--memory",
                            "1024", "--guest-part", "100", "--guest-cost", "0")
        regimes = said["regimes"]
        self.assertGreater(regimes["guests"]["guest_turnaround_mean_seconds"], 990)
        self.assertLess(regimes["guests_memory"]["guest_turnaround_mean_seconds"], 250)

    def test_lent_memory_is_what_policy_lends(self):
        """RealMemory less a reserve of 512 MiB, less what the primary is expected to use,
        which is an eighth more than it does."""
        def waits(used, asked):
            text = "\n".join((
                swf(0, 1000, 2, 0.5, used=used * 1024, asked=2048 * 1024),
                swf(10, 100, 1, 1.0, used=1024, asked=asked * 1024), ""))
            said, _ = self.said(text, "--nodes", "2", "--cpus-per-node", "1", "--memory",
                                "2048", "--guest-part", "100", "--guest-cost", "0")
            return said["regimes"]["guests_memory"]["guest_turnaround_mean_seconds"] > 900
        self.assertFalse(waits(800, 2048 - 512 - 900))
        self.assertTrue(waits(800, 2048 - 512 - 899))

    def test_lent_memory_is_taken_back_when_it_is_used(self):
        # On each node the primary's two CPUs need used, the guest 700 MiB of 2048 less a
        # reserve of 512.
        def evictions(used):
            jobs = [swf(0, 2000, 1, 1.0, used=700 * 1024, asked=700 * 1024),
                    swf(20, 100, 4, 0.5, used=used * 512, asked=500 * 1024)]
            said, _ = self.said("\n".join(jobs) + "\n", "--nodes", "2", "--cpus-per-node",
                                "2", "--memory", "2048", "--guest-part", "100",
                                "--guest-cost", "0")
            regimes = said["regimes"]
            self.assertEqual([regimes[name]["jobs"] for name in REGIMES], [2] * 4)
            self.assertEqual(regimes["guests"]["evictions"], 0)
            return regimes["guests_memory"]["evictions"]
        self.assertEqual(evictions(2048 - 512 - 700), 0)
        self.assertEqual(evictions(2048 - 512 - 700 + 2), 1)

    def test_a_guest_that_asks_for_the_whole_node_starts(self):
        text = swf(0, 100, 1, 1.0, used=1024, asked=2048 * 1024) + "\n"
        said, _ = self.said(text, "--nodes", "2", "--cpus-per-node", "1", "--memory",
                            "2048", "--guest-part", "100")
        self.assertEqual([said["regimes"][name]["jobs"] for name in REGIMES], [1] * 4)

    def test_same_seed_same_bytes_and_all_members(self):
        trace = subprocess.run([sys.executable, os.path.join(SOURCE, "sim", "make-trace"),
                                "--jobs", "500", "--nodes", "8"], check=True, text=True,
                               capture_output=True).stdout
        first, second = (replay(trace, "--nodes", "8", "--cpus-per-node", "32", "--json",
                                "--seed", "5").stdout for _ in range(2))
        a, b = json.loads(first), json.loads(second)
        a["history"].pop("file"), b["history"].pop("file")
        self.assertEqual(a, b)
        for regime in REGIMES:
            for figure in FIGURES:
                self.assertIn(figure, a["regimes"][regime])
            self.assertEqual(a["regimes"][regime]["jobs"] + a["regimes"][regime]["timeouts"],
                             500)
        self.assertGreater(a["regimes"]["nice"]["primary_slowdown_mean"],
                           a["regimes"]["guests"]["primary_slowdown_mean"])

    def test_output_is_the_same_with_every_compiler(self):
        # Written down once (gcc 12); clang and other releases have to say the same.
        jobs = [swf(37 * i, 50 + 977 * i % 5000, 1 + i % 19, (1 + i % 7) / 7,
                    used=100000 + 7919 * i % 900000, limit=20000, asked=1100000)
                for i in range(400)]
        said, _ = self.said("\n".join(jobs), "--nodes", "5", "--cpus-per-node", "8",
                            "--seed", "2026")
        said["history"].pop("file")
        text = json.dumps(said, sort_keys=True)
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest()[:16], "19f57216029dea74", text)

    def test_bad_lines_are_passed_over_counted_and_told(self):
        lines = [swf(0, 100, 1), swf(5, 100, 1)[:-3], swf(6, 100, 1) + " 7",
                 swf(7, 100, 1).replace("100", "1,5", 1), swf(-7, 100, 1),
                 swf(8, -5, 1), swf(9, -1, 1), swf(10, 100, 99), swf(3, 100, 1), "", ";"]
        said, complaints = self.said("\n".join(lines), "--nodes", "1", "--cpus-per-node",
                                     "4")
        self.assertEqual(said["history"]["passed_over"],
                         {"cut": 2, "no_number": 1, "negative": 2, "did_not_run": 1,
                          "not_ended": 0, "run_again": 0, "outside": 0, "too_large": 1})
        self.assertEqual((said["history"]["jobs"], said["history"]["unsorted"]), (2, 1))
        self.assertIn(":2: passed over (cut: 17 fields instead of 18); 2 such", complaints)
        self.assertIn(":4: passed over (no_number: '1,5' is no number); 1", complaints)
        self.assertIn(":5: passed over (negative", complaints)
        self.assertIn("1 jobs were not in the order", complaints)

    def test_numbers_are_the_same_in_any_locale(self):
        text = "\n".join(swf(1.5 * i, 100.5, 1, 0.25) for i in range(5)) + "\n" + \
            swf(7, 100, 1).replace("100", "1,5", 1)
        arguments = ("--nodes", "1", "--cpus-per-node", "4", "--guest-part", "0.25")
        with tempfile.TemporaryDirectory() as place:
            comma = comma_locale(place)
            if comma is None:
                self.skipTest("no locale with a decimal comma: localedef -i de_DE fails "
                              "(install the package locales)")
            said = [replay(text, *arguments, *more, environment=environment)
                    for environment in ({"LC_ALL": "C"}, comma)
                    for more in ((), ("--json",))]
        for plain, other in zip(said[:2], said[2:]):
            self.assertEqual(plain.returncode, 0, plain.stderr)
            self.assertEqual(other.returncode, 0, other.stderr)
            plain, other = (re.sub(r"tmp\w+\.txt", "FILE", done.stdout + done.stderr)
                            for done in (plain, other))
            self.assertEqual(plain, other)
            self.assertIn("'1,5' is no number", plain)

    def test_nothing_left(self):
        for text in ("", "; only\n", "garbage\n"):
            done = replay(text, "--nodes", "1", "--cpus-per-node", "1")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("no job that ran", done.stderr)

    def test_sacct_with_steps_units_and_both_forms_of_time(self):
        lines = [HEADER,
                 "7|2026-11-23T10:00:00|3600|4|COMPLETED|02:00:00|120|4Gn|1||",
                 "7.batch|2026-11-23T10:00:00|3600|4|COMPLETED|02:00:00|||1|102400K|1",
                 "7.0|2026-11-23T10:00:00|3600|4|COMPLETED|00:00:01|||1|200M|4",
                 "8|1795428000|60|1|CANCELLED by 7|00:30.500|1|1Gc|1||",
                 "9|Unknown|0|0|PENDING|00:00:00|1|1G|1||",
                 "10|2026-11-23T10:00:00|0|1|FAILED|00:00:00|1|1G|1||",
                 "11|2026-13-23T10:00:00|5|1|FAILED|00:00:00|1|1G|1||",
                 "12|2026-11-23T10:00:00|5|1"]
        said, complaints = self.said("\n".join(lines), "--nodes", "1", "--cpus-per-node",
                                     "4", form="--sacct")
        self.assertEqual(said["history"]["jobs"], 2)
        self.assertEqual(said["history"]["passed_over"],
                         {"cut": 1, "no_number": 1, "negative": 0, "did_not_run": 1,
                          "not_ended": 1, "run_again": 0, "outside": 0, "too_large": 0})
        self.assertEqual(said["assumed"], {"cpu_time": 0, "memory_asked": 0,
                                           "memory_used": 1, "time_limit": 0})
        self.assertIn(":8: passed over (no_number: Submit is '2026-13-23T10:00:00')",
                      complaints)
        self.assertAlmostEqual(said["regimes"]["dedicated"]["cpu_seconds"], 7230.5, 1)

    def test_sacct_without_the_columns_that_are_needed(self):
        done = replay("JobID|Submit|Elapsed\n", "--nodes", "1", "--cpus-per-node", "1",
                      form="--sacct")
        self.assertEqual(done.returncode, 1)
        self.assertIn("line 1: no column AllocCPUS", done.stderr)

    def records(self, *rows):
        """A CollectorDir: cluster, job, restart, class, submit, start, wall, cpus, CPU seconds,
        peak, nodes, seq."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        os.mkdir(os.path.join(folder, "records"))
        database = sqlite3.connect(os.path.join(folder, "records", "records.db"))
        database.executescript(
            "PRAGMA application_id = 1213219650; PRAGMA user_version = 1;"
            "CREATE TABLE run (cluster, job_id, restart, class, submit, start, wall_seconds,"
            " cpus, cpu_seconds, memory_peak_bytes, nodes, seq)")
        database.executemany(f"INSERT INTO run VALUES ({', '.join('?' * 12)})", rows)
        database.commit()
        database.close()
        return folder

    @staticmethod
    def of_records(folder, *arguments):
        return subprocess.run([PROGRAM, "replay", "--records", folder, "--nodes", "1",
                               "--cpus-per-node", "2", "--guest-part", "0", "--json",
                               *arguments], capture_output=True, text=True, check=False,
                              timeout=300)

    def test_records_of_the_collector(self):
        folder = self.records(
            ("c", 1, 0, "primary", 1000, 1000.5, 100.0, 2, 100.0, 2048, 1, 1),
            ("c", 2, 0, "guest", 1000, 1000.5, 50.0, 1, 50.0, None, 1, 2),
            ("c", 3, 0, "primary", 1000, 1000.5, 0.0, 1, 0.0, None, 1, 3))
        done = self.of_records(folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual(said["history"]["jobs"], 2)
        self.assertEqual(said["history"]["passed_over"]["did_not_run"], 1)
        # The primary's two CPUs are idle half of the time: one guest runs at full speed.
        self.assertEqual(said["regimes"]["guests"]["guests"], 1)
        self.assertEqual(said["regimes"]["guests_memory"]["guest_cpu_seconds"], 50)
        done = self.of_records("/nowhere")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))

    def test_records_of_several_clusters(self):
        folder = self.records(
            ("a", 1, 0, "primary", 1000, 1000.0, 100.0, 2, 100.0, 2048, 1, 1),
            ("b", 1, 0, "primary", 1000, 1000.0, 70.0, 2, 100.0, 2048, 1, 2),
            ("b", 2, 0, "primary", 1000, 1070.0, 70.0, 2, 100.0, 2048, 1, 3))
        done = self.of_records(folder)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        self.assertIn("jobs of several clusters, 'a' ... 'b': --cluster", done.stderr)
        for cluster, jobs in (("a", 1), ("b", 2)):
            said = json.loads(self.of_records(folder, "--cluster", cluster).stdout)
            self.assertEqual(said["history"]["jobs"], jobs)
        done = self.of_records(folder, "--cluster", "c")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no job that ran", done.stderr)
        done = replay("", "--cluster", "a", "--nodes", "1", "--cpus-per-node", "1")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))

    def test_records_of_a_job_that_was_requeued(self):
        # Twice as a guest that had to go; the third run is the job.  The last one waits for a
        # node's record.
        folder = self.records(
            ("c", 7, 0, "guest", 1000, 1000.0, 30.0, 1, 30.0, None, 1, 1),
            ("c", 7, 1, "guest", 1000, 1040.0, 20.0, 1, 20.0, None, 1, 2),
            ("c", 7, 2, "guest", 1000, 1070.0, 90.0, 1, 90.0, None, 1, 3),
            ("c", 8, 0, "guest", 1000, 1070.0, 90.0, 1, 90.0, None, 1, None))
        done = self.of_records(folder)
        said = json.loads(done.stdout)
        self.assertEqual(said["history"]["jobs"], 1)
        self.assertEqual(said["history"]["passed_over"]["run_again"], 2)
        self.assertEqual(said["history"]["passed_over"]["not_ended"], 1)
        self.assertEqual(said["regimes"]["guests"]["guest_cpu_seconds"], 90)

    def test_records_lend_what_was_measured(self):
        # Half of a node of 8 GiB at least is asked for (assumed), and its peak is known for one.
        def guest_waits(peak):
            folder = self.records(
                ("c", 1, 0, "primary", 1000, 1000.0, 1000.0, 2, 100.0, peak, 1, 1),
                ("c", 2, 0, "guest", 1001, 1001.0, 10.0, 1, 10.0, 5 << 30, 1, 2))
            said = json.loads(self.of_records(folder).stdout)
            return [said["regimes"][name]["guest_turnaround_mean_seconds"] > 900
                    for name in ("guests", "guests_memory")]
        self.assertEqual(guest_waits(1 << 30), [True, False])
        for unknown in (None, 0):
            self.assertEqual(guest_waits(unknown), [True, True])

    def test_bad_arguments(self):
        for arguments, wanted in (
                ([], "--nodes is missing"), (["--nodes", "2"], "--cpus-per-node is"),
                (["--nodes", "0"], "--nodes=0: not a whole number of 1 to"),
                (["--nodes", "1", "--cpus-per-node", "x"], "--cpus-per-node=x: not a"),
                (["--guest-part", "101"], "--guest-part=101: not a number of 0 to 100"),
                (["--guest-limit", "-1"], "--guest-limit=-1: not a number of 0 to 10000"),
                (["--swf", "again"], "one history only"), (["more"], "'more' is not")):
            done = replay("", *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(wanted, done.stderr)

    def test_page(self):
        page = tempfile.mktemp(suffix=".html")
        done = replay(swf(0, 100, 2) + "\n", "--nodes", "1", "--cpus-per-node", "2",
                      "--html", page, environment={
                          "HPCB_SIM_PAGE": os.path.join(SOURCE, "sim", "hpcb-sim-page")})
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", ""))
        with open(page, encoding="utf-8") as stream:
            text = stream.read()
        os.unlink(page)
        self.assertEqual(text.count("<svg"), 6)
        self.assertIn("Not simulated: memory bandwidth", text)
        self.assertNotIn("<script", text)


if __name__ == "__main__":
    unittest.main()
