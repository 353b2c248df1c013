# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The tag in AdminComment as C writes it: tests/common/test_tag.c writes the same lines."""

import os

from hpcb_report import sacct
from tools import ReportCase

LINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common", "tags.jsonl")


class Tag(ReportCase):
    def setUp(self):
        super().setUp()
        with open(LINES, encoding="utf-8") as file:
            self.submitted, self.ended, self.alone = file.read().splitlines()

    def test_every_key_is_read(self):
        asked = {"v": 1, "class": "primary", "policy": "auto", "program": "CG/cg.B",
                 "bw": {"mem": 12 << 30, "net": 3, "cpu": 0.6, "source": "learned"}}
        used = {"eff": 0.75, "stolen": 0.1, "cpu": 15, "wall": 10, "net": 3000000000}
        self.assertEqual(sacct.tag_of(self.submitted), asked)
        self.assertEqual(sacct.tag_of(self.ended), {**asked, **used, "guests": 3, "run": 2,
                                                     "mem": 5000000000})
        self.assertEqual(sacct.tag_of(self.alone), {"v": 1, "class": "guest", **used})

    def test_columns_show_it(self):
        self.fake_sacct([{"JobID": str(number), "JobIDRaw": str(number), "JobName": "x",
                          "State": "COMPLETED", "AdminComment": comment}
                         for number, comment in ((1, self.ended), (2, self.alone))])
        self.assertEqual(
            self.call("hpcb-sacct", "-nP",
                      "--format=JobID,Class,Policy,Efficiency,Stolen,Guests")[0].splitlines(),
            ["1|primary|auto|0.750|0.100|3", "2|guest||0.750|0.100|"])

    def test_its_beginning_is_known(self):
        """The class is read without JSON in the common case."""
        self.assertIn(1, [self.alone.startswith(begin) for begin, _ in sacct._TAGS])
