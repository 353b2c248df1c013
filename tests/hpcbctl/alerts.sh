#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# etc/prometheus-alerts.yml: promtool tests each rule where it is installed; every series
# of ours that a rule names is one that hpcbctl metrics prints.
src=${HPCB_SRCDIR:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
echo 1..2

missing=
for name in $(grep -oE 'hpcb_[a-z_]+' "$src/etc/prometheus-alerts.yml" | sort -u); do
    grep -q "\"$name\"" "$src/hpcbctl/status/metrics.c" || missing="$missing $name"
done
[ -z "$missing" ] || printf 'not '
echo "ok 1 - rules name what hpcbctl metrics prints"
[ -z "$missing" ] || echo "# not printed:$missing"

if ! command -v promtool > /dev/null; then
    echo "ok 2 - promtool tests the rules # SKIP promtool is not installed"
    exit
fi
cp "$src/etc/prometheus-alerts.yml" "$src/tests/hpcbctl/alerts-test.yml" "$dir"
promtool test rules "$dir/alerts-test.yml" > "$dir/said" 2>&1 || printf 'not '
echo "ok 2 - promtool tests the rules"
sed 's/^/# /' "$dir/said"
