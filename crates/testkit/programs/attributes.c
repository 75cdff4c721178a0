/* Cached attributes of communicators, types and windows, and the predefined attributes. */
#include "expect.h"

int main(int argc, char **argv)
{
    int comm_key, type_key, win_key, flag, number = 7, *value;
    long sum = 0;
    MPI_Datatype type, twin;
    MPI_Win win;
    MPI_Comm comm;
    expect_init(&argc, &argv);

    CALL(MPI_Comm_create_keyval, MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    CALL(MPI_Comm_set_attr, MPI_COMM_SELF, comm_key, &number);
    CALL(MPI_Comm_dup, MPI_COMM_SELF, &comm);
    CALL(MPI_Comm_get_attr, comm, comm_key, &value, &flag);
    sum += flag ? *value : -1;
    CALL(MPI_Comm_free, &comm);
    CALL(MPI_Comm_delete_attr, MPI_COMM_SELF, comm_key);
    CALL(MPI_Comm_free_keyval, &comm_key);

    CALL(MPI_Type_create_keyval, MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    CALL(MPI_Type_contiguous, 2, MPI_INT, &type);
    CALL(MPI_Type_set_attr, type, type_key, &number);
    CALL(MPI_Type_dup, type, &twin);
    CALL(MPI_Type_get_attr, twin, type_key, &value, &flag);
    sum += flag ? *value : -1;
    CALL(MPI_Type_delete_attr, twin, type_key);
    CALL(MPI_Type_free, &twin);
    CALL(MPI_Type_free, &type);
    CALL(MPI_Type_free_keyval, &type_key);

    CALL(MPI_Win_create, &number, sizeof number, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CALL(MPI_Win_create_keyval, MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL);
    CALL(MPI_Win_set_attr, win, win_key, &number);
    CALL(MPI_Win_get_attr, win, win_key, &value, &flag);
    sum += flag ? *value : -1;
    CALL(MPI_Win_get_attr, win, MPI_WIN_SIZE, &value, &flag);
    sum += flag;
    CALL(MPI_Win_delete_attr, win, win_key);
    CALL(MPI_Win_free_keyval, &win_key);
    CALL(MPI_Win_free, &win);

    int predefined[] = {MPI_TAG_UB, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM};
    for (int i = 0; i < 4; i++)
        CALL(MPI_Comm_get_attr, MPI_COMM_WORLD, predefined[i], &value, &flag);
    expect_summary("attributes", sum);
    expect_finish();
    return 0;
}
