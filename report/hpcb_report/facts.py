# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Which runs count, and what is true of each once sacct and records are put together.

A job counts once, in the period in which its last run ended; its earlier runs (it was
requeued) add what they used.  Times are the controller's where sacct tells them,
because submission, start and end are on one clock there; running time, CPU time and
capacity are the records', which have them to the microsecond and count every thread.
"""

from .base import COMPLETED, PENDING, PREEMPTED, REQUEUED, RUNNING, clean

# Runs that sacct does not tell: the record has all.
_RECORDED = """
SELECT r.rid AS mid, r.rid AS rid, NULL AS tid, r.cluster, r.job, r.user, r.partition,
  r.name, r.klass,
  CASE WHEN {earlier} = 0 THEN {first} ELSE r.submit END AS submit, r.start, r."end",
  coalesce(nullif(r.wall, 0), max(0.0, r."end" - r.start)) AS run, r.cpu, r.capacity,
  r.delay, r.node_wall, r.cpus, r.cpus AS key_cpus, coalesce({earlier}, 0) = 0 AS final,
  CASE WHEN coalesce({earlier}, 0) = 0 THEN r.evictions ELSE 0 END AS evictions,
  1 AS ended_well, 1 AS measured, {beside} AS beside, r.network, r.memory,
  coalesce(r.ended_for = 'memory', 0) AS for_memory, r.cost, r.cost_low, r.cost_high,
  r.cost_method, r.guard_steps, r.guests_requeued, r.sliced, r.throttled, r.stopped,
  r.starved,
  coalesce(r.ended_for = 'harm', 0) AS for_harm,
  coalesce(r.ended_for = 'starved', 0) AS for_starving
FROM record r {several} r.rid
{company_r}
WHERE {alone} {where_r}"""

# What sacct tells, with the record where there is one.  A job that never ran has no
# start, one that goes on has no end.  Of one that was cancelled in the queue some
# releases tell a start, but no nodes.
_TOLD = f"""
SELECT -t.tid AS mid, r.rid AS rid, t.tid AS tid, t.cluster, t.job,
  coalesce(r.user, t.user) AS user, coalesce(r.partition, t.partition) AS partition,
  coalesce(r.name, t.name) AS name,
  CASE WHEN coalesce(r.klass, 2) = 2 THEN t.klass ELSE r.klass END AS klass,
  CASE WHEN {{earlier}} = 0 THEN {{first}} ELSE coalesce(t.submit, r.submit) END AS submit,
  CASE WHEN t.state IN ({PENDING}, {RUNNING}) OR t."end" IS NULL THEN r.start
    WHEN t.start IS NULL THEN r.start
    WHEN r.rid IS NULL AND t.start = t."end" AND t.nodes = '' THEN NULL
    ELSE t.start END AS start,
  CASE WHEN t.state IN ({PENDING}, {RUNNING}) OR t."end" IS NULL THEN r."end"
    ELSE t."end" END AS "end",
  r.wall AS r_wall, r.cpu AS r_cpu, r.capacity AS r_capacity, r.delay, r.node_wall,
  r.cpus AS r_cpus, coalesce(r.complete, 0) AS complete, t.cpu AS s_cpu,
  t.cpus AS s_cpus, t.state AS state, coalesce({{earlier}}, 0) = 0 AS last,
  {{beside}} AS beside, r.network, r.memory,
  coalesce(r.ended_for = 'memory', 0) AS for_memory, r.cost, r.cost_low, r.cost_high,
  r.cost_method, r.guard_steps, r.guests_requeued, r.sliced, r.throttled, r.stopped,
  r.starved,
  coalesce(r.ended_for = 'harm', 0) AS for_harm,
  coalesce(r.ended_for = 'starved', 0) AS for_starving
FROM told t LEFT JOIN pair p ON p.tid = t.tid LEFT JOIN record r ON r.rid = p.rid
{{several}} -t.tid
{{company_t}}"""

# What the last run of a job is only where it has ended: the row of the next one may
# come later than the end of this one.
_ENDED = f"""
SELECT mid, rid, tid, cluster, job, user, partition, name, klass, submit, start, "end",
  coalesce(nullif(r_wall, 0), max(0.0, "end" - start)) AS run,
  CASE WHEN rid IS NULL THEN s_cpu
    WHEN complete AND r_cpu <> 0 THEN r_cpu ELSE max(r_cpu, s_cpu) END AS cpu,
  CASE WHEN rid IS NOT NULL AND complete AND r_capacity <> 0 THEN r_capacity
    ELSE s_cpus * max(0.0, "end" - start) END AS capacity,
  coalesce(delay, 0.0) AS delay, coalesce(node_wall, 0.0) AS node_wall,
  CASE WHEN rid IS NOT NULL AND complete AND r_capacity <> 0 THEN r_cpus
    ELSE s_cpus END AS cpus,
  coalesce(nullif(r_cpus, 0), s_cpus) AS key_cpus,
  last AND state <> {REQUEUED} AS final, state = {PREEMPTED} AS evictions,
  state = {COMPLETED} AS ended_well, rid IS NOT NULL AS measured, beside, network,
  memory, for_memory, cost, cost_low, cost_high, cost_method, guard_steps,
  guests_requeued, sliced, throttled, stopped, starved, for_harm, for_starving
