#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# hpcbctl snapshot of this machine: what it makes, for whom, and what it does not touch.
hpcbctl=${HPCB_BUILDDIR:-.}/hpcbctl/hpcbctl
number=0
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
unset SLURM_CONF HPC_BALANCE_CONF
echo 1..14

verdict() { # verdict DESCRIPTION FLAW
    number=$((number + 1))
    echo "${2:+not }ok $number - $1"
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

call() { # call ARG...: sets code; its output is in $out/1 and $out/2
    timeout 120 "$hpcbctl" snapshot "$@" > "$out/1" 2> "$out/2" < /dev/null
    code=$?
}

refuses() { # refuses WORDS ARG...
    words=$1 flaw=
    shift
    call "$@"
    [ "$code" = 1 ] || flaw="exit code $code, not 1"
    [ "$(wc -l < "$out/2")" -eq 1 ] && [ ! -s "$out/1" ] ||
        flaw="$flaw; not one line on stderr"
    grep -qF -e "$words" "$out/2" || flaw="$flaw; it says: $(cat "$out/2")"
    verdict "refuses: $words ($*)" "$flaw"
}

# Names that must not be in it, where they are long enough to be no accident.
leaks() { # leaks DIRECTORY
    for word in "$(hostname)" "$(hostname -f 2> /dev/null)" "$(id -un)" "$out"; do
        [ ${#word} -lt 5 ] || ! grep -rqF -e "$word" "$1" || echo "it holds $word"
    done
}

cd "$out" || exit 99
flaw=
call
[ "$code" = 0 ] && [ ! -s 2 ] || flaw="exit code $code: $(cat 2)"
[ -s hpcb-snapshot/about ] && [ -s hpcb-snapshot/proc/self/mountinfo ] ||
    flaw="$flaw; files are missing"
verdict "makes hpcb-snapshot here" "$flaw"
verdict "names nobody" "$(leaks hpcb-snapshot)"
verdict "is its owner's alone" \
    "$(find hpcb-snapshot \( -type d ! -perm 700 \) -o \( -type f ! -perm 600 \) \
        -o ! \( -type d -o -type f \))"
# A chroot with mounts of its own may be around: cgroups below its sys, too.
verdict "has no file but these" "$(cd hpcb-snapshot && find . -type f | grep -vE \
    '^\./(about|proc/(self/(mountinfo|cgroup)|[0-9]+/cgroup|sys/kernel/[a-z_]+)|(.*/)?sys/.*)$')"
refuses "hpcb-snapshot: exists, nothing is overwritten"

flaw=
call --json --keep-names -o kept/
[ "$code" = 0 ] || flaw="exit code $code: $(cat 2)"
for key in output slurm names_kept complete files bytes jobs processes; do
    grep -q "\"$key\":" 1 || flaw="$flaw; no $key"
done
grep -qx 'Names=kept' kept/about || flaw="$flaw; about does not tell"
verdict "keeps names, says it as JSON" "$flaw"

flaw=
call --output snap.tar.gz
[ "$code" = 0 ] && [ ! -s 2 ] || flaw="exit code $code: $(cat 2)"
mkdir unpacked && tar xzf snap.tar.gz -C unpacked || flaw="$flaw; cannot be unpacked"
[ -s unpacked/hpcb-snapshot/about ] || flaw="$flaw; it is not in it"
[ "$(stat -c %a snap.tar.gz)" = 600 ] || flaw="$flaw; others can read it"
[ "$(find . -name '.hpcb*')" = "" ] || flaw="$flaw; something is left: $(ls -A)"
verdict "makes an archive" "$flaw"
verdict "the archive names nobody" \
    "$(tar tvzf snap.tar.gz | grep -v ' 0/0 ' | head -3; leaks unpacked)"
refuses "snap.tar.gz: exists, nothing is overwritten" -o snap.tar.gz

mkdir elsewhere
ln -s elsewhere link
ln -s elsewhere/new.tar.gz link.tar.gz
refuses "link: exists, nothing is overwritten" -o link
refuses "link.tar.gz: exists, nothing is overwritten" -o link.tar.gz
refuses "No such file or directory" -o nowhere/x
verdict "nothing went elsewhere" "$(ls -A elsewhere)"
flaw=
mkdir -p bin && printf '#!/bin/sh\necho broken >&2\nexit 3\n' > bin/tar && chmod +x bin/tar
PATH=$out/bin:$PATH call -o other.tgz
[ "$code" = 1 ] && grep -q "tar: broken" 2 || flaw="exit code $code: $(cat 2)"
[ ! -e other.tgz ] && [ "$(find . -name '.hpcb*')" = "" ] || flaw="$flaw; left: $(ls -A)"
verdict "a tar that fails leaves nothing" "$flaw"
