# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What configure has decided: make install writes it into the file BUILD beside this
one."""

import os


def _read():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "BUILD")
    try:
        with open(path, encoding="utf-8") as stream:
            return dict(line.rstrip("\n").split("=", 1) for line in stream)
    except (OSError, ValueError):
        return {}


_BUILD = _read()

VERSION = _BUILD.get("version", "(source tree)")
CONFDIR = _BUILD.get("confdir", "/etc/slurm")
SBINDIR = _BUILD.get("sbindir", "/usr/sbin")
