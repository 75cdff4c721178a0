/* Variables that are bound to a file count every call of a data access function.
 *
 * After each call all of the file's variables are read: the call counts once, with its bytes, if it succeeded,
 * and not at all if it failed. The variables of another open file do not change.
 */
#include "tinfo.h"

#include <math.h>

enum { COUNT = 3, BYTES = COUNT * 8 * (int) sizeof(int) };

static MPI_T_pvar_session session;
static MPI_Datatype pairs; /* 8 ints with gaps */
static int buffer[COUNT * 16];
static double began;

/* All variables of one file, and their expected values. */
struct watched {
    struct gauge reads, writes, read_bytes, written_bytes, time;
    double n_reads, n_writes, n_read_bytes, n_written_bytes, last_time;
};

static int open_one(struct gauge *g, const char *name, int class, MPI_File *file)
{
    struct pvar p;
    int open = pvar_find(name, class, &p) && p.bind == MPI_T_BIND_MPI_FILE && gauge_open(g, session, &p, file);
    CHECKF("FG-1", open && g->count == 1, "there is a scalar variable that can be bound to a file", "%s", name);
    return open && MPI_T_pvar_start(session, g->handle) == MPI_SUCCESS;
}

static int watch(struct watched *w, MPI_File *file)
{
    memset(w, 0, sizeof *w);
    return open_one(&w->reads, "mpiscope_file_reads", MPI_T_PVAR_CLASS_COUNTER, file)
        && open_one(&w->writes, "mpiscope_file_writes", MPI_T_PVAR_CLASS_COUNTER, file)
        && open_one(&w->read_bytes, "mpiscope_file_bytes_read", MPI_T_PVAR_CLASS_COUNTER, file)
        && open_one(&w->written_bytes, "mpiscope_file_bytes_written", MPI_T_PVAR_CLASS_COUNTER, file)
        && open_one(&w->time, "mpiscope_file_time", MPI_T_PVAR_CLASS_TIMER, file);
}

static double value(struct gauge *g)
{
    return gauge_read(g) == MPI_SUCCESS ? number_at(g->variable.type, g->buffer, 0) : -1;
}

static void is(const char *label, const char *call, struct gauge *g, double expected)
{
    double seen = value(g);
    CHECKF(label, seen == expected, "the bytes of a data access call are counted for its file",
           "%s is %g, not %g after %s", g->variable.name, seen, expected, call);
}

static void all_are(const char *label, const char *call, struct watched *w)
{
    is(label, call, &w->reads, w->n_reads);
    is(label, call, &w->writes, w->n_writes);
    is(label, call, &w->read_bytes, w->n_read_bytes);
    is(label, call, &w->written_bytes, w->n_written_bytes);
}

static int succeeded;

/* The call took part of the time that has passed; a failed one is not counted. */
static void after(const char *label, const char *call, struct watched *w, int result, int reads, int writes, int timed)
{
    double time = value(&w->time), wall = MPI_Wtime() - began;
    if (result == MPI_SUCCESS) {
        w->n_reads += reads;
        w->n_writes += writes;
        w->n_read_bytes += reads * BYTES;
        w->n_written_bytes += writes * BYTES;
        succeeded += timed;
    }
    all_are(label, call, w);
    timed = timed && result == MPI_SUCCESS;
    CHECKF("FG-2", (timed ? time > w->last_time : time == w->last_time) && time < wall,
           "the time of a file grows only with calls that read, write or synchronize it",
           "%g s after %g s, of %g s, after %s", time, w->last_time, wall, call);
    w->last_time = time;
}

#define READ(name, ...) after("FG-3", #name, w, name(__VA_ARGS__), 1, 0, 1)
#define WRITE(name, ...) after("FG-4", #name, w, name(__VA_ARGS__), 0, 1, 1)
#define TIME(name, ...) after("FG-5", #name, w, name(__VA_ARGS__), 0, 0, 1)
#define NOTHING(name, ...) after("FG-6", #name, w, name(__VA_ARGS__), 0, 0, 0)
#define WAIT() NOTHING(MPI_Wait, &request, &status)
#define DATA buffer, COUNT, pairs

static void check_blocking(MPI_File file, struct watched *w)
{
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset) conform_rank * BYTES;
    READ(MPI_File_read_at, file, mine, DATA, &status);
    /* In Open MPI some reads beyond the end of a file never return. */
    NOTHING(MPI_File_set_size, file, 1 << 20);
    WRITE(MPI_File_write_at, file, mine, DATA, &status);
    READ(MPI_File_read_at, file, mine, DATA, &status);
    WRITE(MPI_File_write_at_all, file, mine, DATA, &status);
    READ(MPI_File_read_at_all, file, mine, DATA, &status);
    NOTHING(MPI_File_seek, file, mine, MPI_SEEK_SET);
    WRITE(MPI_File_write, file, DATA, &status);
    NOTHING(MPI_File_seek, file, mine, MPI_SEEK_SET);
    READ(MPI_File_read, file, DATA, &status);
    WRITE(MPI_File_write_all, file, DATA, &status);
    READ(MPI_File_read_all, file, DATA, MPI_STATUS_IGNORE);
    TIME(MPI_File_sync, file);
}

