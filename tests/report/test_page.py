# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The HTML page: in a browser without a screen, where one is installed."""

import os
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree
import zlib

from tools import HERE, NOON, ReportCase, line

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser",
                                               "google-chrome"))), None)
PICTURES = ["Timeline of jobs per node", "Throughput", "Throughput gained by guests",
            "Efficiency", "Turnaround", "Running time of primaries",
            "Change of running time"]


def pixels(path):
    """Rows of (red, green, blue) of a PNG of 8 bits without interlace."""
    with open(path, "rb") as stream:
        data = stream.read()
    at, packed, width, kind = 8, b"", 0, 0
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if name == b"IHDR":
            width, _, _, kind = struct.unpack(">IIBB", body[:10])
        elif name == b"IDAT":
            packed += body
        at += 12 + size
    depth = {2: 3, 6: 4}[kind]
    raw, stride = zlib.decompress(packed), width * depth
    above = bytearray(stride)
    for begin in range(0, len(raw), stride + 1):
        row = unfilter(raw[begin], bytearray(raw[begin + 1:begin + 1 + stride]), above,
                       depth)
        above = row
        yield [tuple(row[x:x + 3]) for x in range(0, stride, depth)]


def unfilter(kind, row, above, depth):
    for x in range(len(row)):
        left = row[x - depth] if x >= depth else 0
        up, corner = above[x], above[x - depth] if x >= depth else 0
        if kind == 1:
            row[x] = (row[x] + left) & 255
        elif kind == 2:
            row[x] = (row[x] + up) & 255
        elif kind == 3:
            row[x] = (row[x] + (left + up) // 2) & 255
        elif kind == 4:
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up),
                       (abs(guess - corner), 2, corner))
            row[x] = (row[x] + near[2]) & 255
    return row


