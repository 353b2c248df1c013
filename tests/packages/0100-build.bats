#!/usr/bin/env bats
# The packages as they are built: what they hold, what they ask for, what they would do.

load packages

setup_file() {
    export SLURM
    SLURM=$(slurmctld -V | awk '{ print $2 }')
    export UNPACKED=$BATS_FILE_TMPDIR/unpacked
    local deb
    mkdir "$UNPACKED"
    for deb in "$HPCB_PACKAGES"/slurm-hpc-balance-*.deb; do
        case $deb in *-dbgsym_*) continue ;; esac
        dpkg-deb -R "$deb" "$UNPACKED/$(dpkg-deb -f "$deb" Package)"
    done
}

@test "there is a package for each part" {
    for part in "${PARTS[@]}"; do
        [ "$(deb "$part" | wc -l)" = 1 ]
    done
    [ "$(ls "$UNPACKED" | wc -l)" = ${#PARTS[@]} ]
}

@test "changelog, spec file and configure.ac agree on the version" {
    version=$(sed -n 's/^AC_INIT(\[[^]]*\], \[\([^]]*\)\].*/\1/p' "$TOP/configure.ac")
    [ -n "$version" ]
    grep -qx "Version: *$version" "$TOP/packaging/slurm-hpc-balance.spec"
    head -n 1 "$TOP/packaging/debian/changelog" | grep -qF "($version-"
}

@test "lintian finds no error and gives no warning" {
    run timeout 200 lintian --allow-root --fail-on error,warning --tag-display-limit 0 \
        "$HPCB_PACKAGES"/*.changes
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "the controller's package fits exactly one version of Slurm" {
    next=${SLURM%.*}.$((${SLURM##*.} + 1))~
    depends=$(field controller Depends) breaks=$(field controller Breaks)
    echo "$depends / $breaks"
    grep -qF "slurmctld (>= $SLURM)" <<< "$depends"
    grep -qF "slurmctld (<< $next)" <<< "$depends"
    grep -qF "slurmctld (<< $SLURM)" <<< "$breaks"
    grep -qF "slurmctld (>= $next)" <<< "$breaks"
    [ "$(field controller Provides)" = "slurm-hpc-balance-controller-$SLURM" ]
    grep -qF "+slurm$SLURM" <<< "$(field controller Version)"
}

@test "the node's package fits one release of Slurm" {
    release=${SLURM%.*}
    grep -qF "slurm-wlm-basic-plugins (>= $release)" <<< "$(field node Depends)"
    grep -qF "slurm-wlm-basic-plugins (<< $release)" <<< "$(field node Breaks)"
    grep -qE "slurm-wlm-basic-plugins \(>= ${release%.*}\.[0-9]+~\)" <<< "$(field node Breaks)"
}

@test "the library and the tools fit any Slurm" {
    for part in mpi report sim tools doc; do
        ! grep -qE '2[0-9]\.[0-9]{2}' <<< "$(field $part Depends) $(field $part Version)" || return 1
    done
}

@test "no file is in two packages" {
    twice=$(cd "$UNPACKED" && for p in *; do
        (cd "$p" && find . -not -type d -not -path './DEBIAN/*')
    done | sort | uniq -d)
    echo "$twice"
    [ -z "$twice" ]
}

@test "directories that PluginDir may name are on every host" {
    [ -d "$UNPACKED/slurm-hpc-balance-node/usr/lib/hpc-balance/slurm" ]
    [ -d "$UNPACKED/slurm-hpc-balance-node/usr/lib/hpc-balance/slurm-$SLURM" ]
    [ "$(realpath "$UNPACKED"/slurm-hpc-balance-controller/usr/lib/hpc-balance/slurm/job_submit_hpc_balance.so)" = \
        "$UNPACKED/slurm-hpc-balance-controller/usr/lib/hpc-balance/slurm-$SLURM/job_submit_hpc_balance.so" ]
}

@test "the controller's package holds the select and preempt plugins, or says why not" {
    dir=$UNPACKED/slurm-hpc-balance-controller/usr/lib/hpc-balance
    if ! has_slurm_src; then
        ! ls "$dir/slurm-$SLURM" | grep -E 'select|preempt' || return 1
        field controller Description | grep -qF "without the source of Slurm"
        skip "the source of Slurm $SLURM cannot be had"
    fi
    for plugin in preempt_hpc_balance.so select_cons_tres.so; do
        [ "$(realpath "$dir/slurm/$plugin")" = "$dir/slurm-$SLURM/$plugin" ]
        [ -f "$dir/slurm-$SLURM/$plugin" ]
    done
    field controller Description | xargs | grep -qF "the select plugin, which"
    # What ours does not define is Slurm's own, at the place where Slurm's package has it.
    stock=$(readelf -d "$dir/slurm-$SLURM/select_cons_tres.so" |
        sed -n 's|.*(NEEDED).*\[\(/.*/select_cons_tres\.so\)\]|\1|p')
    echo "stock: $stock"
    dpkg -S "$stock" | grep -q ^slurm
}

