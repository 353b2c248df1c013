# SYNOPSIS
#   X_AC_SUMMARY
#
# DESCRIPTION
#   Prints what was found and what is left out, last thing in configure.

AC_DEFUN([X_AC_SUMMARY], [
  x_ac_out=
  AS_IF([test "x$have_slurm_src" = xno], [x_ac_out="$x_ac_out
    select, preempt   guests go wherever stock Slurm puts them, and primaries wait for
                  guests' memory and GRES (configure --with-slurm-src; scripts/slurm-headers)"])
  AS_IF([test "x$have_libbpf" = xno], [x_ac_out="$x_ac_out
    libbpf        bytes that jobs transfer over the network are not measured"])
  AS_IF([test "x$have_openmpi" = xno], [x_ac_out="$x_ac_out
    Open MPI      tests and measurements of waits with Open MPI"])
  AS_IF([test "x$have_mpich" = xno], [x_ac_out="$x_ac_out
    MPICH         tests and measurements of waits with MPICH"])
  AS_IF([test "x$BATS" = xno], [x_ac_out="$x_ac_out
    bats          end-to-end tests (./check installs it)"])
  AS_IF([test "x$x_ac_out" = x], [x_ac_out=" nothing"])
  cat <<EOF

$PACKAGE_NAME $PACKAGE_VERSION

    prefix        $prefix
    Slurm         $SLURM_VERSION
    Slurm source  ${SLURM_SRC:-no}
    Slurm plugins $SLURM_PLUGIN_DIR
    libcgroup     `$PKG_CONFIG --modversion libcgroup`
    hwloc         `$PKG_CONFIG --modversion hwloc`
    json-c        `$PKG_CONFIG --modversion json-c`
    SQLite        `$PKG_CONFIG --modversion sqlite3`
    MUNGE         `$PKG_CONFIG --modversion munge`
    Check         `$PKG_CONFIG --modversion check`
    libbpf        $have_libbpf
    PAPI          $have_papi
    Open MPI      $have_openmpi
    MPICH         $have_mpich
    -Werror       $enable_werror
    sanitizers    $enable_sanitize

Left out:$x_ac_out

EOF
])
