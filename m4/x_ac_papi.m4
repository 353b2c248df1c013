# SYNOPSIS
#   X_AC_PAPI
#
# DESCRIPTION
#   Looks for PAPI.  Sets have_papi, PAPI_CFLAGS, PAPI_LIBS and HAVE_PAPI.
#   The sensors papi-cores and papi-sockets need it.  --with-papi makes it required,
#   --without-papi leaves it out.

AC_DEFUN([X_AC_PAPI], [
  AC_ARG_WITH([papi],
    [AS_HELP_STRING([--without-papi], [do not measure memory bandwidth by PAPI])],
    [], [with_papi=auto])
  have_papi=no
  AS_IF([test "x$with_papi" != xno],
    [PKG_CHECK_MODULES([PAPI], [papi], [have_papi=yes], [have_papi=no])])
  AS_IF([test "x$with_papi" = xyes && test "x$have_papi" = xno],
    [AC_MSG_ERROR([--with-papi was given and pkg-config finds no "papi": install it (Debian: libpapi-dev)])])
  AS_IF([test "x$have_papi" = xyes],
    [AC_DEFINE([HAVE_PAPI], [1], [PAPI is there])])
  AM_CONDITIONAL([HAVE_PAPI], [test "x$have_papi" = xyes])
])
