! Objects created in Fortran, to be inspected from outside: `fortran_objects DIR`. Writes the integers of the handles to
! DIR/handles.RANK, then creates DIR/ready.RANK and continues when DIR/go exists.
program fortran_objects
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, comm, file, other, errors, win_errors, file_errors, keyval, numbers(4), second
  logical :: there
  integer(kind=MPI_ADDRESS_KIND) :: extra, value
  character(len=1024) :: dir
  external :: on_error, on_win_error, on_file_error, copied, deleted

  call get_command_argument(1, dir)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_set_name(comm, 'of fortran', ierr)
  call MPI_File_open(MPI_COMM_WORLD, trim(dir)//'/first', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
  call MPI_File_open(MPI_COMM_WORLD, trim(dir)//'/second', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, other, ierr)
  numbers = rank
  call MPI_File_write_at(other, int(16 * rank, MPI_OFFSET_KIND), numbers, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call MPI_Comm_create_errhandler(on_error, errors, ierr)
  call MPI_Comm_set_errhandler(comm, errors, ierr)
  call MPI_Win_create_errhandler(on_win_error, win_errors, ierr)
  call MPI_File_create_errhandler(on_file_error, file_errors, ierr)
  call MPI_File_set_errhandler(other, file_errors, ierr)
  extra = 77
  call MPI_Comm_create_keyval(copied, deleted, keyval, extra, ierr)
  value = 4660
  call MPI_Comm_set_attr(comm, keyval, value, ierr)
  ! The copy function is called here, with more arguments than fit into registers, and agrees to copy.
  call MPI_Comm_dup(comm, second, ierr)
  call MPI_Comm_get_attr(second, keyval, value, there, ierr)
  if (.not. there .or. value /= 4660) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  call MPI_Comm_free(second, ierr)
  call say('handles', [file, other, comm, errors, win_errors, file_errors, keyval])
  call say('ready', [rank])
  call wait_for_go()
  call MPI_File_close(file, ierr)
  call MPI_File_close(other, ierr)
  call MPI_Errhandler_free(win_errors, ierr)
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
contains
  include 'stand.inc'
end program

subroutine on_error(comm, code)
  integer :: comm, code
  print *, 'error', code, 'on', comm
end subroutine

subroutine on_win_error(win, code)
  integer :: win, code
  print *, 'error', code, 'on', win
end subroutine

subroutine on_file_error(file, code)
  integer :: file, code
  print *, 'error', code, 'on', file
end subroutine

subroutine copied(comm, keyval, extra, old, new, flag, ierr)
  include 'mpif.h'
  integer :: comm, keyval, ierr
  integer(kind=MPI_ADDRESS_KIND) :: extra, old, new
  logical :: flag
  new = old + 0 * (extra + comm + keyval)
  flag = .true.
  ierr = MPI_SUCCESS
end subroutine

subroutine deleted(comm, keyval, value, extra, ierr)
  include 'mpif.h'
  integer :: comm, keyval, ierr
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  ierr = MPI_SUCCESS + 0 * int(value + extra + comm + keyval)
end subroutine
