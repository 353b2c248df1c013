! SPDX-License-Identifier: GPL-2.0-or-later
! Copyright (C) 2026 The slurm-hpc-balance developers
!
! What is special about MPI in Fortran: MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS(ES)_IGNORE,
! statuses as arrays of integers, indices from 1, logicals; and that it sleeps too.
program fortran
    use mpi
    use iso_c_binding, only: c_int, c_long
    implicit none
    interface
        integer(c_int) function usleep(us) bind(c, name='usleep')
            import c_int
            integer(c_int), value :: us
        end function
        subroutine usage(who, used) bind(c, name='getrusage')
            import c_int, c_long
            integer(c_int), value :: who
            integer(c_long) :: used(18)
        end subroutine
    end interface
    integer(c_int), parameter :: rusage_thread = 1
    integer, parameter :: long_count = 300000
    integer :: rank, peer, ierr, world, out = 10
    integer :: status(MPI_STATUS_SIZE), requests(3), statuses(MPI_STATUS_SIZE, 3)
    integer :: values(4), got(4), several(long_count)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, world, ierr)
    peer = 1 - rank
    call open_output()
    values = (/ 1, 2, 3, 4 /) + 10 * rank
    call messages()
    call waits()
    call collectives()
    call bottom()
    call late()
    close(out)
    call MPI_Comm_free(world, ierr)
    call MPI_Finalize(ierr)

