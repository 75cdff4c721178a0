/* Common code for programs about variables: queries them through the interface and keeps the results in a struct. */
#ifndef TINFO_H
#define TINFO_H

#include "conform.h"

#include <limits.h>
#include <stdint.h>

#define NAME_MAX_LENGTH 512
#define DESC_MAX_LENGTH 8192

struct pvar {
    int index, verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum names;
    char name[NAME_MAX_LENGTH], desc[DESC_MAX_LENGTH];
    int name_len, desc_len;
};

struct cvar {
    int index, verbosity, bind, scope;
    MPI_Datatype type;
    MPI_T_enum names;
    char name[NAME_MAX_LENGTH], desc[DESC_MAX_LENGTH];
    int name_len, desc_len;
};

static const struct { int value; const char *name; } classes[] = {
    { MPI_T_PVAR_CLASS_STATE, "STATE" },
    { MPI_T_PVAR_CLASS_LEVEL, "LEVEL" },
    { MPI_T_PVAR_CLASS_SIZE, "SIZE" },
    { MPI_T_PVAR_CLASS_PERCENTAGE, "PERCENTAGE" },
    { MPI_T_PVAR_CLASS_HIGHWATERMARK, "HIGHWATERMARK" },
    { MPI_T_PVAR_CLASS_LOWWATERMARK, "LOWWATERMARK" },
    { MPI_T_PVAR_CLASS_COUNTER, "COUNTER" },
    { MPI_T_PVAR_CLASS_AGGREGATE, "AGGREGATE" },
    { MPI_T_PVAR_CLASS_TIMER, "TIMER" },
    { MPI_T_PVAR_CLASS_GENERIC, "GENERIC" },
};
#define CLASSES ((int) (sizeof classes / sizeof classes[0]))

static inline int is_class(int value)
{
    for (int i = 0; i < CLASSES; i++)
        if (classes[i].value == value)
            return 1;
    return 0;
}

static inline int is_verbosity(int value)
{
    static const int all[] = {
        MPI_T_VERBOSITY_USER_BASIC, MPI_T_VERBOSITY_USER_DETAIL, MPI_T_VERBOSITY_USER_ALL,
        MPI_T_VERBOSITY_TUNER_BASIC, MPI_T_VERBOSITY_TUNER_DETAIL, MPI_T_VERBOSITY_TUNER_ALL,
        MPI_T_VERBOSITY_MPIDEV_BASIC, MPI_T_VERBOSITY_MPIDEV_DETAIL, MPI_T_VERBOSITY_MPIDEV_ALL,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] == value)
            return 1;
    return 0;
}

static inline int is_bind(int value)
{
    static const int all[] = {
        MPI_T_BIND_NO_OBJECT, MPI_T_BIND_MPI_COMM, MPI_T_BIND_MPI_DATATYPE, MPI_T_BIND_MPI_ERRHANDLER,
        MPI_T_BIND_MPI_FILE, MPI_T_BIND_MPI_GROUP, MPI_T_BIND_MPI_OP, MPI_T_BIND_MPI_REQUEST, MPI_T_BIND_MPI_WIN,
        MPI_T_BIND_MPI_MESSAGE, MPI_T_BIND_MPI_INFO, MPI_T_BIND_MPI_SESSION,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] == value)
            return 1;
    return 0;
}

/* Size of one element of the datatypes that the interface may use (Table 19), 0 for any other. MPI_Type_size may not
 * be called before MPI_Init. */
static inline size_t type_size(MPI_Datatype type)
{
    if (type == MPI_INT || type == MPI_UNSIGNED)
        return sizeof(int);
    if (type == MPI_UNSIGNED_LONG)
        return sizeof(unsigned long);
    if (type == MPI_UNSIGNED_LONG_LONG)
        return sizeof(unsigned long long);
    if (type == MPI_INT32_T || type == MPI_UINT32_T)
        return 4;
    if (type == MPI_INT64_T || type == MPI_UINT64_T)
        return 8;
    if (type == MPI_COUNT)
        return sizeof(MPI_Count);
    if (type == MPI_CHAR)
        return 1;
    if (type == MPI_DOUBLE)
        return sizeof(double);
    return 0;
}

static inline int is_unsigned(MPI_Datatype type)
{
    return type == MPI_UNSIGNED || type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG;
}

