# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcb-report's command line and its forms of output."""

import csv
import io
import json
import os
import unittest.mock

from tools import NOON, ReportCase, line, node_record, record, tag


class Refusals(ReportCase):
    def test_one_line_that_says_what_is_allowed(self):
        for args, words in (
                (["--by=colour"], "--by=colour: unknown 'colour'; allowed: class,"),
                (["--by=user,user"], "--by=user,user: twice the same"),
                (["--by="], "--by=: an item is empty"),
                (["--class=x"], "--class=x: unknown 'x'; allowed: primary, guest"),
                (["--cpus=0"], "--cpus=0: allowed: 1 to 2147483647"),
                (["--cpus=²"], "--cpus=²: allowed"),
                (["--since=x"], "--since=x: not a time; allowed: YYYY-MM-DD"),
                (["-S", "@5", "-U", "@5"], "--until=@5: is not after --since"),
                (["--json", "--csv"], "--json and --csv exclude each other"),
                (["--html=-", "--json"], "--html=- and other output exclude"),
                (["--no-sacct", "--no-records"], "leave nothing to read"),
                (["--no-records", "--records=x"], "exclude each other"),
                (["--bogus"], "--bogus"), (["--since"], "expected one argument"),
                (["word"], "word")):
            out, err = self.call("hpcb-report", *args, code=2)
            self.assertEqual(out, "")
            self.assertEqual(err.count("\n"), 1, err)
            self.assertTrue(err.startswith("hpcb-report: "), err)
            self.assertIn(words, err)

    def test_sources_that_are_not_there(self):
        for args, words in (
                (["--no-sacct", "--records=/no/such"], "--records=/no/such: is no dir"),
                (["--no-sacct"], "there are no records here"),
                (["--sacct-file=/no/such"], "--sacct-file=/no/such: No such file"),
                (["--no-sacct", "--config=/no/such"], "--config /no/such: No such")):
            out, err = self.call("hpcb-report", *args, code=1)
            self.assertEqual((out, err.count("\n")), ("", 1))
            self.assertIn(words, err)

    def test_a_file_that_sacct_has_not_printed(self):
        for text in ("hello\nworld\n", "JobIDRaw|State\n1|COMPLETED\n",
                     "JobIDRaw Cluster\n"):
            _, err = self.call("hpcb-report", "--no-records", "--sacct-file",
                               self.put_lines(text), code=1)
            self.assertIn("sacct -P", err)
            self.assertEqual(err.count("\n"), 1)

    def test_help_and_version(self):
        self.assertIn("--sacct-file FILE", self.report("--help"))
        self.assertTrue(self.report("--version").startswith("hpcb-report "))
        self.assertTrue(self.report("--sacct-fields").startswith("JobIDRaw,Cluster,"))


class OthersRecords(ReportCase):
    def test_records_of_root_are_not_taken_for_none(self):
        from hpcb_report import records
        path = self.put_records(record(1)).rpartition("/")[0]
        self.assertFalse(records.closed(path))
        self.assertFalse(records.closed("/no/such"))
        with unittest.mock.patch("os.access", return_value=False):
            self.assertTrue(records.closed(path))


