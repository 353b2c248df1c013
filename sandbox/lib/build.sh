# shellcheck shell=bash disable=SC2034,SC2154 # the files of lib/ share variables
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
#
# Packages and plugins.  In a source tree: install what Debian has, build in
# $HPCB_SANDBOX_BUILD (default build/sandbox in the tree; several sandboxes share it)
# and install into DIR/inst, which every host sees as /run/hpcb/inst; or copy what
# `hpcb-sandbox build` made for that place.  Elsewhere: the plugins that were installed
# together with this script.
# Sets HPCB_PLUGINS, HPCB_JOBSUBMIT, HPCB_LIBEXEC: directories as seen in a host.

INST=/run/hpcb/inst

prepare_software() {
    local made=${HPCB_SANDBOX_INSTALLED:-}
    if [ -n "$made" ]; then
        [ -d "$made/lib/hpc-balance" ] || die "HPCB_SANDBOX_INSTALLED: nothing is built in $made"
        [ "$PLAIN" = yes ] || cp -a -- "$made" "$DIR/inst" || die "cannot copy $made"
        HPCB_PLUGINS=$INST/lib/hpc-balance HPCB_LIBEXEC=$INST/libexec/hpc-balance
    elif [ -e "$HERE/../configure.ac" ]; then
        BUILD_LOG=$DIR/log/build.log
        install_packages
        [ "$PLAIN" = yes ] || {
            build_tree "$DIR/stage" "$DIR/build"
            mv "$DIR/stage$INST" "$DIR/inst" && rm -rf "$DIR/stage"
        }
        HPCB_PLUGINS=$INST/lib/hpc-balance HPCB_LIBEXEC=$INST/libexec/hpc-balance
    else
        # shellcheck source=/dev/null # written by make install
        . "$HERE/paths.sh"
    fi
    HPCB_JOBSUBMIT=$HPCB_PLUGINS/slurm-$(slurm_version)
    check_software
}

install_packages() {
    "$HERE/../scripts/install-deps" --run >&2 || die "packages are missing (see above)"
}

# The command `build`: prints the directory that HPCB_SANDBOX_INSTALLED may name, also
# on another machine with the same packages.
sandbox_build() {
    [ -e "$HERE/../configure.ac" ] || die "build: this is no source tree"
    local build
    build=$(realpath -m -- "${HPCB_SANDBOX_BUILD:-$HERE/../build/sandbox}")
    BUILD_LOG=$build.log
    mkdir -p "$build" && : > "$BUILD_LOG" || die "cannot write to $build"
    install_packages
    rm -rf "$build.stage"
    build_tree "$build.stage"
    rm -rf "$build.inst"
    mv "$build.stage$INST" "$build.inst" && rm -rf "$build.stage" || exit 1
    echo "$build.inst"
}

# The name on this machine of a file that hosts see below /run/hpcb.
outside() { echo "${1/#\/run\/hpcb/$DIR}"; }

slurm_version() { slurmctld -V 2> /dev/null | awk '{ print $2 }'; }

slurm_is() { # slurm_is RELEASE: that one or a newer one
    [ "$(printf '%s\n' "$1" "$(slurm_version)" | sort -V | head -n 1)" = "$1" ]
}

check_software() {
    local tool
    for tool in slurmctld slurmdbd slurmd sinfo sacctmgr munged mariadbd mariadb-install-db ip; do
        command -v "$tool" > /dev/null || die "$tool is not installed"
    done
    stock_plugins > /dev/null || die "Slurm's plugins are not where they usually are"
}

# Runs a build step with its output in BUILD_LOG, without an outer make's flags.
build_step() { # build_step CMD...
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u DESTDIR setpriv --pdeathsig TERM -- "$@" \
        >> "$BUILD_LOG" 2>&1 < /dev/null 9>&-
}

build_failed() { # build_failed WHAT
    tail -n 15 "$BUILD_LOG" >&2
    die "$1 failed (the lines above are its last)"
}

# Builds where HPCB_SANDBOX_BUILD says, or in INSTEAD where that cannot be written, and
# installs below STAGE.
build_tree() { # build_tree STAGE [INSTEAD]
    local stage=$1 top build
    top=$(realpath -- "$HERE/..")
    build=${HPCB_SANDBOX_BUILD:-$top/build/sandbox}
    if ! mkdir -p "$build" 2> /dev/null || [ ! -w "$build" ]; then
        build=$2
        mkdir "$build"
    fi
    build=$(realpath -- "$build")
    say "building in $build (the first time takes a minute) ..."
    (
        flock 8
        [ -x "$top/configure" ] || build_step env -C "$top" ./bootstrap ||
            build_failed bootstrap
        if [ -e "$top/config.status" ]; then
            top=$(copy_of_tree "$top" "$build") || die "cannot copy $top"
        fi
        [ -e "$build/config.status" ] || configure_in "$build" "$top" || build_failed configure
        # A build that predates a change of the tree's layout is worth another try.
        make_in "$build" || { configure_in "$build" "$top" && make_in "$build"; } ||
            build_failed make
        build_step make -C "$build" install DESTDIR="$stage" || build_failed "make install"
    ) 8> "$build.lock" || exit 1
}

configure_in() { # configure_in BUILD TOP
    local headers
    headers=$(slurm_headers)
    build_step env -C "$1" "$2/configure" -q --prefix="$INST" --libdir="$INST/lib" \
        --sysconfdir=/etc ${headers:+"--with-slurm-src=$headers"}
}

# Prints the directory of Slurm's internal headers; without one, the select and preempt
# plugins are left out.  $HPCB_SLURM_SRC names a directory, or "none".
slurm_headers() {
    case ${HPCB_SLURM_SRC:-} in
    '') "$HERE/../scripts/slurm-headers" 2>> "$BUILD_LOG" ;;
    none) ;;
    *) echo "$HPCB_SLURM_SRC" ;;
    esac
}

# The makefile first: config.status starts a make of its own, which a job server's
# pipe would disturb.
make_in() { # make_in BUILD
    build_step make -C "$1" Makefile && build_step make -C "$1" -j"$(nproc)" all
}

# A tree that was configured in place cannot be the source of another build: take a
# copy without what make put there.
copy_of_tree() { # copy_of_tree TOP BUILD: prints the copy's name
    local copy=$2.src
    mkdir -p "$copy" && tar -C "$1" --exclude=./.git --exclude=./build --exclude=./_build \
        --exclude='*.o' --exclude='*.lo' --exclude='*.la' --exclude=.libs --exclude=.deps \
        --exclude=config.status --exclude=./config.h --exclude=./Makefile \
        --exclude=stamp-h1 --exclude=.dirstamp -cf - . | tar -C "$copy" -xf - &&
        echo "$copy"
}