/* Element `i` of a buffer as a number. */
static inline double number_at(MPI_Datatype type, const void *buffer, int i)
{
    if (type == MPI_INT)
        return ((const int *) buffer)[i];
    if (type == MPI_UNSIGNED)
        return ((const unsigned *) buffer)[i];
    if (type == MPI_UNSIGNED_LONG)
        return (double) ((const unsigned long *) buffer)[i];
    if (type == MPI_UNSIGNED_LONG_LONG)
        return (double) ((const unsigned long long *) buffer)[i];
    if (type == MPI_DOUBLE)
        return ((const double *) buffer)[i];
    if (type == MPI_COUNT)
        return (double) ((const MPI_Count *) buffer)[i];
    if (type == MPI_CHAR)
        return ((const char *) buffer)[i];
    return type_size(type) == 4 ? ((const int32_t *) buffer)[i] : (double) ((const int64_t *) buffer)[i];
}

/* One of the layer's own. A variable of the library may become inactive, and then it cannot be read. */
static inline int is_own(const char *name)
{
    return !strncmp(name, "mpiscope", 8) || !strcmp(name, "MPI_T_UMQ_LENGTH");
}

static inline int pvar_count(void)
{
    int n = 0;
    MPI_T_pvar_get_num(&n);
    return n;
}

static inline int cvar_count(void)
{
    int n = 0;
    MPI_T_cvar_get_num(&n);
    return n;
}

static inline int pvar_query(int index, struct pvar *p)
{
    memset(p, 0, sizeof *p);
    p->index = index;
    p->name_len = sizeof p->name;
    p->desc_len = sizeof p->desc;
    p->readonly = p->continuous = p->atomic = -77;
    return MPI_T_pvar_get_info(index, p->name, &p->name_len, &p->verbosity, &p->class, &p->type, &p->names, p->desc,
                               &p->desc_len, &p->bind, &p->readonly, &p->continuous, &p->atomic);
}

static inline int cvar_query(int index, struct cvar *c)
{
    memset(c, 0, sizeof *c);
    c->index = index;
    c->name_len = sizeof c->name;
    c->desc_len = sizeof c->desc;
    return MPI_T_cvar_get_info(index, c->name, &c->name_len, &c->verbosity, &c->type, &c->names, c->desc, &c->desc_len,
                               &c->bind, &c->scope);
}

/* Looks up a variable by name and class; returns 0 if there is none. */
static inline int pvar_find(const char *name, int class, struct pvar *p)
{
    int index = -1;
    return MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS && pvar_query(index, p) == MPI_SUCCESS;
}

/* Objects to bind to, each in its own variable. Created on MPI_COMM_SELF, so that no other rank must participate. */
static struct {
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Errhandler errhandler;
    MPI_Group group;
    MPI_Op op;
    MPI_Info info;
    MPI_Request request;
    MPI_Win win;
    MPI_File file;
    int made, has_win, word;
} objects;

