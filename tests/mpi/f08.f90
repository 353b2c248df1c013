! SPDX-License-Identifier: GPL-2.0-or-later
! Copyright (C) 2026 The slurm-hpc-balance developers
!
! The same in short through the mpi_f08 module.
program f08
    use mpi_f08
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
    integer :: rank, peer, out = 10, values(4), got(4), index, unused
    type(MPI_Comm) :: world
    type(MPI_Status) :: status
    type(MPI_Request) :: requests(2)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_dup(MPI_COMM_WORLD, world)
    peer = 1 - rank
    call open_output()
    values = (/ 1, 2, 3, 4 /) + 10 * rank
    got = 0
    call MPI_Sendrecv(values, 4, MPI_INTEGER, peer, 5, got, 4, MPI_INTEGER, peer, &
                      MPI_ANY_TAG, world, status)
    write(out, *) 'Sendrecv', got, status%MPI_SOURCE, status%MPI_TAG
    call MPI_Irecv(got(1), 1, MPI_INTEGER, peer, 1, world, requests(1))
    call MPI_Isend(values(2), 1, MPI_INTEGER, peer, 1, world, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Waitany(2, requests, index, status)
    write(out, *) 'Waitall', got(1), index == MPI_UNDEFINED
    call MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_INTEGER, MPI_SUM, world)
    write(out, *) 'Allreduce', values
    call MPI_Bcast(values, 4, MPI_INTEGER, 1, world)
    call late()
    close(out)
    call MPI_Comm_free(world)
    call MPI_Finalize()

contains

    subroutine open_output()
        character(len=4096) :: prefix
        integer :: length

        call get_environment_variable('HPCB_TEST_OUT', prefix, length)
        if (length == 0) prefix = 'out'
        write(prefix, '(A,".",I0)') trim(prefix), rank
        open(unit=out, file=trim(prefix), status='replace')
    end subroutine

    ! On a busy machine rank 0 may be the one that is late: then once more.
    subroutine late()
        integer(c_long) :: before(18)
        integer :: i
        logical :: sleeps = .false.

        do i = 1, 10
            call MPI_Barrier(world)
            if (rank == 0) then
                call usage(rusage_thread, before)
                call MPI_Recv(got, 4, MPI_INTEGER, peer, 1, world, &
                              MPI_STATUS_IGNORE)
                sleeps = slept(before)
            else
                unused = usleep(100000)
                call MPI_Send(values, 4, MPI_INTEGER, peer, 1, world)
            end if
            call MPI_Bcast(sleeps, 1, MPI_LOGICAL, 0, world)
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