FROM answer WHERE "end" IS NOT NULL AND start IS NOT NULL {{where}}"""

_NODES = """CASE WHEN {rid} IS NULL
  THEN (SELECT nodes FROM told WHERE tid = {tid})
  ELSE (SELECT group_concat(node) FROM record_node n WHERE n.rid = {rid}) END"""


def nodes_of(rid, tid):
    """SQL: the list of nodes of a run, or NULL."""
    return _NODES.format(rid=rid, tid=tid)


class Wanted:
    """The runs that --since, --until, --user, … ask for.  None: any."""

    def __init__(self, since=None, until=None, users=None, partitions=None,
                 classes=None, clusters=None):
        self.since = float("-inf") if since is None else since
        self.until = float("inf") if until is None else until
        self.lists = (("user", users), ("partition", partitions), ("klass", classes),
                      ("cluster", clusters))

    def whose(self, prefix=""):
        """SQL that follows WHERE …, but for the period."""
        text = ""
        for column, items in self.lists:
            if items is not None:
                listed = ", ".join(_literal(item) for item in sorted(items))
                text += f" AND {prefix}{column} IN ({listed})"
        return text

    def when(self, column='"end"'):
        text = ""
        if self.since > float("-inf"):
            text += f" AND {column} >= {self.since!r}"
        if self.until < float("inf"):
            text += f" AND {column} < {self.until!r}"
        return text


def _literal(item):
    return str(item) if isinstance(item, int) else \
        "'" + clean(item).replace("'", "''") + "'"


class Facts:
    """The table fact: a row a run that counts.  submit, start and end are seconds since
    the epoch; run, cpu, capacity (CPUs x time), delay and node_wall are seconds; final
    is 1 for a job's last run; app is its application, or NULL."""

    def __init__(self, base, wanted):
        self.base = base
        self.unfinished = self.never_started = 0
        company = base.one("SELECT 1 FROM company LIMIT 1")
        several = base.one("SELECT 1 FROM several LIMIT 1")
        self._make(wanted, {
            # A table with nothing in it would be asked for each run.
            "earlier": "s.earlier" if several else "NULL",
            "first": "s.submit" if several else "NULL",
            "several": "LEFT JOIN several s ON s.mid =" if several else "--",
            "beside": "coalesce(c.beside, r.beside, -1)" if company
                      else "coalesce(r.beside, -1)",
            "company_r": "LEFT JOIN company c ON c.mid = r.rid" if company else "",
            "company_t": "LEFT JOIN company c ON c.mid = -t.tid" if company else "",
        })

    def _make(self, wanted, parts):
        base = self.base
        alone = ("NOT EXISTS (SELECT 1 FROM pair p WHERE p.rid = r.rid)"
                 if base.has_told else "1")
        sql = _RECORDED.format(alone=alone, where_r=wanted.whose("r.") +
                               wanted.when('r."end"'), **parts)
        if not base.has_told:
            # Nothing has to be put together: the records are the facts.
            base.db.execute("CREATE TEMP VIEW fact AS " + sql)
            return
        base.db.execute("CREATE TEMP VIEW answer AS " + _TOLD.format(**parts))
        self._count(wanted)
        where = wanted.whose() + wanted.when()
        base.db.execute(f"CREATE TEMP TABLE fact AS {sql} UNION ALL "
                        + _ENDED.format(where=where))

    def _count(self, wanted):
        """Jobs that are in no table."""
        ended = wanted.when() or " AND 1"
        self.unfinished, self.never_started = (value or 0 for value in self.base.one(
            f"SELECT sum(last AND (\"end\" IS NULL OR state = {REQUEUED})), "
            f"sum(last AND state <> {REQUEUED} AND start IS NULL AND \"end\" IS NOT NULL"
            f"{ended}) FROM answer WHERE 1{wanted.whose()}"))

    def rows(self, columns, rest=""):
        """Of fact f."""
        return self.base.ask(f"SELECT {columns} FROM fact f {rest}")

    def why_unmeasured(self, figure):
        return self.base.why_unmeasured(figure)

    def span(self):
        """(earliest start, latest end)"""
        return self.base.one('SELECT min(start), max("end") FROM fact')

    def nodes(self):
        return nodes_of("f.rid", "f.tid")
