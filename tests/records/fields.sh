#!/bin/sh
# A field of a record is in what a node writes (common/record.c, whose test has a sample
# of all of them), in the table of the database (records/fields.c) and in doc/record.md.
cd "${HPCB_SRCDIR:-.}" || exit 1
echo 1..3

# Of the sample; version is no field, step and task are members of an element of tasks.
written=$(sed -n '/^static const char sample_json/,/;$/p' tests/common/test_record.c |
    grep -oE '\\"[a-z_]+\\":' | tr -dc 'a-z_\n' | grep -vxE 'version|step|task' | sort -u)
stored=$(grep -oE '^ *(RUN|NODE)\("[a-z_]+"' records/fields.c | sed 's/.*("//; s/"//' | sort -u)
# Those that are read from what a node writes, and not computed.
received=$(grep -E '^ *(RUN|NODE)\("[a-z_]+", [A-Z]+, (KEY|FIRST|CLASS|RECORD),' records/fields.c |
    sed 's/[^"]*"//; s/".*//' | sort -u)

verdict() { # verdict NUMBER WHAT NAMES
    if [ -z "$3" ]; then
        echo "ok $1 - $2"
    else
        echo "not ok $1 - $2"
        echo "$3" | sed 's/^/# /'
    fi
}

# The words of the second list that the first one lacks.
lacks() { # lacks HAS WANTED
    for word in $2; do
        echo "$1" | grep -qx "$word" || echo "$word"
    done
}

[ -n "$written" ] && [ -n "$received" ] || written=nothing_found
verdict 1 "each field that a node writes has a row in records/fields.c" \
    "$(lacks "$stored" "$written")"
verdict 2 "each field that records/fields.c takes from a node is in the sample" \
    "$(lacks "$written" "$received")"
verdict 3 "doc/record.md has each field that a node writes" \
    "$(for word in $written; do grep -q "\`$word\`" doc/record.md || echo "$word"; done)"
