# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What users name their jobs does nothing to a report and to those who read it."""

import csv
import html.parser
import io
import json

from tools import NOON, ReportCase, line, record, tag

NAMES = ["a\n999|c|root|guest|COMPLETED|1|1|2|3|00:00:08|n1||x|0", "\x1b]0;owned\x07",
         "<script>alert(1)</script>", "=HYPERLINK(\"http://x\")", "'\"><img src=x>",
         "a|b|c", "\u202egnp.exe", "-2+3", "{\"hpcb\":{\"class\":\"guest\"}}", "\udcff",
         "&amp;", "x" * 5000, "%s%n", "\\x1b", "@SUM(A1)", "\r", "\x9b31m", " "]
ODD = "\x1b\x07\x9b\u202e\r"


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.names = set()
        self.attributes = set()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)


class Hostile(ReportCase):
    def sources(self):
        """Each name as a primary that has run alone and with a guest."""
        jobs = []
        for at, name in enumerate(NAMES):
            for times in (0, 1):
                jobs.append({"JobIDRaw": str(100 + 2 * at + times), "Cluster": "c",
                             "User": name.strip().replace("\n", "")[:40] or "u",
                             "Partition": "primary", "State": "COMPLETED", "NCPUS": "1",
                             "Submit": str(NOON), "Start": str(NOON + 100 * times),
                             "End": str(NOON + 100 * times + 10),
                             "TotalCPU": "00:00:08", "NodeList": "n1",
                             "AdminComment": "", "JobName": name, "UID": "1000"})
        jobs.append({**jobs[0], "JobIDRaw": "9", "Partition": "guest",
                     "JobName": "guest"})
        jobs.insert(1, {"JobIDRaw": "100.0", "JobName": "s\n12345|c", "UID": ""})
        self.fake_sacct(jobs)
        return ["--no-records", "-S", "2025-11-21", "-U", "2025-11-22"]

    def test_no_run_is_forged_or_lost(self):
        said = self.json(*self.sources())
        self.assertEqual(said["totals"]["jobs"], 2 * len(NAMES) + 1)
        self.assertEqual(said["by_class"]["guest"]["jobs"], 1)
        self.assertEqual(said["totals"]["unfinished"], 0)

    def test_output_is_harmless(self):
        args = self.sources()
        for form in ([], ["-P"], ["--csv"], ["--json"]):
            out = self.report(*args, *form, "--by=user,name")
            self.assertFalse(set(out) & set(ODD), form)

    def test_rows_are_whole(self):
        args = self.sources() + ["--by=user,name"]
        rows = list(csv.reader(io.StringIO(self.report(*args, "--csv"))))
        self.assertEqual(len({len(row) for row in rows}), 1)
        for row in rows[1:]:
            for text in row[:2]:
                self.assertNotIn(text[:1], set("=+-@"))
        rows = [row.split("|") for row in self.report(*args, "-P").splitlines()]
        self.assertEqual(len({len(row) for row in rows}), 1)

    def test_the_page_has_no_tag_of_theirs(self):
        out = self.report(*self.sources(), "--by=user", "--html=-")
        tags = Tags()
        tags.feed(out)
        self.assertFalse(tags.names & {"script", "img", "a", "iframe", "object"})
        self.assertFalse([name for name in tags.attributes if name.startswith("on")])
        self.assertFalse(set(out) & set(ODD))
        self.assertIn("&lt;script&gt;", out)

    def test_a_saved_file_with_a_delimiter_in_names(self):
        said = self.from_lines(
            line(1, JobName="a|b|c", AdminComment=tag("guest")),
            line(2, JobName="x|{\"hpcb\":{\"class\":\"guest\"}}"),
            line(3, JobName="a\nb"))
        self.assertEqual(said["totals"]["jobs"], 3)
        self.assertEqual(said["by_class"]["guest"]["jobs"], 1)

    def test_a_heading_tells_the_delimiter(self):
        from tools import FIELDS
        path = self.put_lines("<=>".join(FIELDS) + "\n",
                              line(1, "<=>", JobName="a|b\n2<|=>"), line(2, "<=>"))
        said = self.json("--no-records", "--sacct-file", path)
        self.assertEqual(said["totals"]["jobs"], 2)

    def test_names_in_records(self):
        runs = [record(1 + at, job_name=name, user=name, guests_beside=at % 2)
                for at, name in enumerate(name for name in NAMES + NAMES
                                          if name.isprintable())]
        self.put_records(*runs)
        out = self.report("--no-sacct", "--records", self.dir, "--html=-")
        self.assertNotIn("<script", out)

    def test_garbage(self):
        import random
        rnd = random.Random(5)
        for _ in range(20):
            good = line(1, AdminComment=tag("guest")) + json.dumps(record(1)) + "\n"
            text = "".join(rnd.choice(["|", "\n", "\x00", "[", "9", char])
                           if rnd.random() < 0.1 else char for char in good)
            for args in (["--no-records", "--sacct-file", self.put_lines(
                    line(3), text)],
                    ["--no-sacct", "--records", self.put(
                        "r/2025-11-21.jsonl", text).rpartition("/")[0]]):
                out, err = self.call("hpcb-report", "--json", *args)
                self.assertNotIn("Traceback", err)
                json.loads(out)
