/* Every way to wait for, test, probe and cancel a message. Each test call of a polling loop counts. */
#include "expect.h"

enum { N = 6 };
static int peer;
static long sum;
static int out[N], in[N];
static MPI_Request requests[2 * N];
static MPI_Status statuses[2 * N];

static void post(void)
{
    for (int i = 0; i < N; i++) {
        out[i] = expect_rank + i;
        in[i] = -1;
        CALL(MPI_Irecv, &in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[i]);
        CALL(MPI_Isend, &out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[N + i]);
    }
}

static void add(void)
{
    for (int i = 0; i < N; i++)
        sum += in[i];
}

static void wait_family(void)
{
    int index, count, indices[2 * N];
    post();
    for (int i = 0; i < 2 * N; i++)
        CALL(MPI_Wait, &requests[i], &statuses[i]);
    add();
    post();
    CALL(MPI_Waitall, 2 * N, requests, statuses);
    add();
    post();
    for (int i = 0; i < 2 * N; i++)
        CALL(MPI_Waitany, 2 * N, requests, &index, &statuses[0]);
    add();
    post();
    for (int done = 0; done < 2 * N; done += count)
        CALL(MPI_Waitsome, 2 * N, requests, &count, indices, statuses);
    add();
}

static void test_family(void)
{
    int flag, index, count, indices[2 * N];
    post();
    for (int i = 0; i < 2 * N; i++)
        do
            CALL(MPI_Test, &requests[i], &flag, &statuses[i]);
        while (!flag);
    add();
    post();
    do
        CALL(MPI_Testall, 2 * N, requests, &flag, statuses);
    while (!flag);
    add();
    post();
    for (int done = 0; done < 2 * N; done += flag)
        CALL(MPI_Testany, 2 * N, requests, &index, &flag, &statuses[0]);
    add();
    post();
    for (int done = 0; done < 2 * N; done += count)
        CALL(MPI_Testsome, 2 * N, requests, &count, indices, statuses);
    add();
    post();
    for (int i = 0; i < 2 * N; i++) {
        do
            CALL(MPI_Request_get_status, requests[i], &flag, &statuses[i]);
        while (!flag);
        CALL(MPI_Wait, &requests[i], MPI_STATUS_IGNORE);
    }
    add();
}

static void probes(void)
{
    int value = 7 + expect_rank, got = 0, flag = 0, count = 0;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    for (int kind = 0; kind < 4; kind++)
        CALL(MPI_Isend, &value, 1, MPI_INT, peer, 50 + kind, MPI_COMM_WORLD, &requests[kind]);
    CALL(MPI_Probe, peer, 50, MPI_COMM_WORLD, &status);
    CALL(MPI_Get_count, &status, MPI_INT, &count);
    CALL(MPI_Recv, &got, 1, MPI_INT, peer, 50, MPI_COMM_WORLD, &status);
    sum += got + count;
    do
        CALL(MPI_Iprobe, MPI_ANY_SOURCE, 51, MPI_COMM_WORLD, &flag, &status);
    while (!flag);
    CALL(MPI_Recv, &got, 1, MPI_INT, status.MPI_SOURCE, 51, MPI_COMM_WORLD, &status);
    sum += got;
    CALL(MPI_Mprobe, peer, 52, MPI_COMM_WORLD, &message, &status);
    CALL(MPI_Mrecv, &got, 1, MPI_INT, &message, &status);
    sum += got;
    do
        CALL(MPI_Improbe, peer, 53, MPI_COMM_WORLD, &flag, &message, &status);
    while (!flag);
    CALL(MPI_Imrecv, &got, 1, MPI_INT, &message, &request);
    CALL(MPI_Wait, &request, &status);
    sum += got;
    CALL(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
}

static void give_up(void)
{
    int value = 1, got = 0, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    CALL(MPI_Irecv, &got, 1, MPI_INT, peer, 99, MPI_COMM_WORLD, &request);
    CALL(MPI_Cancel, &request);
    CALL(MPI_Wait, &request, &status);
    CALL(MPI_Test_cancelled, &status, &cancelled);
    sum += cancelled;
    CALL(MPI_Isend, &value, 1, MPI_INT, peer, 60, MPI_COMM_WORLD, &request);
    CALL(MPI_Request_free, &request);
    CALL(MPI_Recv, &got, 1, MPI_INT, peer, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv);
    peer = expect_rank ^ 1;
    for (int round = 0; round < 3; round++) {
        wait_family();
        test_family();
        probes();
        give_up();
    }
    expect_summary("p2p_completion", sum);
    expect_finish();
    return 0;
}
