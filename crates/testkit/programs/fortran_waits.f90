! Ranks that wait for others, to be inspected from outside: `fortran_waits DIR`. Rank 0 waits for DIR/go, outside of MPI.
program fortran_waits
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, got, requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE)
  character(len=1024) :: dir

  call get_command_argument(1, dir)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  got = rank
  select case (rank)
  case (0)
    call wait_for_go()
    call MPI_Send(rank, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, 2, 7, MPI_COMM_WORLD, ierr)
  case (1)
    call MPI_Recv(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, status, ierr)
  case (2)
    requests(2) = MPI_REQUEST_NULL
    call MPI_Irecv(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Waitall(2, requests, statuses, ierr)
  end select
  if (got /= 0) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  call MPI_Finalize(ierr)
contains
  include 'stand.inc'
end program
