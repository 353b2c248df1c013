# SYNOPSIS
#   X_AC_SLURM_SRC
#
# DESCRIPTION
#   --with-slurm-src=DIR names Slurm's source tree, of exactly the version of the
#   public headers: select/ and preempt/ are compiled against its internal headers.
#   Nothing in it needs to be configured or built (scripts/slurm-headers prints such a
#   directory where Slurm is a package of Debian's).  Without it both are left out; a
#   DIR that does not fit ends configure.
#
#   --with-slurm-plugins=DIR names the directory in which Slurm's own plugins will be
#   on the controller: the select plugin stands before the stock one there and loads it.
#
#   Sets SLURM_SRC, SLURM_SRC_CPPFLAGS, SLURM_PLUGIN_DIR, have_slurm_src and the
#   conditionals HAVE_SLURM_SRC and HAVE_SLURM_LIBRARY.  After X_AC_SLURM.

AC_DEFUN([X_AC_SLURM_SRC], [
  AC_ARG_WITH([slurm-src],
    [AS_HELP_STRING([--with-slurm-src=DIR], [Slurm's source tree, headers only, of the installed version: builds the select and preempt plugins (DIR from scripts/slurm-headers)])],
    [], [with_slurm_src=no])
  AC_ARG_WITH([slurm-plugins],
    [AS_HELP_STRING([--with-slurm-plugins=DIR], [directory of Slurm's own plugins @<:@found where distributions have it@:>@])],
    [], [with_slurm_plugins=])
  AC_MSG_CHECKING([for Slurm's internal headers])
  have_slurm_src=no
  AS_CASE(["x$with_slurm_src"],
    [xno], [AC_MSG_RESULT([no])],
    [xyes], [AC_MSG_ERROR([--with-slurm-src needs a directory (scripts/slurm-headers prints one)])],
    [x_ac_version=`$SED -n 's/^ *Version: *@<:@\t@:>@*//p' "$with_slurm_src/META" 2>/dev/null | tr -d ' \t'`
     AS_IF([test "x$x_ac_version" = x],
       [AC_MSG_ERROR([--with-slurm-src=$with_slurm_src: no source tree of Slurm (no META there)])])
     AS_IF([test "x$x_ac_version" != "x$SLURM_VERSION"],
       [AC_MSG_ERROR([--with-slurm-src=$with_slurm_src: it is Slurm $x_ac_version, the installed headers are $SLURM_VERSION])])
     SLURM_SRC=`cd "$with_slurm_src" && pwd`
     # Slurm's tree has no slurm_version.h: the public one is of the same version.
     SLURM_SRC_CPPFLAGS="-DNDEBUG=1 -isystem $SLURM_SRC $SLURM_CPPFLAGS"
     x_ac_save_CPPFLAGS="$CPPFLAGS"
     # Slurm's headers include a config.h; ours is not made yet.
     AS_MKDIR_P([conftest.inc])
     : > conftest.inc/config.h
     CPPFLAGS="$CPPFLAGS $SLURM_SRC_CPPFLAGS -Iconftest.inc"
     AC_COMPILE_IFELSE(
       [AC_LANG_PROGRAM([[#include "src/slurmctld/slurmctld.h"]],
         [[return sizeof(job_record_t) == 0;]])],
       [have_slurm_src=yes],
       [AC_MSG_ERROR([--with-slurm-src=$with_slurm_src: its headers do not compile (see config.log)])])
     CPPFLAGS="$x_ac_save_CPPFLAGS"
     rm -r -f conftest.inc
     AC_MSG_RESULT([$SLURM_SRC ($x_ac_version)])])

  AC_MSG_CHECKING([for the directory of Slurm's plugins])
  SLURM_PLUGIN_DIR="$with_slurm_plugins"
  x_ac_multiarch=`$CC -print-multiarch 2>/dev/null`
  for x_ac_dir in "/usr/lib/$x_ac_multiarch/slurm-wlm" "/usr/lib/$x_ac_multiarch/slurm" \
      /usr/lib64/slurm /usr/lib/slurm /usr/local/lib/slurm; do
    AS_IF([test "x$SLURM_PLUGIN_DIR" = x && test -e "$x_ac_dir/select_cons_tres.so"],
      [SLURM_PLUGIN_DIR="$x_ac_dir"])
  done
  # Where Slurm itself is not installed: Debian's place.
  AS_IF([test "x$SLURM_PLUGIN_DIR" = x], [SLURM_PLUGIN_DIR="/usr/lib/$x_ac_multiarch/slurm-wlm"])
  AC_MSG_RESULT([$SLURM_PLUGIN_DIR])
  AC_SUBST([SLURM_SRC])
  AC_SUBST([SLURM_SRC_CPPFLAGS])
  AC_SUBST([SLURM_PLUGIN_DIR])
  AM_CONDITIONAL([HAVE_SLURM_SRC], [test "x$have_slurm_src" = xyes])
  # What runs the plugins without slurmctld.
  AM_CONDITIONAL([HAVE_SLURM_LIBRARY],
    [test -e "$SLURM_PLUGIN_DIR/libslurmfull.so" && test -e "$SLURM_PLUGIN_DIR/select_cons_tres.so"])
])
