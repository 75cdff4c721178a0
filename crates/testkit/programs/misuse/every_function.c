/* Every function that takes a handle, with a wrong handle: null, freed, of another kind, or no handle at all.
 *
 * cases.inc, generated from the table of functions, has one row per function and handle: CASE(function, position of the wrong handle,
 * its kind, the parameters). All parameters of all functions are words, so that every function is called in the same way; one letter
 * encodes the value of each word:
 *
 *   C G D Q M O E I F W S   a handle: communicator, group, datatype, request, message, operation, error handler, info, file, window, session
 *   c g d q m o e i f w s   the address of such handles
 *   1 0 P t k               one, zero, MPI_PROC_NULL, a tag, a string
 *   p z                     memory to write to, memory filled with zeros
 *
 * Each call is made in a separate process, forked without the C library so that nothing blocks, and may take half a second of
 * processor time and as many seconds as the second argument; the first argument is the content of uninitialized memory. One line per
 * call: the class of its result, or the signal that killed the process. */
#define _GNU_SOURCE
#include <mpi.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uintptr_t word;
typedef word (*function)(word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word);

#define KINDS "CGDQMOEIFWS"
enum { RIGHT, EMPTY, FREED, OTHER, NONE, WAYS };
static const char *const ways[WAYS] = {"right", "null", "freed", "of another kind", "none"};

static word handles[sizeof KINDS][WAYS];
static size_t sizes[sizeof KINDS];
static char room[1 << 16], noughts[1 << 16];
/* For handles that are addresses: a meaningless object. */
static long nothing[8192];
static int *verdict;
static word filling;
static unsigned patience = 1;

static const struct {
    const char *name;
    int wrong;
    char kind;
    const char *parameters;
} cases[] = {
#define CASE(name, wrong, kind, parameters) {#name, wrong, kind, parameters},
#include "cases.inc"
#undef CASE
};

static int at(char kind)
{
    return (int)(strchr(KINDS, kind) - KINDS);
}

static void put(char kind, int way, const void *handle, size_t size)
{
    sizes[at(kind)] = size;
    handles[at(kind)][way] = 0;
    memcpy(&handles[at(kind)][way], handle, size);
}
#define PUT(kind, way, handle) put(kind, way, &(handle), sizeof(handle))
#define NULLS(kind, type, null) do { type empty = null; PUT(kind, EMPTY, empty); PUT(kind, RIGHT, empty); PUT(kind, FREED, empty); } while (0)

static int ignore(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    return 0;
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
}

/* One object of each kind; way RIGHT keeps it, way FREED frees it afterward. */
static void objects(int way)
{
    static char file_name[32], place[1024];
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Op op;
    MPI_Errhandler handler;
    MPI_Info info;
    MPI_Win win;
    MPI_File file;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm), PUT('C', way, comm);
    MPI_Comm_group(comm, &group), PUT('G', way, group);
    MPI_Type_contiguous(3, MPI_INT, &type), MPI_Type_commit(&type), PUT('D', way, type);
    MPI_Send_init(place, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &request), PUT('Q', way, request);
    MPI_Op_create(add, 1, &op), PUT('O', way, op);
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)(void *)ignore, &handler), PUT('E', way, handler);
    MPI_Info_create(&info), PUT('I', way, info);
    MPI_Win_create(place, sizeof place, 1, MPI_INFO_NULL, comm, &win), PUT('W', way, win);
    snprintf(file_name, sizeof file_name, "file.%d", way);
    MPI_File_open(comm, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), PUT('F', way, file);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    if (way == FREED) {
        MPI_File_close(&file), MPI_Win_free(&win), MPI_Info_free(&info), MPI_Errhandler_free(&handler), MPI_Op_free(&op);
        MPI_Request_free(&request), MPI_Type_free(&type), MPI_Group_free(&group), MPI_Comm_free(&comm);
    }
}

static word parameter(char letter, int way)
{
    static word many[sizeof KINDS * WAYS][8];
    switch (letter) {
    case '1': return 1;
    case '0': return 0;
    case 'P': return (word)(intptr_t)MPI_PROC_NULL;
    case 't': return 7;
    case 'k': return (word)"key";
    case 'p': return (word)room;
    case 'z': return (word)noughts;
    }
    if (strchr(KINDS, letter))
        return handles[at(letter)][way];
    int kind = at((char)(letter - 'a' + 'A'));
    char *array = (char *)many[kind * WAYS + way];
    for (size_t i = 0; i < sizeof many[0] / sizeof(word); i++)
        memcpy(array + i * sizes[kind], &handles[kind][way], sizes[kind]);
    return (word)array;
}

static void call(size_t which, int way, function f)
{
    word p[16] = {0};
    for (int i = 0; cases[which].parameters[i]; i++)
        p[i] = parameter(cases[which].parameters[i], i == cases[which].wrong ? way : RIGHT);
    int code = (int)f(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]);
    int class = 0;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    *verdict = class;
}

