#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# scripts/slurm-headers --from: what a tree that somebody names claims to be, against what
# is installed in a root file system that is made here.
for needed in dpkg-query apt-get dpkg-source git; do
    command -v $needed > /dev/null || {
        echo "1..0 # SKIP needs $needed"
        exit 0
    }
done
number=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
script=$(realpath "${HPCB_SRCDIR:-.}/scripts/slurm-headers")
root=$dir/root tree=$dir/slurm-26.05.5 version=26.05.5-1+b2
export HPCB_CACHE="$dir/cache" GIT_CONFIG_NOSYSTEM=1 HOME="$dir"
echo 1..13

make_root() {
    mkdir -p "$root/var/lib/dpkg/info" "$root/usr/include/slurm" "$root/usr/lib/x-linux-gnu"
    cat > "$root/var/lib/dpkg/status" << END
Package: slurmctld
Status: install ok installed
Maintainer: nobody <nobody@localhost>
Architecture: all
Source: slurm-wlm (26.05.5-1)
Version: $version
Description: none

END
    echo '#define JOB 1' > "$root/usr/include/slurm/slurm.h"
    echo '#define VERSION 1' > "$root/usr/include/slurm/slurm_version.h"
    : > "$root/usr/lib/x-linux-gnu/libslurm.so.45.0.0"
}

# The tree of just that release.
make_tree() {
    rm -rf "$tree"
    mkdir -p "$tree/slurm" "$tree/src/slurmctld"
    printf '  %s\n' 'Name: slurm' 'Version:	26.05.5' 'Release:	1' 'API_CURRENT:	45' \
        'API_AGE:	0' > "$tree/META"
    cp "$root/usr/include/slurm/slurm.h" "$tree/slurm/"
    echo '#define VERSION 2' > "$tree/slurm/slurm_version.h"
    echo '/* internal */' > "$tree/src/slurmctld/slurmctld.h"
    echo 'int main;' > "$tree/src/slurmctld/controller.c"
}

# The same as a git tree at the tag.
make_repository() {
    make_tree
    git -C "$tree" init -q && git -C "$tree" add -A &&
        git -C "$tree" -c user.name=n -c user.email=e@x commit -qm all &&
        git -C "$tree" tag slurm-26-05-5-1
}

verdict() { # verdict DESCRIPTION FLAW
    number=$((number + 1))
    echo "${2:+not }ok $number - $1"
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

headers() { timeout 30 "$script" --root "$root" --from "${1:-$tree}" > "$dir/out" 2> "$dir/err"; }

taken() { # taken DESCRIPTION [SOURCE]
    flaw=
    headers "${2:-}" || flaw="exit code $?: $(cat "$dir/err")"
    [ -e "$(cat "$dir/out")/src/slurmctld/slurmctld.h" ] || flaw="$flaw; no headers"
    grep -q 'cannot be seen' "$dir/err" || flaw="$flaw; it does not say what it cannot know"
    verdict "taken: $1" "$flaw"
}

refused() { # refused WORDS DESCRIPTION
    flaw=
    headers && flaw="exit code 0"
    grep -q -e "$1" "$dir/err" || flaw="$flaw; no '$1' in: $(cat "$dir/err")"
    verdict "refused: $2" "$flaw"
}

make_root
make_tree
taken "the tree of a release"
[ ! -e "$(cat "$dir/out")/src/slurmctld/controller.c" ] || flaw="the cache has more than headers"
verdict "nothing but headers is kept" "$flaw"
echo '/* other */' > "$tree/src/slurmctld/slurmctld.h"
headers
grep -q other "$HPCB_CACHE/slurm-src/26.05.5-1/src/slurmctld/slurmctld.h" && flaw='' || flaw="the old ones"
verdict "what is named replaces what was kept" "$flaw"
make_tree
tar -C "$dir" -czf "$dir/slurm.tar.gz" "${tree##*/}"
taken "a tarball" "$dir/slurm.tar.gz"

sed -i 's/26.05.5/26.05.4/' "$tree/META"
refused 'are of 26.05.4, not 26.05.5' "another version"
make_tree
sed -i 's/Release:.*/Release:	0rc1/' "$tree/META"
refused 'release candidate' "a release candidate"
make_tree
sed -i 's/API_CURRENT:.*/API_CURRENT:	4/' "$tree/META"
refused 'libslurm.so.4, installed is libslurm.so.45' "another libslurm"
make_tree
echo '#define JOB 2' > "$tree/slurm/slurm.h"
refused 'slurm.h is not the one of these sources' "another public header"
rm "$tree/META"
refused 'something else' "no META"

make_repository
taken "a git tree at the release's tag"
echo '/* mine */' >> "$tree/src/slurmctld/slurmctld.h"
refused 'changes of its own' "a git tree with changes"
git -C "$tree" -c user.name=n -c user.email=e@x commit -qam more
refused 'not at a release' "a git tree behind the tag, whose META is the release's"

make_tree
rm -r "$root/usr/include" "$root/usr/lib"
taken "nothing but slurmctld is installed"