static void check_shared(MPI_File file, struct watched *w)
{
    MPI_Status status;
    NOTHING(MPI_File_seek_shared, file, 0, MPI_SEEK_SET);
    WRITE(MPI_File_write_shared, file, DATA, &status);
    READ(MPI_File_read_shared, file, DATA, &status);
    WRITE(MPI_File_write_ordered, file, DATA, &status);
    READ(MPI_File_read_ordered, file, DATA, &status);
}

static void check_split(MPI_File file, struct watched *w)
{
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset) conform_rank * BYTES;
    WRITE(MPI_File_write_at_all_begin, file, mine, DATA);
    TIME(MPI_File_write_at_all_end, file, buffer, &status);
    READ(MPI_File_read_at_all_begin, file, mine, DATA);
    TIME(MPI_File_read_at_all_end, file, buffer, &status);
    WRITE(MPI_File_write_all_begin, file, DATA);
    TIME(MPI_File_write_all_end, file, buffer, &status);
    READ(MPI_File_read_all_begin, file, DATA);
    TIME(MPI_File_read_all_end, file, buffer, &status);
    WRITE(MPI_File_write_ordered_begin, file, DATA);
    TIME(MPI_File_write_ordered_end, file, buffer, &status);
    READ(MPI_File_read_ordered_begin, file, DATA);
    TIME(MPI_File_read_ordered_end, file, buffer, &status);
}

static void check_nonblocking(MPI_File file, struct watched *w)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset) conform_rank * BYTES;
    WRITE(MPI_File_iwrite_at, file, mine, DATA, &request);
    WAIT();
    READ(MPI_File_iread_at, file, mine, DATA, &request);
    WAIT();
    WRITE(MPI_File_iwrite, file, DATA, &request);
    WAIT();
    READ(MPI_File_iread, file, DATA, &request);
    WAIT();
    WRITE(MPI_File_iwrite_shared, file, DATA, &request);
    WAIT();
    READ(MPI_File_iread_shared, file, DATA, &request);
    WAIT();
    WRITE(MPI_File_iwrite_at_all, file, mine, DATA, &request);
    WAIT();
    READ(MPI_File_iread_at_all, file, mine, DATA, &request);
    WAIT();
    WRITE(MPI_File_iwrite_all, file, DATA, &request);
    WAIT();
    READ(MPI_File_iread_all, file, DATA, &request);
    WAIT();
}

#if MPI_VERSION >= 4
static void check_large(MPI_File file, struct watched *w)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    WRITE(MPI_File_write_at_c, file, 0, DATA, &status);
    READ(MPI_File_read_at_all_c, file, 0, DATA, &status);
    WRITE(MPI_File_write_all_begin_c, file, DATA);
    TIME(MPI_File_write_all_end, file, buffer, &status);
    READ(MPI_File_iread_at_c, file, 0, DATA, &request);
    WAIT();
}
#endif

static MPI_File open_file(const char *which, int mode)
{
    const char *dir = getenv("MPISCOPE_TEST_TMP");
    char path[4096];
    MPI_File file = MPI_FILE_NULL;
    snprintf(path, sizeof path, "%s/mpiscope_files_%s_%d", dir ? dir : "/tmp", which, conform_size);
    if (MPI_File_open(MPI_COMM_WORLD, path, mode | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file)
        == MPI_SUCCESS)
        MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    return file;
}

/* Handles that are not open files. */
static void check_refused(const char *label, MPI_File file, const char *what)
{
    struct pvar p;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count;
    if (pvar_find("mpiscope_file_reads", MPI_T_PVAR_CLASS_COUNTER, &p))
        CHECK_RC(label, MPI_T_pvar_handle_alloc(session, p.index, &file, &handle, &count), MPI_T_ERR_INVALID_HANDLE,
                 what);
}

static void check_strangers(void)
{
    check_refused("FG-7", MPI_FILE_NULL, "a variable is not bound to MPI_FILE_NULL");
    for (int i = 0; i < FOREIGN; i++)
        check_refused("FG-8", (MPI_File) foreign(i), "a variable is not bound to an invalid file handle");
}

/* After the file is closed, its value stays readable or the read fails; it never becomes that of another file. */
static void check_closed(struct watched *w)
{
    MPI_File file = open_file("third", MPI_MODE_RDWR), closed = file;
    struct watched third;
    MPI_Status status;
    if (file == MPI_FILE_NULL || !watch(&third, &file))
        return;
    MPI_File_write_at(file, 0, DATA, &status);
    MPI_File_close(&file);
    check_refused("FG-9", closed, "a variable is not bound to a closed file");
    for (int i = 0; i < 3; i++) {
        int code = gauge_read(&third.writes);
        CHECKF("FG-10", code == MPI_T_ERR_INVALID_HANDLE
               || (code == MPI_SUCCESS && number_at(third.writes.variable.type, third.writes.buffer, 0) == 1),
               "the value of a closed file is its last one, or none", "%s", code_name(code));
        file = open_file("third", MPI_MODE_RDWR);
        MPI_File_write_at(file, 0, DATA, &status);
        MPI_File_write_at(file, 0, DATA, &status);
        all_are("FG-11", "calls on another file", w);
        MPI_File_close(&file);
    }
}

