#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""usage: hostile_socket.py SOCKET junk N | connections N | silent | refused VERB JOB

What a hostile user does to hpcbd's socket.  Being cut off or refused is what should
happen and no error; exit status 1: something was granted."""

import json
import os
import random
import socket
import sys
import time


def connect(path):
    """A connection, or None where hpcbd is busy."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(0.2)
    try:
        client.connect(path)
    except OSError:
        client.close()
        return None
    return client


def junk_messages():
    rng = random.Random(6)
    good = b'{"verb":"status"}'
    fixed = [b"", b"{", b"[]", b"null", b"{}", b'{"verb":7}', b'{"verb":"x"}',
             b"[" * 4000, b'{"a":' * 500, b"\0" * 100, b"\xff" * 4000,
             b'{"verb":"status"}' * 3, b'{"verb":"job","job":-1}',
             b'{"verb":"end","job":1e99}', b'{"verb":"status","from":-5}',
             b'{"verb":"status","from":99999999999999999999}', b"x" * 100000]
    while True:
        yield rng.choice(fixed)
        yield rng.randbytes(rng.randrange(1, 5000))
        spoiled = bytearray(good)
        spoiled[rng.randrange(len(good))] = rng.randrange(256)
        yield bytes(spoiled)


def send_junk(path, count):
    client = None
    for number, message in enumerate(junk_messages()):
        if number >= count:
            return
        client = client or connect(path)
        if client is None:
            time.sleep(0.01)
            continue
        try:
            client.send(message or b" ")
            client.recv(4096)
        except OSError:
            client.close()
            client = None


def hold_connections(path, count):
    held = [connect(path) for _ in range(count)]
    time.sleep(3)
    return held


def never_read(path):
    end = time.monotonic() + 3
    client = None
    while time.monotonic() < end:
        client = client or connect(path)
        try:
            client.send(b'{"verb":"status"}')
        except (OSError, AttributeError):
            client = None
            time.sleep(0.01)


def expect_refusal(path, verb, job):
    for _ in range(50):
        client = connect(path)
        if client is None:
            time.sleep(0.1)
            continue
        client.settimeout(2)
        client.send(json.dumps({"verb": verb, "job": job}).encode())
        answer = json.loads(client.recv(4096))
        if "error" not in answer:
            sys.exit(f"granted: {answer}")
        return
    sys.exit("no connection")


def main():
    path, what, *rest = sys.argv[1:]
    if what == "junk":
        send_junk(path, int(rest[0]))
    elif what == "connections":
        hold_connections(path, int(rest[0]))
    elif what == "silent":
        never_read(path)
    elif what == "refused":
        expect_refusal(path, rest[0], int(rest[1]))
    else:
        sys.exit(__doc__)
    print(os.getuid())


if __name__ == "__main__":
    main()