/* The contents that a library finds in memory that it has not written or has freed: on the stack, */
static __attribute__((noinline)) void fill_the_stack(void)
{
    volatile word below[1 << 13];
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        below[i] = filling;
    __asm__ volatile("" : : "r"(below) : "memory");
}

/* and in freed memory. */
static void take_what_was_freed(void)
{
    for (size_t size = sizeof(word); size <= 2048; size += sizeof(word) * 2)
        for (int n = 0; n < 200; n++) {
            volatile word *taken = malloc(size);
            for (size_t i = 0; taken && i < size / sizeof(word); i++)
                taken[i] = filling;
        }
}

static void in_a_process_of_its_own(size_t which, int way, function f)
{
    *verdict = -1;
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        struct itimerval time = {{0, 0}, {0, 500000}};
        setitimer(ITIMER_PROF, &time, NULL);
        /* A sleeping process uses no processor time. */
        alarm(patience);
        fill_the_stack();
        call(which, way, f);
        _exit(0);
    }
    int how = 0;
    waitpid(child, &how, 0);
    printf("%s %d %c %s: ", cases[which].name, cases[which].wrong, cases[which].kind, ways[way]);
    if (WIFSIGNALED(how))
        printf("signal %d\n", WTERMSIG(how));
    else if (*verdict < 0)
        printf("status %d\n", WEXITSTATUS(how));
    else
        printf("class %d\n", *verdict);
}

/* A freed handle's number may belong to a new object: then it is valid. */
static void used_again(void)
{
    MPI_Group all, group, next;
    int one[1] = {0}, size = -1;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, one, &group);
    MPI_Group freed = group;
    MPI_Group_free(&group);
    MPI_Group_excl(all, 0, one, &next);
    int same = freed == next;
    int code = same ? MPI_Group_size(freed, &size) : MPI_SUCCESS;
    MPI_Comm comm = MPI_COMM_NULL;
    int made = MPI_Comm_create(MPI_COMM_WORLD, next, &comm);
    printf("MPI_Group_size 0 G used again: class %d of %d, %d %d\n", code, same ? size : 0, made, comm != MPI_COMM_NULL);
    MPI_Group_free(&next);
    MPI_Group_free(&all);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    filling = argc > 1 && !strcmp(argv[1], "address") ? (word)noughts : argc > 1 ? (word)-1 / 255 * (word)atoi(argv[1]) : 0;
    patience = argc > 2 ? (unsigned)atoi(argv[2]) : patience;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    verdict = mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    used_again();
    NULLS('C', MPI_Comm, MPI_COMM_NULL);
    NULLS('G', MPI_Group, MPI_GROUP_NULL);
    NULLS('D', MPI_Datatype, MPI_DATATYPE_NULL);
    NULLS('Q', MPI_Request, MPI_REQUEST_NULL);
    NULLS('M', MPI_Message, MPI_MESSAGE_NULL);
    NULLS('O', MPI_Op, MPI_OP_NULL);
    NULLS('E', MPI_Errhandler, MPI_ERRHANDLER_NULL);
    NULLS('I', MPI_Info, MPI_INFO_NULL);
    NULLS('F', MPI_File, MPI_FILE_NULL);
    NULLS('W', MPI_Win, MPI_WIN_NULL);
#ifdef MPI_SESSION_NULL
    NULLS('S', MPI_Session, MPI_SESSION_NULL);
#endif
    objects(RIGHT);
    objects(FREED);
    take_what_was_freed();
    for (size_t kind = 0; kind < sizeof KINDS - 1; kind++) {
        /* A communicator for everything, a group for a communicator. */
        handles[kind][OTHER] = handles[at(KINDS[kind] == 'C' ? 'G' : 'C')][RIGHT];
        /* Where handles are numbers, an address would be a different number in each run. */
        word none = 0x5ec0ffe0;
        handles[kind][NONE] = sizes[kind] == sizeof(int) ? none : (word)nothing;
    }
    for (size_t which = 0; which < sizeof cases / sizeof *cases; which++) {
        function f = (function)dlsym(RTLD_DEFAULT, cases[which].name);
        if (!f || !sizes[at(cases[which].kind)])
            continue;
        /* At an address that was freed or belongs to another object, the library finds random contents. */
        int numbers = sizes[at(cases[which].kind)] == sizeof(int);
        size_t length = strlen(cases[which].name);
        int twin = !strcmp(cases[which].name + length - 2, "_c");
        for (int way = EMPTY; way < WAYS; way++)
            if ((numbers || way == EMPTY || way == NONE) && (!twin || way >= OTHER))
                in_a_process_of_its_own(which, way, f);
    }
    puts("all: asked");
    fflush(stdout);
    /* After what the calls did to shared memory, do not finalize MPI. */
    _exit(0);
}