class Page(ReportCase):
    def history(self, *args):
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "generate"), self.dir,
                        *args], check=True, timeout=120)
        return ["--records", self.dir, "--sacct-file",
                os.path.join(self.dir, "sacct.txt")]

    def page(self, *args):
        """(path, text)"""
        path = os.path.join(self.dir, "page.html")
        self.assertEqual(self.report("--html", path, *args), "")
        with open(path, encoding="utf-8") as stream:
            return path, stream.read()

    def pictures(self, text):
        """{label: element} of the pictures, which are well-formed."""
        found = {}
        for match in re.findall(r"<svg.*?</svg>", text, re.S):
            element = xml.etree.ElementTree.fromstring(match)
            found[element.get("aria-label")] = element
        return found

    def check_inside(self, element):
        """Every shape lies inside its picture and has an area."""
        _, _, width, height = map(float, element.get("viewBox").split())
        count = 0
        for shape in element.iter("{http://www.w3.org/2000/svg}rect"):
            x, y, wide, tall = (float(shape.get(name))
                                for name in ("x", "y", "width", "height"))
            self.assertTrue(0 <= x and x + wide <= width + 1 and 0 <= y and
                            y + tall <= height + 1 and wide > 0, shape.attrib)
            count += 1
        for shape in element.iter("{http://www.w3.org/2000/svg}polygon"):
            for point in shape.get("points").split():
                x, y = map(float, point.split(","))
                self.assertTrue(0 <= x <= width + 1 and 0 <= y <= height + 1, point)
            count += 1
        self.assertGreater(count, 0, element.get("aria-label"))

    def test_every_picture_is_there(self):
        _, text = self.page(*self.history("--jobs", "160"))
        found = self.pictures(text)
        # No application has runs enough for the last one.
        self.assertEqual(list(found), PICTURES[:6])
        for element in found.values():
            self.check_inside(element)
        bars = [shape for shape in found[PICTURES[0]].iter(
            "{http://www.w3.org/2000/svg}rect") if shape.findall("*")]
        self.assertEqual(len(bars), 160)

    def test_wide_data_stays_readable(self):
        _, text = self.page(*self.history("--jobs", "6000", "--nodes", "300"))
        found = self.pictures(text)
        self.assertEqual(list(found), ["CPUs used per node over time", *PICTURES[1:]])
        for element in found.values():
            self.check_inside(element)
        rows = found["CPUs used per node over time"].findall(
            "{http://www.w3.org/2000/svg}polygon")
        self.assertLessEqual(len(rows), 2 * 40)
        self.assertLess(len(text), 2000000)

    def verdict(self, *lines):
        _, text = self.page("--no-records", "--sacct-file", self.put_lines(*lines))
        return re.findall(r'<p class="verdict">(.*?)</p>', text)

    def pairs(self, count, longer):
        """Runs alone of 100 s, then count beside a guest that take longer s more or less
        one."""
        hour = NOON + 3600
        return [*(line(n, Start=NOON + 200 * n, End=NOON + 200 * n + 100)
                  for n in range(1, 4)),
                line(1000, Partition="guest", Start=hour, End=hour + 999999),
                *(line(100 + n, Start=hour + 300 * n,
                       End=hour + 300 * n + 100 + longer + n % 3 - 1)
                  for n in range(count))]

    def test_the_answer_comes_first(self):
        gain, cost = self.verdict(*self.pairs(40, 5))
        self.assertRegex(gain, r"^Guests got [0-9.]+ CPU hours, [0-9.]+% of what "
                               r"primaries left of \d+ CPUs\.$")
        self.assertEqual(cost, "Primaries ran longer beside guests than alone: +5.0% in "
                               "the median (+4.0% to +6.0% with 95% confidence, 40 runs).")
        self.assertIn("ran no longer beside guests than alone, as far as",
                      self.verdict(*self.pairs(40, 0))[1])

    def test_few_runs_give_no_ratio(self):
        lines = self.pairs(29, 5)
        self.assertEqual(self.verdict(*lines)[1], "What primaries lost is not known: 29 of "
                         "their runs with guests beside them can be compared, 30 are "
                         "needed.")
        _, text = self.page("--no-records", "--sacct-file", self.put_lines(*lines))
        self.assertIn("<b>-</b><i>fewer than 30 runs to compare", text)
        self.assertEqual(self.verdict(line(1))[0], "No guest ended in this time.")
        self.assertEqual(self.verdict(), [])

    def test_bars_rest_on_enough_runs(self):
        few, enough = (self.page("--no-records", "--sacct-file",
                                 self.put_lines(*self.pairs(count, 5)))[1]
                       for count in (5, 6))
        self.assertIn("No application has 6 runs with guests beside it.", few)
        self.assertNotIn('class="span"', few)
        self.check_inside(self.pictures(enough)[PICTURES[6]])
        self.assertEqual(enough.count('class="span"'), 1)

    def test_the_time_before_stands_beside(self):
        day = [line(n, Start=NOON + 3600 * n, End=NOON + 3600 * n + 60) for n in (1, 2, 5)]
        args = ("--no-records", "--sacct-file", self.put_lines(*day))
        _, text = self.page(*args, "-S", f"@{NOON + 3600 * 4}", "-U", f"@{NOON + 3600 * 8}")
        self.assertRegex(text, r"<b>1</b><i>1 primaries, 0 guests</i><i>before: 2</i>")
        self.assertIn("a time of the same length", text)
        for more in ((), ("-S", f"@{NOON}")):
            _, text = self.page(*args, *more)
            self.assertNotIn("before: ", text)

    def test_it_says_whose_and_when(self):
        _, text = self.page("--no-records", "--sacct-file", self.put_lines(line(1)))
        self.assertRegex(text, r"Cluster \w+\. hpcb-report [^,]+, \d{4}-\d\d-\d\d "
                               r"\d\d:\d\d:\d\d, from ")

    def test_needs_nothing_else(self):
        _, text = self.page(*self.history("--jobs", "40"))
        self.assertNotRegex(text, r"<script|<link(?! rel=\"icon\" href=\"data:,\")"
                                  r"|@import|url\(|src=")
        self.assertEqual(set(re.findall(r"https?://[^\"' <]*", text)),
                         {"http://www.w3.org/2000/svg"})

    def test_little_data(self):
        for lines in ([], [line(1)], [line(1, NodeList="")],
                      [line(1, Partition="guest")],
                      [line(1, Start=NOON, End=NOON, TotalCPU="")],
                      [line(1, Submit="Unknown")],
                      [line(1), line(2, State="RUNNING", End="Unknown")],
                      [line(1, End=NOON + 400 * 86400)]):
            _, text = self.page("--no-records", "--sacct-file", self.put_lines(*lines))
            for element in self.pictures(text).values():
                if element.get("aria-label") not in (PICTURES[2],):
                    self.check_inside(element)

    def test_is_written_as_a_whole(self):
        path, before = self.page(*self.history("--jobs", "40"))
        mode = os.stat(path).st_mode & 0o777
        self.assertEqual(mode, 0o666 & ~_umask())
        self.call("hpcb-report", "--html", path, "--sacct-file=/no/such", code=1)
        with open(path, encoding="utf-8") as stream:
            self.assertEqual(stream.read(), before)
        _, err = self.call("hpcb-report", "--html=/no/such/x", "--no-records",
                           "--sacct-file", self.put_lines(line(1)), code=1)
        self.assertEqual(err, "hpcb-report: --html=/no/such/x: No such file or "
                              "directory\n")

    def test_in_a_browser(self):
        if BROWSER is None:
            self.skipTest("no chromium is installed")
        path, _ = self.page(*self.history("--jobs", "160"))
        shot = os.path.join(self.dir, "shot.png")
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", "--force-prefers-color-scheme=light",
             "--enable-logging=stderr",
             "--user-data-dir=" + os.path.join(self.dir, "profile"),
             "--window-size=1160,1500", "--screenshot=" + shot, "file://" + path],
            capture_output=True, timeout=300, check=False,
            env={**self.env, "HOME": self.dir})
        log = done.stderr.decode("utf-8", "replace")
        self.assertEqual(done.returncode, 0, log)
        self.assertEqual([text for text in log.splitlines() if "CONSOLE" in text], [])
        self.check_seen(shot)

    def check_seen(self, shot):
        """Both colours in each of the pictures' places, seen as bands of rows."""
        blue, orange = (0x00, 0x72, 0xB2), (0xE6, 0x9F, 0x00)
        bands, gap = [], 100
        for row in pixels(shot):
            seen = {blue, orange} & set(row)
            if seen and gap > 40:
                bands.append(set())
            if seen:
                bands[-1] |= seen
            gap = 0 if seen else gap + 1
        both = [band for band in bands if len(band) == 2]
        # The timeline and at least two rows of charts.
        self.assertGreaterEqual(len(both), 3, bands)


def _umask():
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