static inline void objects_make(void)
{
    if (conform_phase != BETWEEN || objects.made)
        return;
    objects.comm = MPI_COMM_WORLD;
    objects.type = MPI_INT;
    objects.errhandler = MPI_ERRORS_RETURN;
    objects.op = MPI_SUM;
    MPI_Comm_group(MPI_COMM_WORLD, &objects.group);
    MPI_Info_create(&objects.info);
    MPI_Recv_init(&objects.word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &objects.request);
    /* Open MPI 4 cannot create windows in a process that was started alone. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    objects.has_win = MPI_Win_create(&objects.word, sizeof objects.word, 1, MPI_INFO_NULL, MPI_COMM_SELF, &objects.win)
        == MPI_SUCCESS;
    objects.file = MPI_FILE_NULL;
    objects.made = 1;
}

static inline void objects_free(void)
{
    if (!objects.made)
        return;
    MPI_Group_free(&objects.group);
    MPI_Info_free(&objects.info);
    MPI_Request_free(&objects.request);
    if (objects.has_win)
        MPI_Win_free(&objects.win);
    objects.made = 0;
}

/* The place of the handle of an object of this kind; 1 in `usable` if a variable can be bound to it now. */
static inline void *object_of(int bind, int *usable)
{
    *usable = bind == MPI_T_BIND_NO_OBJECT || objects.made;
    if (bind == MPI_T_BIND_MPI_COMM)
        return &objects.comm;
    if (bind == MPI_T_BIND_MPI_DATATYPE)
        return &objects.type;
    if (bind == MPI_T_BIND_MPI_ERRHANDLER)
        return &objects.errhandler;
    if (bind == MPI_T_BIND_MPI_GROUP)
        return &objects.group;
    if (bind == MPI_T_BIND_MPI_OP)
        return &objects.op;
    if (bind == MPI_T_BIND_MPI_INFO)
        return &objects.info;
    if (bind == MPI_T_BIND_MPI_REQUEST)
        return &objects.request;
    if (bind == MPI_T_BIND_MPI_WIN && objects.has_win)
        return &objects.win;
    if (bind != MPI_T_BIND_NO_OBJECT)
        *usable = 0;
    return NULL;
}

/* A handle with the data needed to read it. */
struct gauge {
    struct pvar variable;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int count;
    void *buffer;           /* room for the value, followed by a canary */
    size_t bytes;
};

#define CANARY 0xA5
#define CANARY_BYTES 64

/* Allocates a handle on `object`; returns 0 on failure. */
static inline int gauge_open(struct gauge *g, MPI_T_pvar_session session, const struct pvar *variable, void *object)
{
    g->variable = *variable;
    g->session = session;
    g->handle = MPI_T_PVAR_HANDLE_NULL;
    g->count = -1;
    g->buffer = NULL;
    if (MPI_T_pvar_handle_alloc(session, variable->index, object, &g->handle, &g->count) != MPI_SUCCESS)
        return 0;
    if (g->count < 1 || type_size(variable->type) == 0)
        return MPI_T_pvar_handle_free(session, &g->handle), 0;
    g->bytes = (size_t) g->count * type_size(variable->type);
    g->buffer = malloc(g->bytes + CANARY_BYTES);
    memset(g->buffer, 0, g->bytes);
    memset((char *) g->buffer + g->bytes, CANARY, CANARY_BYTES);
    return 1;
}

static inline int gauge_read(struct gauge *g)
{
    return MPI_T_pvar_read(g->session, g->handle, g->buffer);
}

static inline int gauge_intact(const struct gauge *g)
{
    for (int i = 0; i < CANARY_BYTES; i++)
        if (((const unsigned char *) g->buffer)[g->bytes + (size_t) i] != CANARY)
            return 0;
    return 1;
}

/* Reads the value; returns the sum of all elements. */
static inline double gauge_sum(struct gauge *g)
{
    double sum = 0;
    if (gauge_read(g) != MPI_SUCCESS)
        return -1;
    for (int i = 0; i < g->count; i++)
        sum += number_at(g->variable.type, g->buffer, i);
    return sum;
}

static inline void gauge_close(struct gauge *g)
{
    MPI_T_pvar_handle_free(g->session, &g->handle);
    free(g->buffer);
    g->buffer = NULL;
}

/* Calls that the variables count: of WORK_FUNCTION, or of a function that may be called at any time. */
#define WORK_FUNCTION "MPI_Comm_rank"
static inline void work(int times)
{
    int result;
    for (int i = 0; i < times; i++) {
        if (conform_phase == BETWEEN)
            MPI_Comm_rank(MPI_COMM_SELF, &result);
        else
            MPI_Initialized(&result);
    }
}

/* A counter that the calls of work() advance and that can be started and stopped; 0 if there is none. */
static inline int counter_of_calls(struct pvar *p)
{
    return pvar_find("mpiscope_calls_total", MPI_T_PVAR_CLASS_COUNTER, p) && type_size(p->type) != 0;
}

/* Pointers that are not handles: small, on the stack, unmapped. None may be dereferenced. */
static inline void *foreign(int which)
{
    static long decoy[64];
    switch (which) {
    case 0: return (void *) (uintptr_t) 8;
    case 1: memset(decoy, 0x11, sizeof decoy); return decoy;
    case 2: return (void *) (uintptr_t) 0x00007fff12345678u;
    case 3: return (void *) (uintptr_t) 0xdeadbeefdeadbeefu;
    default: return (void *) (uintptr_t) 0xffffffff00000000u;
    }
}
#define FOREIGN 5

#endif
