! Erroneous Fortran programs (mpi_f08) that end: see broken.c, whose comments have the same format.
program broken_f08
  use mpi_f08
  implicit none
  integer :: ierr, rank, value
  integer, asynchronous :: memory(4)
  type(MPI_Request) :: request, second
  type(MPI_Win) :: win
  character(len=1024) :: name

  call get_command_argument(1, name)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  value = rank
  memory = 0
  select case (trim(name))
  ! finding f08_sent_to_nobody 2 call-failed ranks 0 says returned MPI_ERR_RANK, and the program went on
  case ('f08_sent_to_nobody')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    if (rank == 0) call MPI_Send(value, 1, MPI_INTEGER, 5, 0, MPI_COMM_WORLD, ierr) ! here: f08_sent_to_nobody
  ! finding f08_freed_receive 2 request-freed-active ranks 1 says MPI_Request_free
  case ('f08_freed_receive')
    if (rank == 1) call MPI_Irecv(memory(1), 1, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, request, ierr)
    if (rank == 1) call MPI_Request_free(request, ierr) ! here: f08_freed_receive
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (rank == 0) call MPI_Send(value, 1, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  ! finding f08_rput_without_lock 2 rma-synchronization ranks 0 says MPI_Rput at
  case ('f08_rput_without_lock')
    call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    if (rank == 0) then
      call MPI_Rput(value, 1, MPI_INTEGER, 1, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, request, ierr) ! here: f08_rput_without_lock
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    end if
    call MPI_Win_fence(0, win, ierr)
    call MPI_Win_free(win, ierr)
  ! finding f08_broadcast_changed 2 buffer-changed ranks 0 check says the buffer of MPI_Ibcast of 4 x
  case ('f08_broadcast_changed')
    call MPI_Ibcast(memory, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, request, ierr) ! here: f08_broadcast_changed
    if (rank == 0) memory(4) = 5
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  ! finding f08_sums_in_one_place 2 buffer-overlap ranks [0-1] check says were active at once in the same memory
  case ('f08_sums_in_one_place')
    call MPI_Iallreduce(MPI_IN_PLACE, memory, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierr)
    call MPI_Iallreduce(MPI_IN_PLACE, memory(4), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, second, ierr) ! here: f08_sums_in_one_place
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call MPI_Wait(second, MPI_STATUS_IGNORE, ierr)
  end select
  call MPI_Finalize(ierr)
end program broken_f08