@test "hpc-balance.conf is a configuration file that holds the defaults only" {
    grep -qx /etc/slurm/hpc-balance.conf "$UNPACKED/slurm-hpc-balance-node/DEBIAN/conffiles"
    ! grep -vE '^(#|$)' "$UNPACKED/slurm-hpc-balance-node/etc/slurm/hpc-balance.conf" || return 1
}

@test "no script of a package starts or stops anything" {
    mapfile -t scripts < <(find "$UNPACKED" -path '*/DEBIAN/*' -type f -perm -u+x)
    [ ${#scripts[@]} -ge 5 ]
    ! grep -nE 'systemctl|invoke-rc\.d|deb-systemd|service |kill|scancel' "${scripts[@]}" ||
        return 1
    shellcheck --severity=warning "${scripts[@]}"
}

@test "nothing in a package belongs to another than root or can be changed by users" {
    for part in "${PARTS[@]}"; do
        dpkg-deb -c "$(deb "$part")" |
            awk '$1 !~ /^l/ && ($2 != "root/root" || substr($1, 6, 1) == "w" ||
                substr($1, 9, 1) == "w" || $1 ~ /[sS]/) { print; bad = 1 } END { exit bad }'
    done
}

@test "each unit, with the program that it starts in the same package, is as systemd wants it" {
    mapfile -t units < <(find "$UNPACKED" -name '*.service' -o -name '*.timer' -o -name '*.socket')
    [ ${#units[@]} -ge 6 ]
    for unit in "${units[@]}"; do
        root=${unit%/usr/lib/systemd/*}
        # As if it were installed here.
        sed "s|/usr/s\?bin/hpcb|$root&|" "$unit" > "$BATS_TEST_TMPDIR/${unit##*/}"
    done
    for unit in "${units[@]}"; do
        run systemd-analyze --man=no verify "$BATS_TEST_TMPDIR/${unit##*/}"
        echo "${unit##*/}: $output"
        [ "$status" -eq 0 ]
        ! grep -E 'Unknown (key|section|lvalue)|not executable' <<< "$output" || return 1
    done
}

@test "a sample is no program" {
    mapfile -t samples < <(find "$UNPACKED" -name '*.example' -o -name '*.example.in' -o -path '*/examples/*')
    [ ${#samples[@]} -ge 9 ]
    for sample in "${samples[@]}"; do
        [ -d "$sample" ] || [ ! -x "$sample" ] || { echo "$sample"; return 1; }
    done
}

@test "systemd-tmpfiles makes the directories, root's alone" {
    command -v systemd-tmpfiles > /dev/null || skip "no systemd-tmpfiles"
    root=$BATS_TEST_TMPDIR/root
    mkdir -p "$root/usr/lib/tmpfiles.d" "$root/etc"
    cp "$UNPACKED"/slurm-hpc-balance-node/usr/lib/tmpfiles.d/*.conf "$root/usr/lib/tmpfiles.d"
    printf 'root:x:0:0::/:/bin/sh\n' > "$root/etc/passwd"
    printf 'root:x:0:\n' > "$root/etc/group"
    run systemd-tmpfiles --create --root="$root"
    echo "$output"
    [ "$status" -eq 0 ] && [ -z "$output" ]
    for dir in run/hpc-balance run/hpc-balance/jobs var/spool/hpc-balance \
        var/spool/hpc-balance/records dev/shm/hpc-balance; do
        [ "$(stat -c '%a %u %g' "$root/$dir")" = "755 0 0" ]
    done
}

@test "what the packages depend on can be had from the distribution" {
    apt-cache show slurmctld > /dev/null 2>&1 || skip "no package lists"
    # As on a machine where nothing is installed.
    run timeout 100 apt-get -s -q -o Dir::State::status=/dev/null \
        -o APT::Get::AllowUnauthenticated=true --no-install-recommends install \
        "$(deb node)" "$(deb controller)" "$(deb mpi)" "$(deb report)" "$(deb sim)" "$(deb tools)" "$(deb doc)"
    echo "$output" | tail -n 5
    [ "$status" -eq 0 ]
}
