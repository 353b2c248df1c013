# SYNOPSIS
#   X_AC_PKG([VAR], [pkg-config module(s)], [Debian package], [name for people])
#
# DESCRIPTION
#   Require a library by pkg-config.  Sets VAR_CFLAGS and VAR_LIBS, or ends
#   configure with one line that names the library and the package to install.

AC_DEFUN([X_AC_PKG], [
  PKG_CHECK_MODULES([$1], [$2], [],
    [AC_MSG_ERROR([$4 is required and pkg-config finds no "$2": install its development files (Debian: $3)])])
])