contains

    subroutine open_output()
        character(len=4096) :: prefix
        integer :: length

        call get_environment_variable('HPCB_TEST_OUT', prefix, length)
        if (length == 0) prefix = 'out'
        write(prefix, '(A,".",I0)') trim(prefix), rank
        open(unit=out, file=trim(prefix), status='replace')
    end subroutine

    subroutine say_status(what)
        character(len=*), intent(in) :: what
        integer :: count, code

        call MPI_Get_count(status, MPI_INTEGER, count, code)
        write(out, *) what, status(MPI_SOURCE), status(MPI_TAG), count, code
    end subroutine

    subroutine messages()
        integer :: message
        logical :: there

        if (rank == 0) then
            call MPI_Send(values, 4, MPI_INTEGER, peer, 1, world, ierr)
            call MPI_Ssend(values, 3, MPI_INTEGER, peer, 2, world, ierr)
            several = 7
            call MPI_Send(several, long_count, MPI_INTEGER, peer, 3, world, ierr)
            call MPI_Send(values, 2, MPI_INTEGER, peer, 4, world, ierr)
        else
            call MPI_Recv(got, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &
                          status, ierr)
            call say_status('Recv')
            call MPI_Probe(peer, 2, world, status, ierr)
            call say_status('Probe')
            call MPI_Recv(got, 4, MPI_INTEGER, peer, 2, world, MPI_STATUS_IGNORE, ierr)
            call MPI_Recv(several, long_count, MPI_INTEGER, peer, 3, world, status, ierr)
            call say_status('long Recv')
            call MPI_Mprobe(peer, 4, world, message, status, ierr)
            call say_status('Mprobe')
            call MPI_Mrecv(got, 4, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierr)
            write(out, *) 'got', got, sum(several), ierr, message == MPI_MESSAGE_NULL
        end if
        call MPI_Sendrecv(values, 4, MPI_INTEGER, peer, 5, got, 4, MPI_INTEGER, peer, 5, &
                          world, status, ierr)
        call say_status('Sendrecv')
        call MPI_Sendrecv_replace(got, 4, MPI_INTEGER, peer, 6, peer, 6, world, &
                                  MPI_STATUS_IGNORE, ierr)
        call MPI_Recv(got(1), 1, MPI_INTEGER, MPI_PROC_NULL, 6, world, status, ierr)
        call say_status('nobody')
        call MPI_Iprobe(peer, 99, world, there, MPI_STATUS_IGNORE, ierr)
        write(out, *) 'Sendrecv_replace', got, ierr, there
    end subroutine

    subroutine waits()
        integer :: i, index, done, indices(3)

        got = 0
        do i = 1, 3
            call MPI_Irecv(got(i), 1, MPI_INTEGER, peer, i, world, requests(i), ierr)
        end do
        do i = 1, 3
            call MPI_Send(values(i), 1, MPI_INTEGER, peer, i, world, ierr)
        end do
        call MPI_Wait(requests(2), status, ierr)
        call say_status('Wait')
        write(out, *) 'null', requests(2) == MPI_REQUEST_NULL
        call MPI_Waitall(3, requests, statuses, ierr)
        write(out, *) 'Waitall', got(1:3), statuses(MPI_TAG, 1), statuses(MPI_TAG, 3), ierr
        call MPI_Irecv(got(1), 1, MPI_INTEGER, peer, 7, world, requests(3), ierr)
        call MPI_Send(values(4), 1, MPI_INTEGER, peer, 7, world, ierr)
        call MPI_Waitany(3, requests, index, status, ierr)
        call say_status('Waitany')
        write(out, *) 'index', index, got(1)
        call MPI_Irecv(got(1), 1, MPI_INTEGER, peer, 8, world, requests(2), ierr)
        call MPI_Send(values(3), 1, MPI_INTEGER, peer, 8, world, ierr)
        call MPI_Waitsome(3, requests, done, indices, MPI_STATUSES_IGNORE, ierr)
        write(out, *) 'Waitsome', done, indices(1), got(1)
        call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierr)
        call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE, ierr)
        write(out, *) 'undefined', index == MPI_UNDEFINED
    end subroutine

    subroutine collectives()
        integer :: parts(8), counts(2) = (/ 2, 2 /), places(2) = (/ 0, 2 /)

        call MPI_Allreduce(values, got, 4, MPI_INTEGER, MPI_SUM, world, ierr)
        write(out, *) 'Allreduce', got, ierr
        call MPI_Allreduce(MPI_IN_PLACE, got, 4, MPI_INTEGER, MPI_MAX, world, ierr)
        write(out, *) 'Allreduce in place', got
        if (rank == 1) then
            call MPI_Reduce(MPI_IN_PLACE, got, 4, MPI_INTEGER, MPI_SUM, 1, world, ierr)
            write(out, *) 'Reduce in place', got
        else
            call MPI_Reduce(got, got, 4, MPI_INTEGER, MPI_SUM, 1, world, ierr)
        end if
        call MPI_Bcast(got, 4, MPI_INTEGER, 1, world, ierr)
        write(out, *) 'Bcast', got
        parts(4 * rank + 1 : 4 * rank + 4) = values
        call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, parts, 4, MPI_INTEGER, &
                           world, ierr)
        write(out, *) 'Allgather in place', parts
        call MPI_Alltoallv(values, counts, places, MPI_INTEGER, got, counts, places, &
                           MPI_INTEGER, world, ierr)
        write(out, *) 'Alltoallv', got
        call MPI_Scan(values, got, 4, MPI_INTEGER, MPI_SUM, world, ierr)
        write(out, *) 'Scan', got
        call MPI_Reduce_scatter(values, got, counts, MPI_INTEGER, MPI_SUM, world, ierr)
        write(out, *) 'Reduce_scatter', got(1:2)
        call MPI_Barrier(world, ierr)
    end subroutine

    subroutine bottom()
        integer :: type, lengths(2) = (/ 1, 2 /)
        integer(MPI_ADDRESS_KIND) :: places(2)

        call MPI_Get_address(values(1), places(1), ierr)
        call MPI_Get_address(values(3), places(2), ierr)
        call MPI_Type_create_hindexed(2, lengths, places, MPI_INTEGER, type, ierr)
        call MPI_Type_commit(type, ierr)
        if (rank == 0) then
            call MPI_Send(MPI_BOTTOM, 1, type, peer, 9, world, ierr)
        else
            call MPI_Recv(MPI_BOTTOM, 1, type, peer, 9, world, MPI_STATUS_IGNORE, ierr)
        end if
        call MPI_Bcast(MPI_BOTTOM, 1, type, 1, world, ierr)
        call MPI_Type_free(type, ierr)
        write(out, *) 'bottom', values, ierr
    end subroutine

    ! On a busy machine rank 0 may be the one that is late: then once more.
    subroutine late()
        integer(c_long) :: before(18)
        integer :: i
        logical :: sleeps = .false.

        do i = 1, 10
            call MPI_Barrier(world, ierr)
            if (rank == 0) then
                call usage(rusage_thread, before)
                call MPI_Recv(got, 4, MPI_INTEGER, peer, 1, world, &
                              MPI_STATUS_IGNORE, ierr)
                sleeps = slept(before)
            else
                ierr = usleep(100000)
                call MPI_Send(values, 4, MPI_INTEGER, peer, 1, world, ierr)
            end if
            call MPI_Bcast(sleeps, 1, MPI_LOGICAL, 0, world, ierr)
            if (sleeps) exit
        end do
        if (rank == 0) write(out, *) 'sleeps', sleeps
    end subroutine

    ! As slept.h: CPU time between naps; used is struct rusage, from its begin two times
    ! in s and us, the 17th are voluntary context switches.
    logical function slept(before)
        integer(c_long), intent(in) :: before(18)
        integer(c_long) :: used(18)

        call usage(rusage_thread, used)
        used = used - before
        slept = 1000000 * (used(1) + used(3)) + used(2) + used(4) < 200 * used(17)
    end function
end program
