! The ranks of fortran_waits.f90, with mpi_f08.
program fortran_waits_f08
  use mpi_f08
  implicit none
  integer :: rank, got
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2), status
  character(len=1024) :: dir

  call get_command_argument(1, dir)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  got = rank
  select case (rank)
  case (0)
    call wait_for_go()
    call MPI_Send(rank, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD)
    call MPI_Send(rank, 1, MPI_INTEGER, 2, 7, MPI_COMM_WORLD)
  case (1)
    call MPI_Recv(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, status)
  case (2)
    requests(2) = MPI_REQUEST_NULL
    call MPI_Irecv(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, requests(1))
    call MPI_Waitall(2, requests, statuses)
  end select
  if (got /= 0) call MPI_Abort(MPI_COMM_WORLD, 3)
  call MPI_Finalize()
contains
  include 'stand.inc'
end program
