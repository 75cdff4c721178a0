/* One object of every kind and constructor, with the expected facts about it. Three ranks. */
#include "say.h"

static MPI_Win made[5];
static MPI_File opened;

static int copy_all(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int copy_none(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    *flag = 0;
    return MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void comms(void)
{
    MPI_Comm dup, named, half, cart, row, graph, ring, inter, merged, pair, freed, idup, none, attributed, copied;
    MPI_Group world, some, again;
    MPI_Request request;
    int dims[2] = {size, 1}, periods[2] = {1, 0}, keep[2] = {1, 0};
    int index[3] = {2, 3, 4}, edges[6] = {1, 2, 0, 0, 9, 9};
    int source = (rank + 1) % size, target = (rank + size - 1) % size, weight = 7 + rank;
    int pick[2] = {2, 0}, key, other, count;

    say("world", "comm", RAW((MPI_Comm){MPI_COMM_WORLD}), "name=MPI_COMM_WORLD rank=%d size=%d same=world", rank, size);
    say("self", "comm", RAW((MPI_Comm){MPI_COMM_SELF}), "name=MPI_COMM_SELF rank=0 size=1 members=%d", rank);

    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    say("dup", "comm", RAW(dup), "rank=%d size=%d members= parent=@world same=dup made_by=MPI_Comm_dup", rank, size);
    MPI_Comm_dup(dup, &named);
    MPI_Comm_set_name(named, "of_dup");
    say("named", "comm", RAW(named), "name=of_dup parent=@dup same=named");
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1, -rank, &half);
    say("half", "comm", RAW(half), "size=%d members=%s colour=%d parent=@world same=half%d made_by=MPI_Comm_split",
        rank == 1 ? 1 : 2, rank == 1 ? "1" : "2,0", rank == 1, rank == 1);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 3, 0, &none);
    if (!rank)
        say("lonely", "comm", RAW(none), "size=1 members=0 same=lonely");
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    say("cart", "comm", RAW(cart), "topology=1 args=2,%d,1,1,0 parent=@world same=cart", size);
    MPI_Cart_sub(cart, keep, &row);
    say("row", "comm", RAW(row), "topology=1 args=1,%d,1 parent=@cart same=row", size);
    MPI_Graph_create(MPI_COMM_WORLD, 3, index, edges, 0, &graph);
    say("graph", "comm", RAW(graph), "topology=2 args=3,2,3,4,1,2,0,0 same=graph");
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, &weight, 1, &target, &weight, MPI_INFO_NULL, 0, &ring);
    say("ring", "comm", RAW(ring), "topology=3 args=1,1,1,%d,%d,%d,%d same=ring", source, weight, target, weight);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 1 ? 2 : 1, 5, &inter);
    say("inter", "comm", RAW(inter), "inter=1 size=%d remote_size=%d members=%s remote=%s colour=5 parent=@half other=@world same=inter",
        rank == 1 ? 1 : 2, rank == 1 ? 2 : 1, rank == 1 ? "1" : "2,0", rank == 1 ? "2,0" : "1");
    MPI_Intercomm_merge(inter, rank == 1, &merged);
    say("merged", "comm", RAW(merged), "inter=0 size=3 members=2,0,1 parent=@inter same=merged");
    MPI_Comm_idup(MPI_COMM_WORLD, &idup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("idup", "comm", RAW(idup), "size=%d parent=@world same=idup made_by=MPI_Comm_idup", size);

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(MPI_COMM_WORLD, &again);
    MPI_Group_incl(world, 2, pick, &some);
    say("some", "group", RAW(some), "rank=%d size=2 members=2,0 parent=@gworld made_by=MPI_Group_incl", rank == 2 ? 0 : rank == 0 ? 1 : -1);
    if (world == again)
        say("gworld", "group", RAW(world), "rank=%d size=%d members= handles=2 parent=@world", rank, size);
    else
        say("gworld", "group", RAW(world), "rank=%d size=%d members= handles=1 parent=@world", rank, size);
    MPI_Group_free(&again);
    if (rank != 1) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 42, &pair);
        say("pair", "comm", RAW(pair), "life=3 members=2,0 colour=42 same=pair");
        MPI_Comm_free(&pair);
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 42, &pair);
        say("pair2", "comm", RAW(pair), "members=2,0 colour=42 same=pair2");
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    other = 0;
    {
        uint64_t was = RAW(freed);
        MPI_Comm_free(&freed);
        say("freed", "comm", was, "life=3 freed_by=MPI_Comm_free");
    }
    MPI_Comm_create_keyval(copy_all, MPI_COMM_NULL_DELETE_FN, &key, (void *)0x77);
    say("keyval", "comm_keyval", (uint32_t)key, "copy=%" PRIu64 " extra=%d", (uint64_t)(uintptr_t)copy_all, 0x77);
    MPI_Comm_create_keyval(copy_none, MPI_COMM_NULL_DELETE_FN, &other, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &attributed);
    MPI_Comm_set_attr(attributed, key, (void *)0x1111);
    MPI_Comm_set_attr(attributed, key, (void *)0x1234);
    MPI_Comm_set_attr(attributed, other, (void *)0x5678);
    MPI_Comm_dup(attributed, &copied);
    say("attributed", "comm", RAW(attributed), "attributes=%d:%d,%d:%d", other, 0x5678, key, 0x1234);
    say("copied", "comm", RAW(copied), "attributes=%d:%d parent=@attributed", key, 0x1234);
    MPI_Comm_size(copied, &count);
}

