/* Loads the library after MPI_Init and ends without MPI_Finalize, as a program that is killed. */
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	void *library = dlopen(argv[1], RTLD_NOW);
	MPI_Comm (*kernels_comm)(void) = (MPI_Comm(*)(void))dlsym(library, "kernels_comm");
	kernels_comm(); /* MPI_Comm_dup 1 */
	_exit(0);
}