/* The control variable for the number of freed objects that are kept; -1 if there is none. */
static int kept(int value, int *code)
{
    MPI_T_cvar_handle handle;
    int index, count, before = -1;
    if (MPI_T_cvar_get_index("mpiscope_tombstones", &index) != MPI_SUCCESS
        || MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return -1;
    MPI_T_cvar_read(handle, &before);
    *code = MPI_T_cvar_write(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    return before;
}

/* If no freed objects are kept, their values are lost with them. */
static void check_forgotten(void)
{
    MPI_File file = open_file("fifth", MPI_MODE_RDWR);
    struct watched fifth;
    int code = MPI_SUCCESS, before = kept(-1, &code);
    CHECKF("FG-15", before >= 0 && code == MPI_T_ERR_INVALID, "a negative number of freed objects is rejected", "%d, %s",
           before, code_name(code));
    if (file == MPI_FILE_NULL || !watch(&fifth, &file))
        return;
    CHECKF("FG-15", kept(0, &code) == before && code == MPI_SUCCESS, "a rejected value changes nothing", "not %d, %s",
           before, code_name(code));
    MPI_File_close(&file);
    CHECK_RC("FG-16", gauge_read(&fifth.reads), MPI_T_ERR_INVALID_HANDLE,
             "if no freed objects are kept, the variable of a closed file has no value");
    CHECKF("FG-16", kept(before, &code) == 0 && code == MPI_SUCCESS, "the number of freed objects that are kept is read "
           "as it was written", "%s", code_name(code));
}

/* Intel MPI's library of the standard ABI aborts when a call on a file fails, whatever the error handler. */
static int failure_aborts(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
#ifdef MPI_ABI_VERSION
    return strstr(version, "Intel") != NULL;
#else
    return 0;
#endif
}

/* A failed call reads nothing: from a file that is open only for writing. */
static void check_failed(void)
{
    MPI_File file;
    struct watched fourth, *w = &fourth;
    MPI_Status status;
    if (failure_aborts()) {
        skip("FG-12", "a failed call on a file aborts the program");
        return;
    }
    file = open_file("fourth", MPI_MODE_WRONLY);
    if (file != MPI_FILE_NULL && watch(w, &file)) {
        int result = MPI_File_read_at(file, 0, DATA, &status);
        CHECKF("FG-12", result != MPI_SUCCESS, "reading a file that is open only for writing fails", "code %d", result);
        after("FG-12", "a read that failed", w, result, 1, 0, 1);
        WRITE(MPI_File_write_at, file, 0, DATA, &status);
    }
    if (file != MPI_FILE_NULL)
        MPI_File_close(&file);
}

static void check_sessions(struct watched *w)
{
    double before = value(&w->written_bytes);
    MPI_T_pvar_reset(session, w->written_bytes.handle);
    is("FG-13", "a reset", &w->written_bytes, 0);
    MPI_T_pvar_write(session, w->written_bytes.handle, &(unsigned long long) { (unsigned long long) before });
    is("FG-13", "a write", &w->written_bytes, before);
}

static void alone(void)
{
    struct watched of_file, of_other;
    MPI_File file, other;
    MPI_T_pvar_session_create(&session);
    check_strangers();
    if (conform_phase == BETWEEN) {
        MPI_Type_vector(8, 1, 2, MPI_INT, &pairs);
        MPI_Type_commit(&pairs);
        file = open_file("first", MPI_MODE_RDWR);
        other = open_file("second", MPI_MODE_RDWR);
        began = MPI_Wtime();
        int works = CHECK("FG-14", file != MPI_FILE_NULL && other != MPI_FILE_NULL, "files can be opened")
            && watch(&of_file, &file) && watch(&of_other, &other);
        if (works) {
            check_blocking(file, &of_file);
            check_shared(file, &of_file);
            check_split(file, &of_file);
            check_nonblocking(file, &of_file);
#if MPI_VERSION >= 4
            check_large(file, &of_file);
#endif
            CHECKF("FG-14", succeeded >= 36, "the data access functions work", "%d calls", succeeded);
            check_sessions(&of_file);
            check_closed(&of_file);
            all_are("FG-11", "calls on another file", &of_other);
            CHECK("FG-11", value(&of_other.time) == 0, "calls on another file do not count for this one");
            check_forgotten();
            check_failed();
        }
        MPI_File_close(&other);
        MPI_File_close(&file);
        MPI_Type_free(&pairs);
    }
    MPI_T_pvar_session_free(&session);
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "file_gauges", each, alone, NULL };
    return conform_main(argc, argv, &group);
}