static void datatypes(void)
{
    MPI_Datatype contiguous, vector, hvector, indexed, hindexed, block, hblock, structure, resized, sub, dar, dup, nested;
    MPI_Datatype f90, contents[3], olds[3];
    MPI_Aint bytes[3] = {0, 16, 40}, addresses[8];
    int lengths[3] = {1, 2, 3}, shifts[3] = {0, 4, 9}, sizes[2] = {4, 6}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
    int dist[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[2] = {3, 1};
    int integers[8];

    say("int", "datatype", RAW((MPI_Datatype){MPI_INT}), "name=MPI_INT size=4 combiner=1 predefined=1 committed=1");
    MPI_Type_contiguous(7, MPI_INT, &contiguous);
    say("contiguous", "datatype", RAW(contiguous), "combiner=3 args=7,0,0,0 old=%" PRIx64 " parent=@int committed=0", RAW((MPI_Datatype){MPI_INT}));
    MPI_Type_vector(3, 2, -5, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_set_name(vector, "my_vector");
    say("vector", "datatype", RAW(vector), "combiner=4 args=3,2,-5,0 committed=1 name=my_vector lb=-80 extent=96 made_by=MPI_Type_vector");
    MPI_Type_create_hvector(3, 2, 100, vector, &hvector);
    say("hvector", "datatype", RAW(hvector), "combiner=5 args=3,2,100,0 parent=@vector");
    MPI_Type_indexed(3, lengths, shifts, MPI_INT, &indexed);
    say("indexed", "datatype", RAW(indexed), "combiner=6 args=3,0,0,0 array=1,2,3,0,4,9");
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &hindexed);
    say("hindexed", "datatype", RAW(hindexed), "combiner=7 args=3,0,0,0 array=1,2,3,0,16,40");
    MPI_Type_create_indexed_block(3, 2, shifts, MPI_INT, &block);
    say("block", "datatype", RAW(block), "combiner=8 args=3,2,0,0 array=0,4,9");
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &hblock);
    say("hblock", "datatype", RAW(hblock), "combiner=9 args=3,2,0,0 array=0,16,40");
    olds[0] = MPI_INT;
    olds[1] = vector;
    olds[2] = MPI_CHAR;
    MPI_Type_create_struct(3, lengths, bytes, olds, &structure);
    say("structure", "datatype", RAW(structure), "combiner=10 args=3,0,0,0 lengths=1,2,3,0,16,40 olds=@int,@vector,@char");
    say("char", "datatype", RAW((MPI_Datatype){MPI_CHAR}), "name=MPI_CHAR size=1");
    MPI_Type_create_resized(MPI_INT, -4, 24, &resized);
    MPI_Type_commit(&resized);
    say("resized", "datatype", RAW(resized), "combiner=13 args=-4,24,0,0 lb=-4 extent=24");
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &sub);
    say("sub", "datatype", RAW(sub), "combiner=11 args=2,%d,0,0 array=4,6,2,3,1,2", MPI_ORDER_C);
    MPI_Type_create_darray(3, rank, 2, sizes, dist, dargs, grid, MPI_ORDER_FORTRAN, MPI_INT, &dar);
    say("dar", "datatype", RAW(dar), "combiner=12 args=2,%d,3,%d array=4,6,%d,%d,%d,2,3,1", MPI_ORDER_FORTRAN, rank, dist[0], dist[1], dargs[0]);
    MPI_Type_dup(vector, &dup);
    say("tdup", "datatype", RAW(dup), "combiner=2 parent=@vector committed=1");
    MPI_Type_create_f90_integer(5, &f90);
    if (f90 != MPI_INT && f90 != MPI_INTEGER)
        say("f90", "datatype", RAW(f90), "predefined=1");

    /* The old type was freed; the library returns its handle again, which must be freed once more. */
    MPI_Type_contiguous(2, MPI_FLOAT, &nested);
    {
        MPI_Datatype outer;
        uint64_t inner = RAW(nested);
        MPI_Type_vector(2, 1, 2, nested, &outer);
        MPI_Type_free(&nested);
        MPI_Type_get_contents(outer, 3, 0, 1, integers, addresses, contents);
        if (RAW(contents[0]) == inner) {
            say("inner", "datatype", inner, "combiner=3 args=2,0,0,0 life=1 handles=1 users=1");
        } else {
            say("inner", "datatype", inner, "combiner=3 args=2,0,0,0 life=3 users=2 freed_by=MPI_Type_free");
            say("equal", "datatype", RAW(contents[0]), "combiner=2 parent=@inner made_by=MPI_Type_get_contents");
        }
        say("outer", "datatype", RAW(outer), "combiner=4 parent=@inner");
    }
    MPI_Type_get_contents(structure, 4, 3, 3, integers, addresses, contents);
    say("again", "datatype", RAW(vector), "handles=%d", contents[1] == vector ? 2 : 1);
    if (contents[1] != vector)
        say("other", "datatype", RAW(contents[1]), "combiner=2 parent=@vector made_by=MPI_Type_get_contents");
}

