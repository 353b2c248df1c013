# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Times, host lists, CPU times, texts."""

import os
import time
import unittest

import tools  # noqa: F401  (finds hpcb_report)
from hpcb_report import hostlist, sacct, svg, text, times

# Friday 2025-11-21 12:34:56 UTC
NOW = 1763728496.0
DAY = 1763683200


class Times(unittest.TestCase):
    def setUp(self):
        before = os.environ.get("TZ")
        os.environ["TZ"] = "UTC"
        time.tzset()

        def restore():
            os.environ.pop("TZ")
            if before is not None:
                os.environ["TZ"] = before
            time.tzset()
        self.addCleanup(restore)

    def test_forms_of_sacct(self):
        for given, wanted in (
                ("2025-11-21", DAY), ("2025-11-21T12:34", DAY + 45240),
                ("2025-11-21 12:34:56", DAY + 45296), ("11/21", DAY),
                ("11/21/25", DAY), ("11.21.2025-01:00", DAY + 3600), ("1121", DAY),
                ("112125", DAY), ("01:02:03", DAY + 3723), ("1:00pm", DAY + 46800),
                ("12:00AM", DAY), ("today", DAY), ("yesterday", DAY - 86400),
                ("midnight", DAY), ("Noon", DAY + 43200), ("teatime", DAY + 57600),
                ("now", NOW), ("now-1hour", NOW - 3600), ("now+2d", NOW + 172800),
                ("now-90", NOW - 90), ("now-1week", NOW - 604800), ("@17", 17)):
            self.assertEqual(times.parse("-S", given, NOW), wanted, given)

    def test_what_is_no_time(self):
        for given in ("", "x", "2025-13-01", "2025-02-30", "25:00", "12:60", "now-",
                      "now-1fortnight", "@", "@-1", "0:00pm", "99999-01-01", "٣:٠٠x"):
            with self.assertRaises(text.UsageError, msg=given) as caught:
                times.parse("--since", given, NOW)
            self.assertIn(f"--since={given}: not a time; allowed: ",
                          str(caught.exception))

    def test_times_that_sacct_prints(self):
        printed = times.Printed()
        self.assertEqual(printed.seconds("2025-11-21T12:34:56"), NOW)
        self.assertEqual(printed.seconds("1763728496"), NOW)
        for given in ("Unknown", "None", "", "2025-11-21T12", "²"):
            self.assertIsNone(printed.seconds(given), given)

    def test_an_hour_that_is_there_twice(self):
        os.environ["TZ"] = "Europe/Berlin"
        time.tzset()
        printed = times.Printed()
        self.assertEqual(printed.seconds("2025-10-26T04:00:00") -
                         printed.seconds("2025-10-26T00:30:00"), 4.5 * 3600)


class HostLists(unittest.TestCase):
    def test_names(self):
        for given, wanted in (
                ("n1", ["n1"]), ("n[1-3,7]", ["n1", "n2", "n3", "n7"]),
                ("a,b[08-10]x", ["a", "b08x", "b09x", "b10x"]), ("", []),
                ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
                ("n[3-1]", []), ("n[x]", []), ("n[1", []), ("None assigned", [])):
            self.assertEqual(hostlist.expand(given), wanted, given)

    def test_a_long_list_ends(self):
        for given in ("n[0-999999999]", "a[0-99999]b[0-99999]",
                      ",".join(["n[0-99999]"] * 50)):
            self.assertLessEqual(len(hostlist.expand(given)),
                                 2 * hostlist.MAX_NODES, given)

    def test_order(self):
        self.assertEqual(sorted(["n10", "n2", "a"], key=hostlist.natural_key),
                         ["a", "n2", "n10"])


class Values(unittest.TestCase):
    def test_cpu_time(self):
        for given, wanted in (("00:00:08", 8), ("01:02.345", 62.345),
                              ("02:00:01", 7201), ("3-00:00:01", 259201)):
            self.assertEqual(sacct.cpu_seconds(given), wanted)
        for given in ("x", "1:2:x", "a-1"):
            self.assertRaises(ValueError, sacct.cpu_seconds, given)

    def test_names_as_records_have_them(self):
        self.assertEqual(sacct.plain_name("a b%"), "a b%25")
        self.assertEqual(sacct.plain_name("ä\n"), "%C3%A4%0A")
        self.assertEqual(sacct.plain_name("\udcff"), "%FF")

    def test_neutral(self):
        self.assertEqual(text.neutral("a\x1b[31m\n\u202e\U000e0041"),
                         "a\\x1b[31m\\x0a\\u202e\\U000e0041")
        self.assertEqual(text.neutral("äöü 日本"), "äöü 日本")

    def test_csv(self):
        for given, wanted in (("=1+1", "'=1+1"), ("+a", "'+a"), ("-a", "'-a"),
                              ("@a", "'@a"), ("|x", "'|x"), ("\t=1", "\\x09=1"),
                              ('a"b,c', '"a""b,c"'), ('=a,"', '"\'=a,"""'),
                              ("a\nb", "a\\x0ab"), (None, ""), (-1.5, "-1.5")):
            self.assertEqual(text.csv_cell(given), wanted)

    def test_ticks(self):
        for low, high in ((0, 1), (0, 0), (-3, 7), (0, 1e-9), (0, 12345678), (5, 5)):
            marks = svg.ticks(low, high)
            self.assertLessEqual(marks[0], low)
            self.assertGreaterEqual(marks[-1], high)
            self.assertTrue(2 <= len(marks) <= 9, marks)
            self.assertEqual(len({svg.value_label(mark, marks[1] - marks[0])
                                  for mark in marks}), len(marks))
