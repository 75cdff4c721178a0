/* A second library that calls the first one, also through the C library, and does not call MPI itself. */
#include <stdlib.h>

double kernels_norm(double *values, int count);
int kernels_me(void);

double model_norm(double *values, int count)
{
	volatile char room[4096];
	room[count] = 1;
	return kernels_norm(values, count) + room[count];
}

static int compare(const void *one, const void *other)
{
	return kernels_me() < 0 || *(const int *)one < *(const int *)other;
}

void model_sort(int *pair)
{
	qsort(pair, 2, sizeof *pair, compare);
}
