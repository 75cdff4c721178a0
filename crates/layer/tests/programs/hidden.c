/* Failed calls neither create nor free objects; objects that the library creates for itself inside a call are hidden. */
#include "say.h"

static void fail(void)
{
    MPI_Comm null = MPI_COMM_NULL, comm = MPI_COMM_WORLD;
    MPI_Datatype type = MPI_INT;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Group group;
    int ranks[1] = {99};

    /* Some libraries return success from a failed call if an error handler of the program returns. */
    MPI_Type_vector(-1, 1, 1, MPI_INT, &type);
    MPI_Comm_dup(null, &comm);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    {
        MPI_Group some = MPI_GROUP_EMPTY;
        MPI_Group_incl(group, 1, ranks, &some);
    }
    MPI_Group_free(&group);
    MPI_Info_set(info, "key", "value");
    MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &comm);
    if (comm != MPI_COMM_NULL)
        abort();
    comm = MPI_COMM_WORLD;
    MPI_Comm_free(&comm);
    say("world", "comm", RAW((MPI_Comm){MPI_COMM_WORLD}), "life=1 predefined=1");
    type = MPI_INT;
    MPI_Type_free(&type);
    say("int", "datatype", RAW((MPI_Datatype){MPI_INT}), "life=1 predefined=1");
}

static void work(void)
{
    char name[4096];
    int data[8] = {0}, *base;
    MPI_File file;
    MPI_Win win;
    MPI_Comm comm;
    MPI_Datatype type;

    MPI_Type_vector(4, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    snprintf(name, sizeof name, "%s/data", getenv("OBJECTS_DIR"));
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 4 * rank, MPI_INT, type, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, data, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Allreduce(MPI_IN_PLACE, data, 8, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    MPI_Type_free(&type);
}

static void go_on(MPI_Comm *comm, int *code, ...)
{
}

int main(int argc, char **argv)
{
    MPI_Errhandler errors;
    MPI_Init(&argc, &argv);
    /* Not MPI_ERRORS_RETURN, which has a different value in drafts of the standard ABI. */
    MPI_Comm_create_errhandler(go_on, &errors);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errors);
    open_said();
    hand_over("before");
    work();
    hand_over("image");
    fail();
    fclose(said);
    hand_over("failed");
    MPI_Finalize();
    return 0;
}
