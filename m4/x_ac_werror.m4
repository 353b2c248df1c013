# SYNOPSIS
#   X_AC_WERROR
#
# DESCRIPTION
#   Sets WARN_CFLAGS: -Wall -Wextra and friends always, -Werror with
#   --enable-werror (CI).  Kept apart from CFLAGS so that a user's own CFLAGS
#   do not lose them and so that configure's own tests are not hit by -Werror.

AC_DEFUN([X_AC_WERROR], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
    [], [enable_werror=no])
  WARN_CFLAGS="-std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wformat=2 -Wno-format-nonliteral"
  WARN_CFLAGS="$WARN_CFLAGS -fstack-protector-strong -fvisibility=hidden"
  AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
  AC_SUBST([WARN_CFLAGS])
])
