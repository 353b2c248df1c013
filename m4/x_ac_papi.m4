# SYNOPSIS
#   X_AC_PAPI
#
# DESCRIPTION
#   Looks for PAPI.  Sets have_papi, PAPI_CFLAGS, HAVE_PAPI and HPCB_PAPI_SONAME, the
#   library's name for dlopen; PAPI_LIBS is what dlopen needs.
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
    [AC_DEFINE([HAVE_PAPI], [1], [PAPI is there])
     x_ac_papi_libs=$LIBS
     x_ac_papi_cflags=$CFLAGS
     LIBS="$PAPI_LIBS $LIBS"
     CFLAGS="$CFLAGS $PAPI_CFLAGS"
     AC_MSG_CHECKING([for the name of PAPI's library])
     AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <papi.h>]], [[return PAPI_is_initialized();]])],
       [papi_soname=`readelf -d conftest$EXEEXT | sed -n 's/.*NEEDED.*@<:@@<:@@:>@\(libpapi@<:@^@:>@@:>@*\)@:>@.*/\1/p'`])
     AC_MSG_RESULT([$papi_soname])
     LIBS=$x_ac_papi_libs
     CFLAGS=$x_ac_papi_cflags
     AS_IF([test -z "$papi_soname"], [papi_soname=libpapi.so])
     AC_DEFINE_UNQUOTED([HPCB_PAPI_SONAME], ["$papi_soname"], [what to load PAPI from])
     # LeakSanitizer takes thread-local storage of libraries that come later for pointers.
     AS_IF([test "x$enable_sanitize" != xyes],
       [AC_CHECK_LIB([c], [dlopen], [PAPI_LIBS=], [PAPI_LIBS=-ldl])])])
  AM_CONDITIONAL([HAVE_PAPI], [test "x$have_papi" = xyes])
])
