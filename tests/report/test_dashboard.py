# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""doc/grafana-dashboard.json: what Grafana needs of it, and that each series is printed by
hpcbctl metrics or hpcb-guests; if promtool is installed, that it can read each query; if
`scripts/install-deps --grafana` has run, that Grafana's own types fit each field."""

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


CACHE = os.environ.get("HPCB_CACHE") or "/var/cache/slurm-hpc-balance"
NODE_MODULES = os.path.join(CACHE, "grafana", "node_modules")
SCHEMA = os.path.join(NODE_MODULES, "@grafana", "schema", "dist", "types")
COMPILER = os.path.join(NODE_MODULES, "typescript", "bin", "tsc")


def as_values(match):
    """JSON has no enumerations: a type of the values that the members have."""
    values = re.findall(r'= ("[^"]*"|-?\d+)', match[2])
    return f"export declare const {match[1]}: any;\n" \
           f"export type {match[1]} = {' | '.join(values)};"


def copy_types(there):
    """Grafana's types into a directory where the compiler finds them by their name."""
    package = os.path.join(there, "node_modules", "@grafana", "schema")
    types = os.path.join(package, "dist", "types")
    shutil.copytree(SCHEMA, types)
    with open(os.path.join(package, "package.json"), "w", encoding="utf-8") as stream:
        stream.write('{"types": "dist/types/index.d.ts"}')
    for where, _, names in os.walk(types):
        for name in names:
            with open(os.path.join(where, name), "r+", encoding="utf-8") as stream:
                text = stream.read()
                stream.seek(0)
                stream.write(re.sub(r"export declare enum (\w+) \{(.*?)\n\}", as_values, text,
                                    flags=re.S))
                stream.truncate()


def program(board):
    """A program that has the dashboard in it, and again the options of each panel, of
    which the dashboard's type says nothing."""
    types = "@grafana/schema/dist/types/raw"
    lines = [f"import type {{ Dashboard }} from '{types}/dashboard/x/types.gen';"]
    for kind in sorted({panel["type"] for panel in board["panels"]}):
        lines.append(f"import type * as {kind} from "
                     f"'{types}/composable/{kind}/panelcfg/x/types.gen';")
    lines.append(f"export const board: Dashboard = {json.dumps(board)};")
    for at, panel in enumerate(board["panels"]):
        parts = {"Options": panel["options"],
                 "FieldConfig": panel["fieldConfig"]["defaults"].get("custom")}
        lines += [f"export const {name}{at}: {panel['type']}.{name} = {json.dumps(part)};"
                  for name, part in parts.items() if part is not None]
    return "\n".join(lines)


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

    def compile(self, board):
        """What the compiler has to say, nothing if it is content."""
        with tempfile.TemporaryDirectory() as there:
            copy_types(there)
            with open(os.path.join(there, "board.ts"), "w", encoding="utf-8") as stream:
                stream.write(program(board))
            done = subprocess.run(["node", COMPILER, "--noEmit", "--strict", "--skipLibCheck",
                                   "--target", "es2020", "--moduleResolution", "node",
                                   "board.ts"], cwd=there, capture_output=True,
                                  encoding="utf-8", check=False)
        return done.stdout + done.stderr

    @unittest.skipUnless(os.path.exists(COMPILER) and os.path.isdir(SCHEMA) and
                         shutil.which("node"), "no scripts/install-deps --grafana")
    def test_grafanas_types_fit(self):
        self.assertEqual(self.compile(self.board), "")
        # It would say so.
        self.board["panels"][0]["gridPos"]["x"] = "left"
        self.panels[1]["options"]["colorMode"] = "loud"
        said = self.compile(self.board)
        self.assertIn("Type 'string' is not assignable to type 'number'", said)
        self.assertIn("\"loud\"", said)

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
