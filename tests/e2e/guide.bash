# Blocks of doc/admin-guide.md: what stands four blanks in.
# shellcheck shell=bash

# The NUMBER-th block, or how many there are.
block() { # block NUMBER|count
    awk -v wanted="$1" '
        /^    / { if (!inside) number++; inside = 1; if (number == wanted) print substr($0, 5); next }
        { inside = 0 }
        END { if (wanted == "count") print number }' "$HPCB_TOP/doc/admin-guide.md"
}

# The number of the block that has TEXT.
block_with() { # block_with TEXT
    local n
    for ((n = 1; n <= $(block count); n++)); do
        ! block $n | grep -qF -- "$1" || { echo $n && return; }
    done
    return 1
}

# What is to go into a file (Key=Value) is not for the shell.
commands() { block "$1" | grep -vE '^[A-Z][A-Za-z]*='; }
settings() { block "$1" | grep -E '^[A-Z][A-Za-z]*='; }

# ssh [-o OPTION]... NODE COMMAND... and systemctl, as the sandbox has them (node_shell_up).
admin_commands() {
    mkdir -p "$WORK/bin"
    cat > "$WORK/bin/ssh" <<EOF2
#!/bin/bash
while [ "\$1" = -o ]; do shift 2; done
node=\$1
shift
exec "$NODE_SHELL" "\$node" "PATH=$WORK/bin:\\\$PATH \$*"
EOF2
    cat > "$WORK/bin/systemctl" <<'EOF2'
#!/bin/bash
# systemctl restart|enable --now|disable --now UNIT
name=${!#}
name=${name/#hpcbd-collector/collector}
case $1 in
restart) exec /run/hpcb/lib/daemon restart "$name" ;;
enable) exec /run/hpcb/lib/daemon start "$name" ;;
disable) exec /run/hpcb/lib/daemon stop "$name" ;;
*) echo "systemctl: $*" >&2 && exit 2 ;;
esac
EOF2
    chmod 755 "$WORK/bin"/*
}

# COMMANDS as the admin types them on the controller.
paste() { # paste COMMANDS
    echo "$1"
    [ -n "$1" ]
    as_root bash -e -c "PATH=$WORK/bin:\$PATH
$1"
}
