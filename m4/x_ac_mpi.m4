# SYNOPSIS
#   X_AC_MPI
#
# DESCRIPTION
#   Looks for the compiler wrappers of Open MPI and MPICH (each may be absent;
#   both may be there side by side) and for their Fortran wrappers.  Sets
#   MPICC_OPENMPI, MPICC_MPICH, MPIFORT_OPENMPI, MPIFORT_MPICH, the conditionals
#   HAVE_OPENMPI, HAVE_MPICH, HAVE_MPIFORT_OPENMPI, HAVE_MPIFORT_MPICH, and the
#   header flags OPENMPI_CPPFLAGS, MPICH_CPPFLAGS.
#   Override with MPICC_OPENMPI=... or MPICC_MPICH=...
#
# NOTES
#   Only tests and bench/ need an MPI: libhpcb_mpi.so is built without any.

AC_DEFUN([X_AC_MPI_ONE], [
  AC_ARG_VAR([MPICC_$1], [C compiler wrapper of $2])
  AS_IF([test "x$MPICC_$1" = x], [AC_PATH_PROGS([MPICC_$1], [mpicc.$3], [no])])
  AS_IF([test "x$MPIFORT_$1" = x], [AC_PATH_PROGS([MPIFORT_$1], [mpifort.$3 mpif90.$3], [no])])
  $1_CPPFLAGS=
  have_$3=no
  AS_IF([test "x$MPICC_$1" != xno], [
    AC_MSG_CHECKING([for the headers of $2])
    for x_ac_word in `$MPICC_$1 $4 2>/dev/null`; do
      AS_CASE([$x_ac_word], [-I*|-D*], [$1_CPPFLAGS="$$1_CPPFLAGS $x_ac_word"])
    done
    x_ac_save_CPPFLAGS="$CPPFLAGS"
    CPPFLAGS="$CPPFLAGS $$1_CPPFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#ifndef $5
#error another MPI
#endif
]], [[MPI_Request r; return MPI_Test(&r, 0, 0);]])], [have_$3=yes])
    CPPFLAGS="$x_ac_save_CPPFLAGS"
    AC_MSG_RESULT([$have_$3])
  ])
  AC_SUBST([$1_CPPFLAGS])
  AM_CONDITIONAL([HAVE_$1], [test "x$have_$3" = xyes])
  AM_CONDITIONAL([HAVE_MPIFORT_$1], [test "x$have_$3" = xyes && test "x$MPIFORT_$1" != xno])
])

AC_DEFUN([X_AC_MPI], [
  X_AC_MPI_ONE([OPENMPI], [Open MPI], [openmpi], [--showme:compile], [OPEN_MPI])
  X_AC_MPI_ONE([MPICH], [MPICH], [mpich], [-compile_info], [MPICH_VERSION])
])
