# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The few keys of hpc-balance.conf that a reader of records needs.  hpcbctl check
complains about bad values; here they give the default."""

import os
import socket

from .text import ReportError
from .version import CONFDIR

_DEFAULTS = {
    "guestpartition": "guest",
    "collectordir": "/var/lib/hpc-balance",
    "spooldir": "/var/spool/hpc-balance",
    "statedir": "/run/hpc-balance",
    "guestmemory": "unused",
    "guestmemoryreserve": "5%",
}


class Settings:
    def __init__(self, values):
        merged = {**_DEFAULTS, **values}
        node = socket.gethostname().split(".")[0]
        self.guest_partition = merged["guestpartition"]
        self.collector_dir = merged["collectordir"].replace("%n", node)
        self.spool_dir = merged["spooldir"].replace("%n", node)
        self.state_dir = merged["statedir"].replace("%n", node)
        self.guest_memory = merged["guestmemory"].lower()
        self._reserve = merged["guestmemoryreserve"]

    def reserve_mib(self, real):
        """GuestMemoryReserve of a node of that many MiB; a part is at least 512 MiB."""
        text = self._reserve
        try:
            if text.endswith("%"):
                return max(512, int(real * float(text[:-1]) / 100))
            scale = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 ** 2}
            return int(float(text[:-1]) * scale[text[-1].upper()])
        except (ValueError, KeyError):
            return max(512, real // 20)


def _is_sent(folder):
    """Where Slurm keeps what slurmctld has sent it, which ours is not among: see
    common/conf.c."""
    return folder == "/run/slurm/conf" or folder.endswith("/conf-cache") or \
        folder.startswith("/proc/")


def find(explicit, environ=os.environ):
    """The file to read, in the order of hpc-balance.conf(5)."""
    if explicit:
        return explicit
    if environ.get("HPC_BALANCE_CONF"):
        return environ["HPC_BALANCE_CONF"]
    if environ.get("SLURM_CONF"):
        folder = os.path.dirname(environ["SLURM_CONF"])
        beside = os.path.join(folder, "hpc-balance.conf")
        if not _is_sent(folder) or os.path.exists(beside):
            return beside
    return os.path.join(CONFDIR, "hpc-balance.conf")


def load(explicit, environ=os.environ):
    """Without a file everything has its default, unless --config named it."""
    path = find(explicit, environ)
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return Settings(_pairs(stream))
    except OSError as error:
        if explicit:
            raise ReportError(f"--config {path}: {error.strerror}") from None
        return Settings({})


def _pairs(stream):
    values = {}
    for line in stream:
        key, equals, value = line.partition("#")[0].partition("=")
        if equals and key.strip().lower() in _DEFAULTS and value.strip():
            values[key.strip().lower()] = value.strip()
    return values
