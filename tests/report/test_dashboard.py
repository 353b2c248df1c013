# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""doc/grafana-dashboard.json: what Grafana needs of it, and that each series is printed by
hpcbctl metrics or hpcb-guests; where promtool is installed, that it can read each query."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# What Grafana puts in.
VARIABLES = {"$__rate_interval": "5m", "$__range": "24h", "$node": ".*"}


def load():
    with open(f"{TOP}/doc/grafana-dashboard.json", encoding="utf-8") as stream:
        return json.load(stream)


class Dashboard(unittest.TestCase):
    def setUp(self):
        self.board = load()
        self.panels = self.board["panels"]
        self.queries = [target["expr"] for panel in self.panels
                        for target in panel["targets"]]

    def test_each_series_is_printed(self):
        printed = ""
        for name in ("hpcbctl/status/metrics.c", "report/hpcb_report/gauges.py"):
            with open(f"{TOP}/{name}", encoding="utf-8") as stream:
                printed += stream.read()
        used = {name for query in self.queries for name in re.findall(r"hpcb_\w+", query)}
        self.assertGreaterEqual(len(used), 10)
        self.assertEqual([name for name in sorted(used) if f'"{name}"' not in printed], [])

    def test_panels_have_a_place_and_an_id_of_their_own(self):
        ids = [panel["id"] for panel in self.panels]
        self.assertEqual(len(ids), len(set(ids)))
        taken = set()
        for panel in self.panels:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(taken & cells, panel["title"])
            taken |= cells

    def test_panels_say_what_they_show(self):
        for panel in self.panels:
            self.assertTrue(panel["title"] and panel["description"] and panel["targets"])
            self.assertIn("unit", panel["fieldConfig"]["defaults"])

    def test_the_data_source_is_chosen_on_the_page(self):
        names = {one["name"] for one in self.board["templating"]["list"]}
        said = set(re.findall(r"\$\{?(\w+)", json.dumps(self.board)))
        self.assertEqual({name for name in said if not name.startswith("__")}, names)

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not installed")
    def test_promtool_reads_each_query(self):
        rules = []
        for at, query in enumerate(self.queries):
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            rules.append({"record": f"dashboard:query{at}", "expr": query})
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            # JSON is YAML.
            json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
            file.flush()
            done = subprocess.run(["promtool", "check", "rules", file.name],
                                  capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
