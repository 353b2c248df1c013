#!/usr/bin/env bats
# The RPM packages, built here without their build dependencies (which are RPMs).

load packages

setup_file() {
    command -v rpmbuild > /dev/null || return 0
    export RPMS=$BATS_FILE_TMPDIR/rpms SLURM
    SLURM=$(slurmctld -V | awk '{ print $2 }')
    mkdir "$RPMS"
    "$TOP/packaging/build-rpm" --output "$RPMS" --nodeps --define 'debug_package %{nil}' \
        > "$RPMS/build.log" 2>&1 < /dev/null || true
}

setup() { command -v rpmbuild > /dev/null || skip "no rpmbuild"; }

rpm_of() { ls "$RPMS/slurm-hpc-balance-$1-"[0-9]*.rpm; } # rpm_of PART

@test "the spec file is well-formed, with and without its options" {
    for options in "" "--with=papi" "--without=mpich" "--without=openmpi --without=mpich --with=slurm_src"; do
        # shellcheck disable=SC2086 # several words
        rpmspec -P $options "$TOP/packaging/slurm-hpc-balance.spec" > "$BATS_TEST_TMPDIR/spec"
        grep -q "^Release: *1.slurm$SLURM" "$BATS_TEST_TMPDIR/spec"
        ! grep -n '%{' "$BATS_TEST_TMPDIR/spec" | grep -v nil || return 1
    done
    # The library is built without any MPI.
    grep -q '^%files mpi' "$BATS_TEST_TMPDIR/spec"
    grep -q '^/.*/slurm/select_cons_tres.so' "$BATS_TEST_TMPDIR/spec"
    rpmspec -P "$TOP/packaging/slurm-hpc-balance.spec" | grep -q "^It was built without Slurm's source"
    rpmspec -P --define 'suse_version 1500' "$TOP/packaging/slurm-hpc-balance.spec" |
        grep -q 'Requires: *slurm-plugins'
}

@test "there is an RPM for each part, and its tests passed" {
    tail -n 20 "$RPMS/build.log"
    for part in "${PARTS[@]}"; do
        [ "$(rpm_of "$part" | wc -l)" = 1 ]
    done
    grep -qE '^# PASS: +[1-9]' "$RPMS/build.log"
    grep -qE '^# FAIL: +0' "$RPMS/build.log"
}

@test "the controller's RPM requires exactly this Slurm" {
    requires=$(rpm -qp --requires "$(rpm_of controller)")
    echo "$requires"
    grep -qx "slurm-slurmctld >= $SLURM" <<< "$requires"
    grep -qx "slurm-slurmctld < ${SLURM%.*}.$((${SLURM##*.} + 1))" <<< "$requires"
    rpm -qp --provides "$(rpm_of controller)" | grep -q "slurm-hpc-balance-controller-$SLURM"
    rpm -qp --requires "$(rpm_of node)" | grep -qx "slurm >= ${SLURM%.*}"
    rpm -qp --requires "$(rpm_of node)" | grep -q "^slurm < ${SLURM%%.*}\."
}

@test "the controller's RPM asks for no file of Slurm's that no package provides" {
    ! rpm -qp --requires "$(rpm_of controller)" | grep 'select_cons_tres' || return 1
    has_slurm_src || skip "the source of Slurm $SLURM cannot be had"
    rpm -qpl "$(rpm_of controller)" | grep -q "/slurm-$SLURM/select_cons_tres.so"
}

@test "both kinds of packages hold the same files" {
    for part in node controller mpi report sim tools; do
        rpm -qpl "$(rpm_of $part)" | sed 's|^/usr/lib64/|/usr/lib/|' |
            grep -vE '^/usr/share/(doc|licenses)|^/usr/lib/\.build-id' |
            sed 's/\.gz$//' | sort > "$BATS_TEST_TMPDIR/rpm"
        dpkg-deb -c "$(deb $part)" | awk '{ print $6 }' | sed 's|^\.||; s|/$||; s/\.gz$//' |
            grep -vE '^/usr/share/(doc|lintian)' | sort > "$BATS_TEST_TMPDIR/deb"
        # Directories that many packages share are in no RPM.
        comm -23 "$BATS_TEST_TMPDIR/deb" "$BATS_TEST_TMPDIR/rpm" |
            grep -vE '^(|/etc|/etc/slurm|/usr(/s?bin|/lib(/tmpfiles\.d)?|/libexec|/share(/man(/man.)?)?)?|/usr/lib/hpc-balance(/slurm.*)?)$' > "$BATS_TEST_TMPDIR/missing" || true
        comm -13 "$BATS_TEST_TMPDIR/deb" "$BATS_TEST_TMPDIR/rpm" > "$BATS_TEST_TMPDIR/more"
        echo "$part: $(cat "$BATS_TEST_TMPDIR/missing" "$BATS_TEST_TMPDIR/more")"
        [ ! -s "$BATS_TEST_TMPDIR/missing" ] && [ ! -s "$BATS_TEST_TMPDIR/more" ]
    done
}

@test "hpc-balance.conf is never overwritten, and no script stops a daemon" {
    [ "$(rpm -qp --qf '[%{FILENAMES} %{FILEFLAGS:fflags}\n]' "$(rpm_of node)" |
        sed -n 's|^/etc/slurm/hpc-balance.conf ||p')" = cn ]
    for part in "${PARTS[@]}"; do
        ! rpm -qp --scripts "$(rpm_of "$part")" | grep -E 'systemctl|service |kill|scancel' || return 1
    done
    rpm -qp --scripts "$(rpm_of controller)" | grep -q 'package-guard remove controller'
    rpm -qp --scripts "$(rpm_of node)" | grep -q 'package-guard remove node'
}
