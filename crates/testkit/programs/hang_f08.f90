! Fortran programs (mpi_f08) that hang: see hang.c, whose comments have the same format.
program hang_f08
  use mpi_f08
  implicit none
  integer :: ierr, rank, size, got(2), more(2), total
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Request) :: requests(2)
  character(len=1024) :: name
  logical :: there

  call get_command_argument(1, name)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  select case (trim(name))
  ! scenario f08_two_receives 2 deadlock says 0 -> 1 -> 0
  case ('f08_two_receives')
    call MPI_Recv(got, 1, MPI_INTEGER, 1 - rank, 0, MPI_COMM_WORLD, status, ierr) ! here: f08_two_receives
  ! scenario f08_other_tag 2 message-never-sent culprit 0 says tag 42
  case ('f08_other_tag')
    if (rank == 0) call MPI_Send(got, 1, MPI_INTEGER, 1, 41, MPI_COMM_WORLD, ierr)
    if (rank == 1) call MPI_Recv(got, 1, MPI_INTEGER, 0, 42, MPI_COMM_WORLD, status, ierr) ! here: f08_other_tag
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  ! scenario f08_barrier_missing 3 collective-not-entered culprit 1 says never entered MPI_Barrier
  case ('f08_barrier_missing')
    if (rank /= 1) call MPI_Barrier(MPI_COMM_WORLD, ierr) ! here: f08_barrier_missing
  ! scenario f08_waitall 3 deadlock says ->
  case ('f08_waitall')
    call MPI_Irecv(got(1), 1, MPI_INTEGER, mod(rank + 1, size), 3, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(got(2), 1, MPI_INTEGER, mod(rank + 2, size), 3, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, statuses, ierr) ! here: f08_waitall
  ! scenario f08_polling 2 polling culprit 0 says MPI_Iprobe at hang_f08.f90:
  case ('f08_polling')
    there = rank /= 0
    do while (.not. there)
      call MPI_Iprobe(1, 3, MPI_COMM_WORLD, there, status, ierr) ! here: f08_polling
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  ! scenario f08_different_functions 2 collective-mismatch says MPI_Allreduce
  case ('f08_different_functions')
    if (rank == 0) then
      call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    else
      call MPI_Alltoall(got, 1, MPI_INTEGER, more, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    end if
    call MPI_Recv(got, 1, MPI_INTEGER, 1 - rank, 0, MPI_COMM_WORLD, status, ierr)
  end select
  call MPI_Finalize(ierr)
end program
