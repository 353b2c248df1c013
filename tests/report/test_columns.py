# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcb-sacct, in front of a stand-in for sacct."""

import json

from tools import ReportCase

COMMENT = json.dumps({"note": "x", "hpcb": {
    "v": 1, "class": "guest", "policy": "auto", "eff": 0.8124, "stolen": 0.3,
    "bw": {"mem": 12884901888, "net": 1e9, "source": "given"}, "guests": 2}})
JOBS = [{"JobID": "12", "JobIDRaw": "12", "JobName": "wrf", "State": "COMPLETED",
         "AdminComment": COMMENT},
        {"JobID": "12.batch", "JobIDRaw": "12.batch", "JobName": "batch",
         "State": "COMPLETED", "AdminComment": COMMENT},
        {"JobID": "14_[3]", "JobIDRaw": "14", "JobName": "thelongestnameofall",
         "State": "PENDING"}]
OURS = "JobID,Class,Efficiency,Stolen,MemBW,NetBW,Guests"


class Columns(ReportCase):
    def setUp(self):
        super().setUp()
        self.fake_sacct(JOBS)

    def sacct(self, *args, **more):
        return self.call("hpcb-sacct", *args, **more)[0]

    def test_parsable(self):
        self.assertEqual(self.sacct("-P", "--format=" + OURS).splitlines(), [
            "JobID|Class|Efficiency|Stolen|MemBW|NetBW|Guests",
            "12|guest|0.812|0.300|12.00G*|953.67M*|2", "12.batch||||||", "14_[3]||||||"])

    def test_the_default_has_what_is_measured(self):
        self.assertEqual(self.sacct("-P").splitlines()[:2],
                         ["JobID|JobName|State|Class|Efficiency|Stolen|Guests",
                          "12|wrf|COMPLETED|guest|0.812|0.300|2"])

    def test_as_sacct_lays_it_out(self):
        out = self.sacct("--format=JobID,Class,JobName,Efficiency,State")
        self.assertEqual(out, """\
JobID           Class    JobName Efficiency      State 
------------ -------- ---------- ---------- ---------- 
12              guest        wrf      0.812  COMPLETED 
12.batch                   batch             COMPLETED 
14_[3]                thelonges+               PENDING 
""")

    def test_widths(self):
        self.assertEqual(self.sacct("-no", "class%-7,JobName%4,Stolen%3"),
                         "guest    wrf 0.+ \n        bat+     \n        the+     \n")

    def test_forms_of_the_options(self):
        wanted = "12;guest;\n12.batch;;\n14_[3];;\n"
        for args in (["-npo", "JobID,Class", "--delimiter=;"],
                     ["--noh", "--parsable", "--delim", ";", "--form=JobID,Class"],
                     ["-n", "-P", "-p", "--fields", "JobID", "-oClass",
                      "--delimiter=;"]):
            self.assertEqual(self.sacct(*args), wanted, args)

    def test_fields_by_their_beginning_as_sacct_takes_them(self):
        self.assertEqual(self.sacct("-nP", "-o", "JobID,Cla,eff,Stol,memb").splitlines()[0],
                         "12|guest|0.812|0.300|12.00G*")
        # Stat is sacct's State, S too.
        self.assertEqual(self.sacct("-nP", "-o", "Class,State").splitlines()[0],
                         "guest|COMPLETED")

    def test_class_by_partition_where_the_tag_is_gone(self):
        job = {"JobID": "20", "JobIDRaw": "20", "AdminComment": "JS1:H4sIAAA=",
               "Partition": "guest"}
        self.fake_sacct([job, {**job, "JobID": "21", "JobIDRaw": "21",
                               "Partition": "long"},
                         {**job, "JobID": "20.0", "JobIDRaw": "20.0"}])
        self.assertEqual(self.sacct("-nP", "-o", "JobID,Class,Efficiency"),
                         "20|guest|\n21|primary|\n20.0||\n")

    def test_sacct_format(self):
        self.env["SACCT_FORMAT"] = "Class,JobID"
        self.assertEqual(self.sacct("-nP").splitlines()[0], "guest|12")

    def test_all(self):
        heading, first = self.sacct("-P", "-o", "Class,ALL,Stolen").splitlines()[:2]
        self.assertTrue(heading.startswith("Class|JobID|") and
                        heading.endswith("|UID|Stolen"))
        self.assertEqual(len(first.split("|")), len(heading.split("|")))

    def test_options_are_passed_on(self):
        self.sacct("-X", "-j", "12,13", "--starttime", "now-1day", "-sCD", "-nP",
                   "--user=-x", "-o", "Class")
        call = self.sacct_calls()[-1]
        self.assertEqual(call[:7], ["-X", "-j", "12,13", "--starttime", "now-1day",
                                    "-sCD", "--user=-x"])
        self.assertNotIn("-nP", call)

    def test_what_is_not_ours_is_sacct_itself(self):
        for args in (["-o", "JobID"],
                     ["-P", "--format=JobID,State"]):
            self.sacct(*args)
            self.assertEqual(self.sacct_calls()[-1], args)

    def test_helpformat(self):
        out = self.sacct("-e")
        self.assertTrue(out.startswith("Account JobID\n"))
        self.assertIn("Efficiency", out)

    def test_noconvert(self):
        self.assertEqual(self.sacct("-nP", "--noconvert", "-oMemBW").splitlines()[0],
                         "12884901888*")

    def test_measured_bandwidths_have_no_mark(self):
        self.fake_sacct([{**JOBS[0], "AdminComment": '{"hpcb":{"v":1,"mem":2147483648,'
                          '"bw":{"mem":1,"net":3}}}'}])
        self.assertEqual(self.sacct("-nP", "-oMemBW,NetBW").splitlines()[0], "2.00G|3*")

    def test_exit_code_and_errors_are_sacct_s(self):
        self.env["FAKE_SACCT_EXIT"] = "3"
        _, err = self.call("hpcb-sacct", "-P", code=3)
        self.assertIn("made to fail", err)
        self.call("hpcb-sacct", "-o", "JobID", code=3)

    def test_without_sacct(self):
        self.env["PATH"] = self.dir
        _, err = self.call("hpcb-sacct", code=1)
        self.assertEqual(err, "hpcb-sacct: sacct is not installed\n")

    def test_hostile_names(self):
        self.fake_sacct([{**JOBS[0], "JobName": "a\n13|root\x1b[31m\u202e"},
                         {**JOBS[0], "JobName": "b", "AdminComment": '{"hpcb":[1]}'},
                         {**JOBS[0], "JobName": "c", "AdminComment": '{"hpcb":{"eff":'
                          '"x","stolen":-1,"class":["a"],"guests":true,"bw":7}}'}])
        out = self.sacct("-nP", "-o", "JobName,Class,Efficiency,Stolen,MemBW,Guests")
        self.assertEqual(out.splitlines(), ["a\\x0a13|root\\x1b[31m\\u202e|guest|0.812|"
                                            "0.300|12.00G*|2", "b|||||", "c|||||"])
