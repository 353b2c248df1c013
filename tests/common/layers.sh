#!/bin/sh
# A directory uses what the table in doc/architecture.md says, and no other directory:
# reads the #include of each source.
cd "${HPCB_SRCDIR:-.}" || exit 1
table=doc/architecture.md
echo 1..2

# "dir used": what each directory may use; "cgroup/node" stands for cgroup/node*.h.
arrows() {
    awk -F'|' '/^\| *`[a-z]+\/`/ {
        dir = $2
        gsub(/^ *`|\/`.*$/, "", dir)
        print dir, dir "/"
        rest = $NF == "" ? $(NF - 1) : $NF
        while (match(rest, /[a-z]+\/[a-z_]*/)) {
            print dir, substr(rest, RSTART, RLENGTH)
            rest = substr(rest, RSTART + RLENGTH)
        }
    }' $table
}

# "dir file included": each #include of a file of ours.
includes() {
    find . -mindepth 2 \( -name '*.c' -o -name '*.h' \) -not -path './tests/*' -not -path './build/*' \
        -exec grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[a-z./]*/' {} + |
        sed -nE 's/^\.\/(([a-z]+)\/[^:]*):[^"]*"(\.\.\/)*([^"]*)".*/\2 \1 \4/p'
}

all=$(includes)
wrong=$({ arrows && echo && echo "$all"; } | awk '
    !NF { told = 1; next }
    !told { may[$1] = may[$1] " " $2; dirs[$1]; next }
    {
        seen++
        split($3, of, "/")
        if (!(of[1] in dirs))
            next
        fits = 0
        n = split(may[$1], list, " ")
        for (i = 1; i <= n; i++)
            fits = fits || index($3, list[i]) == 1
        if (!fits)
            print $2 " includes " $3
    }')
if [ -z "$wrong" ]; then
    echo "ok 1 - directories use what $table lets them use"
else
    echo "not ok 1 - directories use what $table lets them use"
    echo "$wrong" | sed 's/^/# /'
fi

# Neither half may be empty because its pattern has gone stale.
homeless=$(for dir in $(echo "$all" | cut -d' ' -f1 | sort -u); do
    arrows | grep -q "^$dir " || echo "$dir"
done)
if [ -n "$all" ] && [ -z "$homeless" ]; then
    echo "ok 2 - every directory with sources has a row in $table"
else
    echo "not ok 2 - every directory with sources has a row in $table"
    echo "$homeless" | sed 's/^/# /'
fi
