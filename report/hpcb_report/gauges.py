# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""`hpcb-guests --metrics`: the queue of guests in Prometheus' text format, for the host
whose timer asks slurmctld (hpcb-queue-metrics.timer)."""

import os
import tempfile

from .text import ReportError, neutral


def _label(text):
    return neutral(text).replace("\\", "\\\\").replace('"', '\\"')


def _metrics(found):
    """(name, help, [(labels, value)])"""
    waits, room = found["waits"], found["room"]
    yield ("hpcb_guest_partition_up", "Whether guests may start.",
           [("", int(found["state"] == "UP"))])
    yield ("hpcb_guests_running", "Guests that run.", [("", waits["running"])])
    yield ("hpcb_guests_waiting", "Guests that wait, by Slurm's reason.",
           [(f'{{reason="{_label(reason)}"}}', count)
            for reason, count in sorted(waits["reasons"].items())])
    yield ("hpcb_guests_longest_wait_seconds",
           "How long the guest has waited that waits longest.",
           [("", waits["longest_pending_seconds"] or 0)])
    yield ("hpcb_guests_free_cpus", "CPUs that guests may still get.",
           [("", sum(kind["free_cpus"] for kind in room))])


def text(found):
    """All of it; found: what guests.look gave."""
    lines = []
    for name, said, values in _metrics(found):
        lines += [f"# HELP {name} {said}", f"# TYPE {name} gauge"]
        lines += [f"{name}{labels} {value}" for labels, value in values]
    return "\n".join(lines) + "\n"


def deliver(path, said):
    """To path, as a whole or not at all."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        handle, temporary = tempfile.mkstemp(prefix=".hpcb-guests.", dir=folder)
        try:
            with open(handle, "w", encoding="utf-8") as stream:
                stream.write(said)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ReportError(f"--output={path}: {error.strerror}") from None
