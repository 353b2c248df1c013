#!/usr/bin/env bats
# Jobs in another root directory, as enroot, pyxis and Apptainer give them: user and mount
# namespaces of the user's own, and an image that has Slurm's node no more than by chance.

load helpers
load guest

LIBRARIES=/run/hpcb/inst/lib/hpc-balance

setup_file() {
    cluster_up || return 1
    write_container
    as_user "$WORK/container" true || skip "users have no namespaces here"
}
teardown_file() { cluster_down; }
setup() { cancel_all; }

# container [--mount DIR]... CMD...: an image of this system without /run, where the
# sandbox has our files.
write_container() {
    cat > "$WORK/container" <<'EOF2'
#!/bin/bash
mounts=(/usr /etc /proc /dev)
while [ "$1" = --mount ]; do mounts+=("$2") && shift 2; done
LD_PRELOAD='' exec unshare --user --map-root-user --mount bash -c '
    preload=$1 count=$2 image=/mnt
    shift 2
    mount -t tmpfs tmpfs $image && mkdir $image/tmp || exit
    for dir in bin sbin lib lib32 lib64; do [ ! -L /$dir ] || cp -P /$dir $image; done
    for dir in "${@:1:count}"; do mkdir -p $image$dir && mount --rbind $dir $image$dir || exit; done
    shift "$count"
    LD_PRELOAD=$preload exec chroot $image "$@"' container "$LD_PRELOAD" ${#mounts[@]} "${mounts[@]}" "$@"
EOF2
    chmod 755 "$WORK/container"
}

in_container() { # in_container [SRUN OPTION]... -- [CONTAINER OPTION]... CMD...
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    run as_user srun -Q -D / -n1 "${options[@]}" "$WORK/container" "$@"
    echo "$status: $output"
}

@test "a guest is lowered in the container, too" {
    g=$(submit --guest -n1 --wrap "srun $WORK/container sleep 300")
    wait_for_state "$g" RUNNING 60
    # On a busy machine a guest gets a hundredth of a CPU.
    wait_until 120 eval 'run_in_node "$(node_of "$g")" pgrep -fx "sleep 300" > /dev/null'
    wait_until 30 guest_isolated "$g"
    as_root scancel "$g"
}

@test "--hpc-balance, and an image without the library: it runs, and one line says so" {
    in_container --hpc-balance -- test ! -e "$LIBRARIES"
    [ "$status" -eq 0 ]
    [ "$(grep -c "$LIBRARIES/libhpcb_mpi.so' from LD_PRELOAD cannot be preloaded" <<< "$output")" -eq 1 ]
}

@test "--hpc-balance, and the library mounted: programs have it" {
    in_container --hpc-balance -- --mount "$LIBRARIES" grep -q libhpcb_mpi.so /proc/self/maps
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "without --hpc-balance nothing is preloaded" {
    in_container -- sh -c 'echo "preload:$LD_PRELOAD."'
    [ "$output" = preload:. ]
}
