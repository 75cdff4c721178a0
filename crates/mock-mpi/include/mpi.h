/* The part of the MPICH ABI that the mock library implements. */
#ifndef MOCK_MPI_H
#define MOCK_MPI_H

#define MPI_VERSION 3
#define MPI_SUBVERSION 1
#define MPI_SUCCESS 0

typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_Op;
typedef int MPI_Request;
typedef struct {
    int count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR;
} MPI_Status;
typedef void MPI_User_function(void *, void *, int *, MPI_Datatype *);

#define MPI_COMM_WORLD ((MPI_Comm) 0x44000000)
#define MPI_COMM_SELF ((MPI_Comm) 0x44000001)
#define MPI_REQUEST_NULL ((MPI_Request) 0x2c000000)
#define MPI_CHAR ((MPI_Datatype) 0x4c000101)
#define MPI_INT ((MPI_Datatype) 0x4c000405)
#define MPI_LONG ((MPI_Datatype) 0x4c000807)
#define MPI_DOUBLE ((MPI_Datatype) 0x4c00080b)
#define MPI_MAX ((MPI_Op) 0x58000001)
#define MPI_SUM ((MPI_Op) 0x58000003)
#define MPI_ANY_SOURCE (-2)
#define MPI_ANY_TAG (-1)
#define MPI_PROC_NULL (-1)
#define MPI_IN_PLACE ((void *) -1)
#define MPI_STATUS_IGNORE ((MPI_Status *) 1)
#define MPI_STATUSES_IGNORE ((MPI_Status *) 1)
#define MPI_THREAD_MULTIPLE 3
#define MPI_MAX_LIBRARY_VERSION_STRING 8192

#define MOCK_BOTH(name, ...) int MPI_##name(__VA_ARGS__); int PMPI_##name(__VA_ARGS__)
MOCK_BOTH(Init, int *, char ***);
MOCK_BOTH(Init_thread, int *, char ***, int, int *);
MOCK_BOTH(Initialized, int *);
MOCK_BOTH(Finalize, void);
MOCK_BOTH(Finalized, int *);
MOCK_BOTH(Abort, MPI_Comm, int);
MOCK_BOTH(Get_version, int *, int *);
MOCK_BOTH(Get_library_version, char *, int *);
MOCK_BOTH(Comm_rank, MPI_Comm, int *);
MOCK_BOTH(Comm_size, MPI_Comm, int *);
MOCK_BOTH(Type_size, MPI_Datatype, int *);
MOCK_BOTH(Get_count, const MPI_Status *, MPI_Datatype, int *);
MOCK_BOTH(Send, const void *, int, MPI_Datatype, int, int, MPI_Comm);
MOCK_BOTH(Recv, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
MOCK_BOTH(Isend, const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
MOCK_BOTH(Irecv, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
MOCK_BOTH(Wait, MPI_Request *, MPI_Status *);
MOCK_BOTH(Waitall, int, MPI_Request *, MPI_Status *);
MOCK_BOTH(Test, MPI_Request *, int *, MPI_Status *);
MOCK_BOTH(Request_free, MPI_Request *);
MOCK_BOTH(Barrier, MPI_Comm);
MOCK_BOTH(Bcast, void *, int, MPI_Datatype, int, MPI_Comm);
MOCK_BOTH(Allreduce, const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
MOCK_BOTH(Reduce, const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
MOCK_BOTH(Op_create, MPI_User_function *, int, MPI_Op *);
MOCK_BOTH(Op_free, MPI_Op *);

#endif
