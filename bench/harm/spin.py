# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""A primary that computes for four fifths of the time, so that a guest gets more than
crumbs; ends with whoever started it."""

import time

while True:
    until = time.monotonic() + 0.008
    while time.monotonic() < until:
        pass
    time.sleep(0.002)