static void function(void *in, void *inout, int *n, MPI_Datatype *type)
{
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
}

static void on_file_error(MPI_File *file, int *code, ...)
{
}

static void small(void)
{
    MPI_Op op, gone;
    MPI_Errhandler errors, files, got;
    MPI_Comm comm;
    MPI_Info info, copy;
    uint64_t was;

    MPI_Op_create(function, 0, &op);
    say("op", "op", RAW(op), "function=%" PRIu64 " commutative=0 predefined=0 made_by=MPI_Op_create", (uint64_t)(uintptr_t)function);
    say("sum", "op", RAW((MPI_Op){MPI_SUM}), "name=MPI_SUM commutative=1 predefined=1");
    MPI_Op_create(function, 1, &gone);
    was = RAW(gone);
    MPI_Op_free(&gone);
    say("gone", "op", was, "life=3 commutative=1");

    MPI_Comm_create_errhandler(on_error, &errors);
    MPI_File_create_errhandler(on_file_error, &files);
    say("files", "errhandler", RAW(files), "kind=2 function=%" PRIu64 "", (uint64_t)(uintptr_t)on_file_error);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, errors);
    say("errors", "errhandler", RAW(errors), "kind=1 function=%" PRIu64 " life=1", (uint64_t)(uintptr_t)on_error);
    say("erring", "comm", RAW(comm), "errhandler=@errors");
    MPI_Errhandler_free(&errors);
    MPI_Comm_get_errhandler(comm, &got);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    say("return", "errhandler", RAW((MPI_Errhandler){MPI_ERRORS_RETURN}), "name=MPI_ERRORS_RETURN predefined=1");

    MPI_Info_create(&info);
    MPI_Info_set(info, "first", "1");
    MPI_Info_set(info, "second", "two words");
    MPI_Info_set(info, "third", "3");
    MPI_Info_set(info, "first", "one");
    MPI_Info_delete(info, "third");
    MPI_Info_dup(info, &copy);
    MPI_Info_set(copy, "more", "x");
    say("info", "info", RAW(info), "pairs=first:one;second:two_words; count=2");
    say("copy", "info", RAW(copy), "pairs=first:one;second:two_words;more:x; parent=@info");
}