class Selection(ReportCase):
    LINES = (line(1), line(2, User="eve", Partition="long"),
             line(3, Cluster="d", Partition="guest", AdminComment=tag("guest")))

    def jobs(self, *args):
        return self.from_lines(*self.LINES, args=args)["totals"]["jobs"]

    def test_lists(self):
        for args, jobs in (((), 3), (("--user=eve",), 1), (("-u", "ada,eve"), 3),
                           (("--user=nobody",), 0), (("-r", "long,guest"), 2),
                           (("--class=guest",), 1), (("-M", "d"), 1),
                           (("--cluster=c", "--user=ada"), 1)):
            self.assertEqual(self.jobs(*args), jobs, args)

    def test_users_by_number(self):
        said = self.from_lines(line(1, User="root"), line(2, User="", UID="4294967"),
                               line(3), args=("--user=0,4294967",))
        self.assertEqual(said["totals"]["jobs"], 2)

    def test_a_users_primary_has_the_guests_of_others_beside_it(self):
        said = self.from_lines(
            line(1), line(2, Start=NOON + 50, End=NOON + 60),
            line(3, User="eve", Partition="guest", AdminComment=tag("guest")),
            args=("--user=ada",))
        self.assertEqual(said["totals"]["jobs"], 2)
        self.assertEqual(said["by_class"]["primary"]["slowdown_runs"], 1)

    def test_groups(self):
        said = self.from_lines(*self.LINES, args=("--by=user,partition",))
        self.assertEqual(said["by"], ["user", "partition"])
        self.assertEqual([(row["user"], row["partition"], row["jobs"])
                          for row in said["groups"]],
                         [("ada", "guest", 1), ("ada", "primary", 1),
                          ("eve", "long", 1)])

    def test_groups_by_time(self):
        lines = (line(1), line(2, End=NOON + 86400))
        for key, values in (("hour", ["2025-11-21T12:00", "2025-11-22T12:00"]),
                            ("day", ["2025-11-21", "2025-11-22"]),
                            ("week", ["2025-W47"]), ("month", ["2025-11"])):
            said = self.from_lines(*lines, args=("--by=" + key,))
            self.assertEqual([row[key] for row in said["groups"]], values)

    def test_days_of_records_are_left_out_by_their_names(self):
        path = self.put_records(record(1))
        self.put("records/2020-01-01.jsonl", "what is here is not read\n")
        out, err = self.call("hpcb-report", "--json", "--no-sacct", "--records", path,
                             "-S", f"@{NOON}", "-U", f"@{NOON + 86400}")
        self.assertEqual((json.loads(out)["totals"]["jobs"], err), (1, ""))


class Forms(ReportCase):
    def forms(self, *args):
        return self.report("--no-records", "--sacct-file", self.put_lines(
            line(1, TotalCPU="1-00:00:00", NCPUS=9000), line(2, Partition="guest")),
            *args)

    def test_text(self):
        out = self.forms()
        self.assertIn("Jobs that ended 2025-11-21T12:00:10 - 2025-11-21T12:00:10",
                      out.replace("11:59:55 -", "12:00:10 -"))
        self.assertIn("\nprimary    1    24.00", out)
        self.assertIn("\ntotal      2    24.00", out)
        rows = self.forms("-n").split("\n")
        self.assertTrue(rows[0].startswith("primary"))
        self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_parsable_and_csv_are_the_same(self):
        parsable = [row.split("|") for row in self.forms("-P").splitlines()]
        values = list(csv.reader(io.StringIO(self.forms("--csv"))))
        self.assertEqual(parsable, values)
        self.assertEqual(parsable[0][:3], ["class", "jobs", "runs"])
        self.assertEqual(self.forms("-Pn").splitlines(),
                         self.forms("-P").splitlines()[1:])

    def test_json_is_what_its_description_says(self):
        said = json.loads(self.forms("--json", "--by=user"))
        self.assertEqual(list(said), ["version", "since", "until", "sources", "totals",
                                      "by_class", "applications", "by", "groups"])
        path = os.path.join(os.path.dirname(__file__), "..", "..", "doc",
                            "report-json.md")
        with open(path, encoding="utf-8") as stream:
            described = stream.read()
        for member in {*said["totals"], *said["by_class"]["guest"]}:
            stem, _, _ = member.partition("_")
            if stem in ("turnaround", "waiting", "running"):
                member = f"{stem}_…_seconds"
            self.assertIn(f"`{member}`", described)

    def test_a_reader_that_leaves(self):
        import subprocess
        import sys
        from tools import REPORT
        path = self.put_lines(*(line(n, User=f"u{n}") for n in range(1, 3000)))
        done = subprocess.run(
            f"{sys.executable} -B {REPORT}/hpcb-report --by=user --no-records "
            f"--sacct-file {path} | head -n 1", shell=True, capture_output=True,
            env=self.env, timeout=60, check=True)
        self.assertEqual(done.stderr, b"")


