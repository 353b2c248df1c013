# SYNOPSIS
#   X_AC_SLURM
#
# DESCRIPTION
#   Finds Slurm's public headers (slurm/slurm.h, slurm/slurm_version.h,
#   slurm/spank.h).  --with-slurm=PREFIX names another place; when it is given
#   and holds no headers, configure ends.  Sets SLURM_CPPFLAGS and SLURM_VERSION
#   (major.minor.micro with two digits each, as Slurm prints it).
#
# NOTES
#   Compile tests only: a program linked with libslurm fails at run time where
#   there is no slurm.conf, so nothing here is ever run.  libslurm itself is
#   not linked: the plugins' symbols come from the daemon that loads them.

AC_DEFUN([X_AC_SLURM], [
  AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--with-slurm=PREFIX], [Slurm's installation prefix (headers in PREFIX/include)])],
    [], [with_slurm=])
  SLURM_CPPFLAGS=
  AS_CASE(["x$with_slurm"],
    [x|xyes], [],
    [xno], [AC_MSG_ERROR([Slurm's headers are required: --without-slurm is not possible])],
    [SLURM_CPPFLAGS="-I$with_slurm/include"])
  x_ac_save_CPPFLAGS="$CPPFLAGS"
  CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
  AC_MSG_CHECKING([for Slurm's headers])
  AC_COMPILE_IFELSE(
    [AC_LANG_PROGRAM([[#include <stdint.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22,5,0)
#error Slurm 22.05 is the oldest that is supported
#endif
]], [[spank_t sp = 0; (void) sp;]])],
    [],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([Slurm's headers (slurm/slurm.h, slurm/spank.h, version 22.05 or newer) are required: install them (Debian: libslurm-dev) or give --with-slurm=PREFIX])])
  x_ac_slurm_hex=`printf '#include <slurm/slurm_version.h>\nHPCB SLURM_VERSION_NUMBER\n' | $CPP -P $CPPFLAGS - 2>/dev/null | tr -d '\n' | $SED -n 's/^.*HPCB *0x//p'`
  SLURM_VERSION=`printf '%d.%02d.%d' 0x\`echo $x_ac_slurm_hex | cut -c1-2\` 0x\`echo $x_ac_slurm_hex | cut -c3-4\` 0x\`echo $x_ac_slurm_hex | cut -c5-6\``
  AC_MSG_RESULT([$SLURM_VERSION])
  CPPFLAGS="$x_ac_save_CPPFLAGS"
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SLURM_VERSION])
])
