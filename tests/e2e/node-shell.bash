# What ssh is on a cluster: a way for root on the controller into the nodes.  Hosts of the
# sandbox share the file system; on each node a loop reads commands from a pipe.
# shellcheck shell=bash

node_shell_up() { # node_shell_up NODES: afterwards $NODE_SHELL is the command
    export NODE_SHELL=$WORK/node-shell
    mkdir -m 700 "$WORK/doors"
    cat > "$WORK/door" <<'EOF2'
#!/bin/bash
# door PIPE: a line is the name for the answer's files, then the command
while :; do
    while read -r answer command; do
        bash -c "$command" > "$answer.out" 2> "$answer.err" < /dev/null
        echo $? > "$answer.new" && mv "$answer.new" "$answer.code"
    done < "$1"
done
EOF2
    cat > "$NODE_SHELL" <<EOF2
#!/bin/bash
# node-shell NODE COMMAND...
answer=\$(mktemp -u "$WORK/doors/\$1.XXXXXX") door=$WORK/doors/\$1
shift
[ -p "\$door" ] || { echo "node-shell: no way to \${door##*/}" >&2; exit 255; }
echo "\$answer \$*" > "\$door"
until [ -e "\$answer.code" ]; do sleep 0.05; done
cat "\$answer.out"
cat "\$answer.err" >&2
exit "\$(cat "\$answer.code")"
EOF2
    chmod 755 "$WORK/door" "$NODE_SHELL"
    local n
    for ((n = 1; n <= $1; n++)); do
        mkfifo "$WORK/doors/n$n"
        run_in_node "n$n" bash -c "setsid '$WORK/door' '$WORK/doors/n$n' \
            < /dev/null > /dev/null 2>&1 3>&- &"
    done
}
