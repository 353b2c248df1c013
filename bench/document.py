# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The document that a measurement makes of the file it keeps its records in."""

from cluster import BenchError


def add_options(parser):
    parser.add_argument("--report", action="store_true",
                        help="make the document of --state, and run nothing")
    parser.add_argument("--write", metavar="FILE",
                        help="of the document (default: standard output)")


def check_options(parser, args):
    """End with a message unless the options fit each other."""
    if args.report and not args.state:
        parser.error("--report needs --state")


def write(path, lines):
    """To standard output if path is None."""
    text = "\n".join(lines) + "\n"
    if not path:
        print(text, end="")
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None
