# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""`hpcbctl check --nodes LIST`: `hpcbctl check` here and on each of the nodes, with equal
findings told once.

Each node tests the cluster and itself.  A rule that one host cannot test (SKIP) counts
as tested if another one could.
"""

import json

from . import remote, slurm
from .hostlist import natural_key
from .text import neutral

# slurmctld answers some questions of each of them.
_AT_ONCE = 16
_SECONDS = 60

# The name of the host that hpcbctl was called on.
HERE = "this host"

_WORST = ("fail", "warn", "ok", "elsewhere")
_LABELS = {"fail": "FAIL", "warn": "WARN"}


def add_options(made):
    made.add_argument("--nodes", metavar="LIST", required=True)
    made.add_argument("--remote", metavar="COMMAND", default=remote.REMOTE)


def _nodes(text, partition):
    """ALL: those of the guest partition."""
    if text.upper() == "ALL":
        text = slurm.partition(partition).get("Nodes", "")
    return slurm.hostnames(text)


def _findings(answer):
    """What a host found, or None if it is no answer of hpcbctl check."""
    if answer.code not in (0, 1):
        return None
    try:
        found = json.loads(answer.out)["findings"]
        return [{key: row.get(key) for key in
                 ("rule", "verdict", "file", "found", "mend", "protects")}
                for row in found if row["verdict"] in _WORST]
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


class Merged:
    """rows: [finding with "nodes", the hosts that have it], in the order of the rules."""

    def __init__(self):
        self.rows = {}
        self.hosts = []
        self.silent = []

    def add(self, answer):
        found = _findings(answer)
        if found is None:
            self.silent.append({"node": answer.node,
                                "why": answer.why or "it is no hpcbctl that answers"})
            return
        self.hosts.append(answer.node)
        for row in found:
            key = tuple(row.values())
            self.rows.setdefault(key, {**row, "nodes": []})["nodes"].append(answer.node)

    def with_verdict(self, verdict):
        return [row for row in self.rows.values() if row["verdict"] == verdict]

    def rules(self, verdict):
        """Names of rules of which it is the worst verdict."""
        worst = {}
        for row in self.rows.values():
            at = _WORST.index(row["verdict"])
            worst[row["rule"]] = min(at, worst.get(row["rule"], at))
        return [rule for rule, at in worst.items() if _WORST[at] == verdict]

    def good(self):
        return not self.silent and not self.with_verdict("fail")

    def as_json(self):
        return {"ok": self.good(), "nodes": self.hosts, "not_checked": self.silent,
                "findings": list(self.rows.values())}


def _where(row, merged):
    """Hosts in short."""
    if len(row["nodes"]) == len(merged.hosts):
        return "all"
    names = [name for name in row["nodes"] if name != HERE]
    here = [HERE] if HERE in row["nodes"] else []
    return ", ".join(here + ([slurm.hostlist(names)] if names else []))


def _problem(row, merged):
    said = neutral(row["found"] or "")
    file = neutral(row["file"] or "")
    lines = [f"{_LABELS[row['verdict']]}  {row['rule']}: {said}"
             + (f" ({file})" if file and file not in said else ""),
             f"      on: {_where(row, merged)}"]
    if row["mend"]:
        lines.append(f"      mend: {neutral(row['mend'])}")
    return lines + [f"      protects: {neutral(row['protects'] or '')}"]


def text(merged):
    """What people read."""
    lines = []
    for verdict in ("warn", "fail"):
        for row in merged.with_verdict(verdict):
            lines += _problem(row, merged)
    untested = merged.rules("elsewhere")
    if untested:
        lines.append("SKIP  tested on none of these hosts: " + ", ".join(untested))
    lines += [f"{row['node']}: NOT checked: {row['why']}" for row in merged.silent]
    lines.append(f"{len(merged.hosts)} hosts: {len(merged.rules('ok'))} rules ok, "
                 f"{len(merged.with_verdict('warn'))} warnings, "
                 f"{len(merged.with_verdict('fail'))} failed; "
                 f"{len(merged.silent)} hosts not checked")
    return "\n".join(lines)


def main(options, settings):
    """The exit code: 0 if nothing is broken on any host and each has answered."""
    words = remote.words_of(options.remote)
    nodes = sorted(_nodes(options.nodes, settings.guest_partition), key=natural_key)
    args = ["--json", "check"]
    if options.config:
        args[:0] = ["--config", options.config]
    merged = Merged()
    merged.add(remote.call(HERE, [], args, _SECONDS))
    for answer in remote.each(words, nodes, args, _AT_ONCE, _SECONDS):
        merged.add(answer)
    print(json.dumps(merged.as_json(), indent=2) if options.json else text(merged),
          flush=True)
    return 0 if merged.good() else 1