static void files(void)
{
    MPI_File file, closed;
    MPI_Info info;
    MPI_Datatype type;
    char name[4096];
    uint64_t was;

    snprintf(name, sizeof name, "%s/data", getenv("OBJECTS_DIR"));
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Info_set(info, "cb_nodes", "9");
    say("hints", "info", RAW(info), "pairs=cb_nodes:9;");
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    say("filetype", "datatype", RAW(type), "combiner=4");
    MPI_File_set_view(file, 16, MPI_INT, type, "native", MPI_INFO_NULL);
    MPI_File_set_atomicity(file, 1);
    say("file", "file", RAW(file), "same=file_of_all name=%s amode=%d parent=@world hints=cb_nodes:1; info=@hints disp=16 etype=@int filetype=@filetype datarep=native atomicity=1",
        name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &closed);
    opened = file;
    was = RAW(closed);
    MPI_File_close(&closed);
    say("closed", "file", was, "life=3 parent=@self freed_by=MPI_File_close");
}

static void windows(void)
{
    static int memory[8];
    MPI_Win create, fenced, locked, dynamic, posted;
    MPI_Group world, others;
    void *base;
    int value = 1, out[2], n = 0, r;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (r = 0; r < size; r++)
        if (r != rank)
            out[n++] = r;
    MPI_Group_incl(world, n, out, &others);

    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &create);
    MPI_Win_set_name(create, "mine");
    say("win", "win", RAW(create), "base=%" PRIu64 " bytes=32 unit=4 same=win_of_all flavour=1 parent=@world epochs=0 name=mine", (uint64_t)(uintptr_t)memory);
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &fenced);
    MPI_Win_fence(0, fenced);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, fenced);
    MPI_Accumulate(&value, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, MPI_SUM, fenced);
    say("fenced", "win", RAW(fenced), "base=%" PRIu64 " bytes=64 unit=8 same=fenced_of_all flavour=2 epochs=1 last_sync=MPI_Win_fence puts=1 accumulates=1 pending=2", (uint64_t)(uintptr_t)base);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &locked);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, locked);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, locked);
    MPI_Get(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, locked);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, locked);
    MPI_Win_flush(rank, locked);
    say("locked", "win", RAW(locked), "same=locked_of_all epochs=8 locks=%d,%d last_sync=MPI_Win_lock puts=1 gets=1 pending=1", (rank + 1) % size, rank);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_attach(dynamic, memory, 16);
    MPI_Win_attach(dynamic, memory + 4, 16);
    MPI_Win_detach(dynamic, memory);
    say("dynamic", "win", RAW(dynamic), "same=dynamic_of_all flavour=3 attached=%" PRIu64 ",16 epochs=0", (uint64_t)(uintptr_t)(memory + 4));
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &posted);
    MPI_Win_post(others, 0, posted);
    MPI_Win_start(others, 0, posted);
    say("others", "group", RAW(others), "size=%d", n);
    say("posted", "win", RAW(posted), "same=posted_of_all epochs=6 start=@others post=@others start_members=%d,%d last_sync=MPI_Win_start", out[0], out[1]);
    hand_over("epochs");
    made[0] = create;
    made[1] = fenced;
    made[2] = locked;
    made[3] = dynamic;
    made[4] = posted;
    MPI_Win_complete(posted);
    MPI_Win_wait(posted);
    MPI_Win_unlock((rank + 1) % size, locked);
    MPI_Win_unlock(rank, locked);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, fenced);
}

int main(int argc, char **argv)
{
    int i;
    MPI_Init(&argc, &argv);
    open_said();
    comms();
    datatypes();
    small();
    files();
    windows();
    fclose(said);
    hand_over("image");
    for (i = 0; i < 5; i++)
        MPI_Win_free(&made[i]);
    MPI_File_close(&opened);
    MPI_Finalize();
    return 0;
}
