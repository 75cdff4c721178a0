/* MPI-IO. The calls that the library makes internally (ROMIO makes many) are not calls of the program. */
#include "expect.h"

enum { N = 8 };

int main(int argc, char **argv)
{
    const char *dir = getenv("MPISCOPE_TEST_TMP");
    char path[4096];
    int values[N], got[N];
    long sum = 0;
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Offset offset, size;
    MPI_Datatype type, etype, filetype;
    char representation[MPI_MAX_DATAREP_STRING];
    int amode = 0, atomic = 0;
    MPI_Group group;
    MPI_Info info;
    MPI_Aint extent;

    expect_init(&argc, &argv);
    snprintf(path, sizeof path, "%s/mpiscope_io_%d.dat", dir ? dir : "/tmp", expect_size);
    for (int i = 0; i < N; i++)
        values[i] = expect_rank * N + i;
    MPI_Offset mine = (MPI_Offset) expect_rank * N * sizeof(int);

    CALL(MPI_File_open, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
         MPI_INFO_NULL, &file);
    CALL(MPI_File_set_size, file, 0);
    CALL(MPI_File_preallocate, file, 4096);
    CALL(MPI_File_sync, file);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    CALL(MPI_File_write_at, file, mine, values, N, MPI_INT, &status);
    CALL(MPI_File_sync, file);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    CALL(MPI_File_read_at, file, mine, got, N, MPI_INT, &status);
    sum += got[N - 1];
    CALL(MPI_File_write_at_all, file, mine, values, N, MPI_INT, &status);
    CALL(MPI_File_read_at_all, file, mine, got, N, MPI_INT, &status);
    sum += got[0];
    CALL(MPI_File_iwrite_at, file, mine, values, N, MPI_INT, &request);
    CALL(MPI_Wait, &request, &status);
    CALL(MPI_File_iread_at, file, mine, got, N, MPI_INT, &request);
    CALL(MPI_Wait, &request, &status);
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_get_position, file, &offset);
    CALL(MPI_File_write, file, values, N, MPI_INT, &status);
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_read, file, got, N, MPI_INT, &status);
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_write_all, file, values, N, MPI_INT, &status);
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_read_all, file, got, N, MPI_INT, &status);
    sum += got[1];

    /* The view's writes touch the ranges that other ranks have just read. */
    CALL(MPI_File_sync, file);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    CALL(MPI_Type_vector, N, 1, expect_size, MPI_INT, &type);
    CALL(MPI_Type_commit, &type);
    CALL(MPI_File_set_view, file, (MPI_Offset) expect_rank * sizeof(int), MPI_INT, type, "native", MPI_INFO_NULL);
    CALL(MPI_File_write_all, file, values, N, MPI_INT, &status);
    CALL(MPI_File_get_view, file, &offset, &etype, &filetype, representation);
    CALL(MPI_File_set_view, file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    CALL(MPI_Type_free, &type);
    /* The writes of others are visible after sync, barrier, sync (MPI 4.1, section 14.6.1). */
    CALL(MPI_File_sync, file);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    CALL(MPI_File_sync, file);
    CALL(MPI_File_read_at, file, 0, got, N, MPI_INT, &status);
    /* The first element is the only one that no two ranks have written. */
    sum += got[0];

    CALL(MPI_File_get_size, file, &size);
    sum += size > 0;
    CALL(MPI_File_get_amode, file, &amode);
    CALL(MPI_File_get_group, file, &group);
    CALL(MPI_Group_free, &group);
    CALL(MPI_File_get_info, file, &info);
    CALL(MPI_Info_free, &info);
    CALL(MPI_File_get_type_extent, file, MPI_INT, &extent);
    CALL(MPI_File_get_byte_offset, file, 3, &offset);
    CALL(MPI_File_set_atomicity, file, 1);
    CALL(MPI_File_get_atomicity, file, &atomic);
    sum += atomic + extent + offset;
    CALL(MPI_File_close, &file);

    expect_summary("mpi_io", sum);
    expect_finish();
    return 0;
}
