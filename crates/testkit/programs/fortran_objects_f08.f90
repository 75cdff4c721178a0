! The objects of fortran_objects.f90, created with mpi_f08.
program fortran_objects_f08
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm, second
  type(MPI_File) :: file, other
  type(MPI_Errhandler) :: errors, win_errors, file_errors
  integer :: rank, keyval, numbers(4)
  integer(kind=MPI_ADDRESS_KIND) :: extra, value
  logical :: there
  character(len=1024) :: dir
  procedure(MPI_Comm_errhandler_function) :: on_error
  procedure(MPI_Win_errhandler_function) :: on_win_error
  procedure(MPI_File_errhandler_function) :: on_file_error
  procedure(MPI_Comm_copy_attr_function) :: copied
  procedure(MPI_Comm_delete_attr_function) :: deleted

  call get_command_argument(1, dir)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_File_open(MPI_COMM_WORLD, trim(dir)//'/first', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file)
  call MPI_File_open(MPI_COMM_WORLD, trim(dir)//'/second', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, other)
  numbers = rank
  call MPI_File_write_at(other, int(16 * rank, MPI_OFFSET_KIND), numbers, 4, MPI_INTEGER, MPI_STATUS_IGNORE)
  call MPI_Comm_create_errhandler(on_error, errors)
  call MPI_Comm_set_errhandler(comm, errors)
  call MPI_Win_create_errhandler(on_win_error, win_errors)
  call MPI_File_create_errhandler(on_file_error, file_errors)
  call MPI_File_set_errhandler(other, file_errors)
  extra = 77
  call MPI_Comm_create_keyval(copied, deleted, keyval, extra)
  value = 4660
  call MPI_Comm_set_attr(comm, keyval, value)
  call MPI_Comm_dup(comm, second)
  call MPI_Comm_get_attr(second, keyval, value, there)
  if (.not. there .or. value /= 4660) call MPI_Abort(MPI_COMM_WORLD, 3)
  call MPI_Comm_free(second)
  call say('handles', [file%MPI_VAL, other%MPI_VAL, comm%MPI_VAL, errors%MPI_VAL, win_errors%MPI_VAL, &
    file_errors%MPI_VAL, keyval])
  call say('ready', [rank])
  call wait_for_go()
  call MPI_File_close(file)
  call MPI_File_close(other)
  call MPI_Errhandler_free(win_errors)
  call MPI_Comm_free(comm)
  call MPI_Finalize()
contains
  include 'stand.inc'
end program

subroutine on_error(comm, error_code)
  use mpi_f08
  type(MPI_Comm) :: comm
  integer :: error_code
  print *, 'error', error_code, 'on', comm%MPI_VAL
end subroutine

subroutine on_win_error(win, error_code)
  use mpi_f08
  type(MPI_Win) :: win
  integer :: error_code
  print *, 'error', error_code, 'on', win%MPI_VAL
end subroutine

subroutine on_file_error(file, error_code)
  use mpi_f08
  type(MPI_File) :: file
  integer :: error_code
  print *, 'error', error_code, 'on', file%MPI_VAL
end subroutine

subroutine copied(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
  use mpi_f08
  type(MPI_Comm) :: oldcomm
  integer :: comm_keyval, ierror
  integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
  logical :: flag
  attribute_val_out = attribute_val_in + 0 * (extra_state + oldcomm%MPI_VAL + comm_keyval)
  flag = .true.
  ierror = MPI_SUCCESS
end subroutine

subroutine deleted(comm, comm_keyval, attribute_val, extra_state, ierror)
  use mpi_f08
  type(MPI_Comm) :: comm
  integer :: comm_keyval, ierror
  integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
  ierror = MPI_SUCCESS + 0 * int(attribute_val + extra_state + comm%MPI_VAL + comm_keyval)
end subroutine
