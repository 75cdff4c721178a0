/*
 * Calls MPI through libraries. The comment at the end of each such line has the MPI function and the number of calls; `itself`
 * where the program calls MPI directly.
 */
#include <mpi.h>
#include <pthread.h>

MPI_Comm kernels_comm(void);
double kernels_norm(double *values, int count);
double model_norm(double *values, int count);
void model_sort(int *pair);

static void *thread(void *values)
{
	model_norm(values, 2); /* MPI_Allreduce 1 */
	return 0;
}

/* Adds to the result of the call, so that it is not a tail call. */
static double both(double *values)
{
	double norm = model_norm(values, 3); /* MPI_Allreduce 4 */
	return norm + kernels_norm(values, 4); /* MPI_Allreduce 4 */
}

int main(int argc, char **argv)
{
	int level;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); /* itself MPI_Init_thread 1 */
	double values[8] = {0};
	int pair[2] = {1, 2};
	pthread_t other;

	for (int i = 0; i < 5; i++)
		model_norm(values, 8); /* MPI_Allreduce 5 */
	for (int i = 0; i < 4; i++)
		values[0] = both(values);
	model_sort(pair); /* MPI_Comm_rank 1 */
	kernels_comm(); /* MPI_Comm_dup 1 */
	MPI_Barrier(MPI_COMM_WORLD); /* itself MPI_Barrier 1 */
	pthread_create(&other, 0, thread, values);
	pthread_join(other, 0);
	MPI_Finalize(); /* itself MPI_Finalize 1 */
	return 0;
}
