# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What a guest that is submitted now would find, per type of node.

Cores: a guest starts beside primaries, so all CPUs of a node that guests may use count,
less those that guests hold.  Slurm does not say on which node how many CPUs of a job
of several nodes are; they count as spread evenly.
Memory: GuestMemory=allocated gives guests what Slurm has not allocated; unused gives
them what is free on the node, less GuestMemoryReserve.  This is an estimate: the select
plugin decides by newer figures."""

from . import slurm
from .hostlist import expand

# States in which a node takes jobs.
_TAKES = ("IDLE", "ALLOCATED", "MIXED")
_NOT = ("DRAIN", "DOWN", "NOT_RESPONDING", "MAINT", "PLANNED_DOWN", "FAIL", "REBOOT",
        "RESERVED", "POWERED_DOWN", "POWERING_DOWN")


def _int(text):
    return int(text) if text and text.isascii() and text.isdigit() else 0


def _takes(state):
    words = state.replace("*", "+NOT_RESPONDING").replace("~", "+POWERED_DOWN").split("+")
    return words[0] in _TAKES and not any(word.startswith(_NOT) for word in words[1:])


def _held(partition):
    """{node: CPUs that guests hold}"""
    held = {}
    for cpus, nodes in slurm.queue("-p", partition, "-t", "RUNNING,SUSPENDED",
                                   fields=("NumCPUs", "NodeList")):
        names = expand(nodes)
        for name in names:
            held[name] = held.get(name, 0) + -(-_int(cpus) // len(names))
    return held


def _memory(conf, node):
    """MiB that a guest may have on the node."""
    real = _int(node.get("RealMemory"))
    if conf.guest_memory == "allocated":
        return max(0, real - _int(node.get("AllocMem")))
    return max(0, min(real, _int(node.get("FreeMem"))) - conf.reserve_mib(real))


def _kind(node):
    gres = node.get("Gres", "(null)")
    return (_int(node.get("CPUTot")), _int(node.get("RealMemory")),
            "" if gres == "(null)" else gres.split("(")[0],
            node.get("ActiveFeatures", "(null)").replace("(null)", ""))


def look(conf, partition):
    """Types of node, those with most nodes first."""
    held, kinds = _held(conf.guest_partition), {}
    wanted = set(slurm.hostnames(partition.get("Nodes", "")))
    for line in slurm.ask("scontrol", "-a", "-o", "show", "node").splitlines():
        node = slurm.pairs(line)
        if node.get("NodeName") not in wanted:
            continue
        cpus, memory, gres, features = _kind(node)
        kind = kinds.setdefault((cpus, memory, gres, features), {
            "nodes": 0, "ready": 0, "cpus": cpus, "memory_mib": memory, "gres": gres,
            "features": features, "free_cpus": 0, "most_cpus_on_a_node": 0,
            "free_memory_mib": 0, "most_memory_on_a_node_mib": 0})
        kind["nodes"] += 1
        if not _takes(node.get("State", "")):
            continue
        usable = _int(node.get("CPUEfctv")) or cpus
        free = max(0, usable - held.get(node["NodeName"], 0))
        room = _memory(conf, node)
        kind["ready"] += 1
        kind["free_cpus"] += free
        kind["free_memory_mib"] += room
        kind["most_cpus_on_a_node"] = max(kind["most_cpus_on_a_node"], free)
        kind["most_memory_on_a_node_mib"] = max(kind["most_memory_on_a_node_mib"], room)
    return sorted(kinds.values(), key=lambda kind: -kind["nodes"])


def _size(mib):
    return f"{mib}M" if mib < 10240 else f"{mib // 1024}G"


def text(kinds, table):
    if not kinds:
        return ["No node takes guests."]
    rows = [[f"{kind['ready']}/{kind['nodes']}", str(kind["cpus"]),
             _size(kind["memory_mib"]), str(kind["free_cpus"]),
             str(kind["most_cpus_on_a_node"]), _size(kind["most_memory_on_a_node_mib"]),
             ",".join(word for word in (kind["gres"], kind["features"]) if word)[:20]]
            for kind in kinds]
    return table(["NODES", "CPUS", "MEMORY", "FREE-CPUS", "ON-A-NODE", "MEMORY-ON-A-NODE",
                  "TYPE"], rows)
