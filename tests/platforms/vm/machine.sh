# shellcheck shell=bash disable=SC2154,SC2034,SC2054 # variables of run; options of qemu
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# The kinds of machines: what each needs, and its command line.  The kernel's messages
# go to standard output (run's console file), what the command prints to descriptor 3.

# Seconds until a machine that says nothing is given up; an idle computer needs 2 for
# uml, 4 for core, 8 for qemu.
BOOT_LIMIT=150

# Sets `modules`, a directory of kernel modules for the initramfs, and `kernel`.
machine_prepare() {
    modules='' kernel=''
    case $kind in
    uml) prepare_uml ;;
    qemu) need qemu-system-x86_64 qemu-system-x86 && prepare_cloud_kernel ;;
    core)
        need qemu-system-x86_64 qemu-system-x86
        kernel=$VM_CACHE/kernel-core/bzImage
        [ -e "$kernel" ] || die "no kernel of ours yet: tests/platforms/vm/kernel makes it"
        ;;
    esac
}

MODULES='virtio_blk ipv6 bridge veth overlay'

# Those that are not built in, each after the ones that it names as its dependencies;
# the initramfs loads them in the order of their names.
take_module() { # take_module NAME FROM TO
    local file needed
    [ -z "$(find "$3" -name "*-$1.ko")" ] || return 0
    # A module's file has - or _ where its name has _.
    file=$(find "$2" -name "${1//_/[-_]}.ko*" -print -quit)
    [ -n "$file" ] || return 0
    case $file in
    *.xz) xz -dc "$file" ;;
    *.zst) zstd -dcq "$file" ;;
    *) cat "$file" ;;
    esac > "$3/module" || return 1
    needed=$(tr '\0' '\n' < "$3/module" | sed -n 's/^depends=//p')
    mv "$3/module" "$3/$1"
    for needed in ${needed//,/ }; do take_module "$needed" "$2" "$3" || return 1; done
    mv "$3/$1" "$3/$((100 + $(find "$3" -name '*.ko' | wc -l)))-$1.ko"
}

make_modules() { # make_modules FROM TO
    local name
    rm -rf "$2.new"
    mkdir -p "$2.new"
    for name in $MODULES; do
        take_module "$name" "$1" "$2.new" || die "cannot take module $name from $1"
    done
    mv -T "$2.new" "$2"
}

prepare_uml() {
    with_lock uml unpack host user-mode-linux uml || exit
    kernel=$VM_CACHE/uml/usr/bin/linux.uml
    ! ldd "$kernel" | grep 'not found' >&2 || die "libraries of linux.uml are missing"
    modules=$VM_CACHE/uml-modules
    [ -d "$modules" ] || with_lock uml make_modules "$VM_CACHE/uml" "$modules" || exit
}

prepare_cloud_kernel() {
    local dir=$VM_CACHE/kernel-cloud
    [ -e "$dir/modules" ] || with_lock kernel-cloud fetch_cloud_kernel "$dir" || exit
    kernel=$(echo "$dir"/boot/vmlinuz-*) modules=$dir/modules
}

fetch_cloud_kernel() { # fetch_cloud_kernel DIR
    local package
    [ ! -e "$1/modules" ] || return 0
    rm -rf "$1"
    suite_lists $VM_KERNEL_SUITE
    package=$(suite_apt $VM_KERNEL_SUITE apt-cache depends linux-image-cloud-amd64 |
        sed -n 's/^ *Depends: //p' | head -n 1)
    [ -n "$package" ] || die "no cloud kernel in $VM_KERNEL_SUITE"
    unpack $VM_KERNEL_SUITE "$package" kernel-cloud
    make_modules "$1" "$1/modules"
}

# Sets `command`.
machine_command() {
    case $kind in
    uml) uml_command ;;
    *) qemu_command ;;
    esac
}

# Memory comes from a file in /dev/shm, unless TMPDIR says otherwise.
uml_command() {
    local in=null shell=0
    [ $interactive = no ] || { in=fd:0 shell=1; }
    command=(env -u TMPDIR HOME="$work" "$kernel" mem="${memory}M" "ubd0=$work/cow,$root"
        "ubd1=$work/job.ext4" "initrd=$work/initrd" rdinit=/init "uml_dir=$work"
        umid=uml con=null con0=null,fd:1 "con1=$in,fd:3" quiet
        hpcb.tty=tty1 "hpcb.shell=$shell")
    [ ! -e "$work/tree.ext4" ] || command+=("ubd2=$work/tree.ext4")
}

# qemu's locks on files and UML's do not go together; a run's own disks nobody else has,
# and the root disk, which is only read, has our lock.
disk_arguments() { # disk_arguments FILE NAME OPTION
    command+=(-drive "file.filename=$1,file.locking=off,if=none,id=$2,format=raw,cache=unsafe$3"
        -device "virtio-blk-pci,drive=$2")
}

# -cx16: with qemu 7.2's cmpxchg16b about every third boot panics (a double fault in
# the allocator).  rdrand: prctl(PR_SCHED_CORE) has no cookies before the kernel has
# random numbers.  The model has two threads a core although its family had not: qemu's
# warning does not matter.
qemu_command() {
    local append shell=0 output=(-chardev "file,id=console,path=$work/console,append=on"
        -serial chardev:console)
    # shellcheck disable=SC2016 # expanded in there
    command=()
    if [ $interactive = no ]; then
        output+=(-serial "file:$work/output")
    else
        shell=1
        output+=(-chardev stdio,id=tty,signal=off -serial chardev:tty)
        command=(sh -c 'exec "$@" >&3' sh)
    fi
    append="console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on"
    append+=" hpcb.tty=ttyS1 hpcb.shell=$shell"
    command+=(env TMPDIR="$work" qemu-system-x86_64 -M q35 -accel tcg,thread=multi
        -cpu qemu64,+rdrand,-cx16 -smp "$smp" -m "$memory" -nodefaults -no-user-config
        -display none -no-reboot "${output[@]}"
        -kernel "$kernel" -initrd "$work/initrd"
        -append "$append")
    disk_arguments "$root" root ,snapshot=on
    disk_arguments "$work/job.ext4" job ''
    [ ! -e "$work/tree.ext4" ] || disk_arguments "$work/tree.ext4" tree ''
}
