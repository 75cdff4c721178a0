! The mpif.h binding. The counts per rank are written by hand below, since every rank does the same.
program fortran_mpif
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, nprocs, peer, i, got, total, requests(2), statuses(MPI_STATUS_SIZE, 2)
  integer :: status(MPI_STATUS_SIZE), newtype, typesize, comm
  integer, parameter :: rounds = 5
  integer :: x, y

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierr)
  peer = ieor(rank, 1)
  total = 0
  do i = 1, rounds
    call MPI_Irecv(got, 1, MPI_INTEGER, peer, i, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(i, 1, MPI_INTEGER, peer, i, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, statuses, ierr)
    total = total + got
  end do
  if (rank < peer) then
    call MPI_Send(rank, 1, MPI_INTEGER, peer, 9, MPI_COMM_WORLD, ierr)
    call MPI_Recv(got, 1, MPI_INTEGER, peer, 9, MPI_COMM_WORLD, status, ierr)
  else
    call MPI_Recv(got, 1, MPI_INTEGER, peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, peer, 9, MPI_COMM_WORLD, ierr)
  end if
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, peer, 8, got, 1, MPI_INTEGER, peer, 8, MPI_COMM_WORLD, status, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  x = 3 * rank + 1
  call MPI_Allreduce(x, y, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, y, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
  call MPI_Bcast(total, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call MPI_Type_contiguous(3, MPI_INTEGER, newtype, ierr)
  call MPI_Type_commit(newtype, ierr)
  call MPI_Type_size(newtype, typesize, ierr)
  call MPI_Type_free(newtype, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_free(comm, ierr)
  if (rank == 0) print '(a,i0,a,i0,a,i0,a,i0)', 'fortran_mpif: ', nprocs, ' ranks, ', total, ' ', y, ' ', typesize
  call MPI_Finalize(ierr)

  call write_counts()
contains
  subroutine write_counts()
    character(len=4096) :: dir
    character(len=32) :: name
    integer :: n
    call get_environment_variable('MPISCOPE_EXPECT_DIR', dir, n)
    if (n == 0) return
    write (name, '(a,i0,a)') '/rank', rank, '.expect'
    open (unit=20, file=dir(1:n)//trim(name), status='replace')
    write (20, '(a,i0)') 'PID ', getpid()
    write (20, '(a,i0)') 'RANK ', rank
    write (20, '(a)') 'EXPECT MPI_Init 1', 'EXPECT MPI_Comm_rank 1', 'EXPECT MPI_Comm_size 1'
    write (20, '(a,i0)') 'EXPECT MPI_Irecv ', rounds, 'EXPECT MPI_Isend ', rounds, 'EXPECT MPI_Waitall ', rounds
    write (20, '(a)') 'EXPECT MPI_Send 1', 'EXPECT MPI_Recv 1', 'EXPECT MPI_Sendrecv 1', 'EXPECT MPI_Barrier 1'
    write (20, '(a)') 'EXPECT MPI_Allreduce 2', 'EXPECT MPI_Bcast 1', 'EXPECT MPI_Type_contiguous 1'
    write (20, '(a)') 'EXPECT MPI_Type_commit 1', 'EXPECT MPI_Type_size 1', 'EXPECT MPI_Type_free 1'
    write (20, '(a)') 'EXPECT MPI_Comm_dup 1', 'EXPECT MPI_Comm_free 1', 'EXPECT MPI_Finalize 1'
    close (20)
  end subroutine write_counts
end program fortran_mpif