class Sacct(ReportCase):
    JOB = {"JobIDRaw": "1", "Cluster": "c", "User": "ada", "Partition": "primary",
           "State": "COMPLETED", "NCPUS": "1", "Submit": str(NOON), "Start": str(NOON),
           "End": str(NOON + 10), "TotalCPU": "00:00:08", "NodeList": "n1",
           "JobName": "app", "UID": "1000"}

    def test_is_asked_for_everyones_runs(self):
        self.fake_sacct([self.JOB])
        said = self.json("-S", "2025-11-21", "-U", "2025-11-22", "--user=ada")
        self.assertEqual(said["totals"]["jobs"], 1)
        call = self.sacct_calls()[0]
        for option in ("--allusers", "--duplicates", "--parsable2",
                       "--starttime=2025-11-21T00:00:00",
                       "--endtime=2025-11-22T00:00:00"):
            self.assertIn(option, call)

    def test_the_clusters_cpus_are_those_of_slurmctld(self):
        self.fake_sacct([self.JOB])
        when = ("-S", "2025-11-21", "-U", "2025-11-22")
        self.assertEqual(self.json(*when)["totals"]["processors"], 1)
        # n1 is in two partitions.
        self.env["FAKE_SINFO"] = "n1 8\nn1 8\nn2 16"
        totals = self.json(*when)["totals"]
        self.assertEqual(totals["processors"], 24)
        self.assertAlmostEqual(totals["efficiency"], 8 / (24 * 10), places=5)
        self.assertEqual(self.json(*when, "--cpus=3")["totals"]["processors"], 3)
        self.assertEqual(self.json(*when, "-M", "c")["totals"]["processors"], 1)

    def test_failure_is_told(self):
        self.fake_sacct([], exit_code=1)
        _, err = self.call("hpcb-report", code=1)
        self.assertEqual(err, "hpcb-report: sacct: error: made to fail\\x1b[31m\n")

    def test_records_do_where_sacct_fails(self):
        self.fake_sacct([], exit_code=1)
        path = self.put_records(record(1))
        out, err = self.call("hpcb-report", "--json", "-S", "2025-11-21", "--records",
                             path)
        self.assertEqual(json.loads(out)["totals"]["jobs"], 1)
        self.assertIn("from records alone", err)

    def test_what_the_node_has_does_where_there_is_nothing_else(self):
        self.fake_sacct([], exit_code=1)
        self.put("none.conf", f"SpoolDir={self.dir}/spool\nCollectorDir=/no/such\n")
        self.put("spool/records/7+1.n1.json", json.dumps(node_record(
            7, restart=1, submit=NOON - 20, user="ada", job_name="x")) + "\n")
        said, err = self.call("hpcb-report", "--json", "-S", "2025-11-21")
        self.assertEqual(json.loads(said)["totals"]["turnaround_max_seconds"], 30)
        self.assertIn("from records alone", err)
        self.fake_sacct([])
        del self.env["FAKE_SACCT_EXIT"]
        self.assertEqual(self.json("-S", "2025-11-21")["totals"]["jobs"], 0)

    def test_is_not_installed(self):
        self.env["PATH"] = self.dir
        _, err = self.call("hpcb-report", code=1)
        self.assertEqual(err, "hpcb-report: sacct is not installed\n")

    def test_the_collectors_directory_is_found(self):
        self.fake_sacct([self.JOB])
        path = self.put_records(record(1, cpu=8.25))
        self.put("none.conf", f"# x\ncollectordir = {os.path.dirname(path)} # y\n")
        said = self.json("-S", "2025-11-21")
        self.assertEqual(said["totals"]["cpu_seconds"], 8.25)
        self.assertEqual(said["sources"]["records"], os.path.dirname(path))
