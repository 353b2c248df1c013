# SYNOPSIS
#   X_AC_SANITIZE
#
# DESCRIPTION
#   --enable-sanitize builds everything with AddressSanitizer and
#   UndefinedBehaviorSanitizer.  Sets SANITIZE_CFLAGS.  Plugins built this way
#   cannot be loaded by Slurm's own daemons: it is for `make check` only.

AC_DEFUN([X_AC_SANITIZE], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize], [build with ASan and UBSan (tests only)])],
    [], [enable_sanitize=no])
  SANITIZE_CFLAGS=
  AS_IF([test "x$enable_sanitize" = xyes],
    [SANITIZE_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"])
  AC_SUBST([SANITIZE_CFLAGS])
  AM_CONDITIONAL([SANITIZE], [test "x$enable_sanitize" = xyes])
])
