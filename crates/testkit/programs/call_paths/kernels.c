/* A library that calls MPI for programs. The line of each MPI call ends with the function's name in a comment. */
#include <mpi.h>

double kernels_norm(double *values, int count)
{
	double sums[count], norm = 0;
	MPI_Allreduce(values, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* MPI_Allreduce */
	for (int i = 0; i < count; i++)
		norm += sums[i];
	return norm;
}

MPI_Comm kernels_comm(void)
{
	MPI_Comm comm;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* MPI_Comm_dup */
	return comm;
}

int kernels_me(void)
{
	int rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* MPI_Comm_rank */
	return rank;
}
