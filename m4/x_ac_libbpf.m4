# SYNOPSIS
#   X_AC_LIBBPF
#
# DESCRIPTION
#   Looks for libbpf 1.0 or later, with which the network sensor counts the bytes of a
#   job.  Sets have_libbpf, LIBBPF_CFLAGS, LIBBPF_LIBS and HAVE_LIBBPF.  --with-libbpf
#   makes it required, --without-libbpf leaves it out.

AC_DEFUN([X_AC_LIBBPF], [
  AC_ARG_WITH([libbpf],
    [AS_HELP_STRING([--without-libbpf], [do not count the network bytes of jobs])],
    [], [with_libbpf=auto])
  have_libbpf=no
  AS_IF([test "x$with_libbpf" != xno],
    [PKG_CHECK_MODULES([LIBBPF], [libbpf >= 1.0], [have_libbpf=yes], [have_libbpf=no])])
  AS_IF([test "x$with_libbpf" = xyes && test "x$have_libbpf" = xno],
    [AC_MSG_ERROR([--with-libbpf was given and pkg-config finds no "libbpf >= 1.0": install it (Debian: libbpf-dev)])])
  AS_IF([test "x$have_libbpf" = xyes],
    [AC_DEFINE([HAVE_LIBBPF], [1], [libbpf is there])])
])
