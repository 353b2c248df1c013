# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcbd in every other stretch of time (bench/jitter/stretch.h), while a job runs."""

import threading
import time

import machine
from jitter.plan import SWITCHED_PERIODS, period_ms


class Switch:
    """with Switch(nodes, regime): ...  Afterwards the daemons run, as before.  Nothing
    is done for a regime that is not switched."""

    def __init__(self, nodes, regime):
        self.nodes = nodes
        self.stretch = SWITCHED_PERIODS * period_ms(regime.window) / 1e3 \
            if regime.switched else None
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.switch)

    def __enter__(self):
        if self.stretch:
            self.thread.start()

    def __exit__(self, *_):
        if not self.stretch:
            return
        self.end.set()
        self.thread.join()
        if not self.nodes.daemons:
            self.nodes.start_daemons()

    def switch(self):
        machine.become_realtime()
        number = int(time.time() / self.stretch)
        while not self.end.wait((number + 1) * self.stretch - time.time()):
            number += 1
            if number % 2 == 0:
                self.nodes.spawn_daemons()
            else:
                self.nodes.end_daemons()
