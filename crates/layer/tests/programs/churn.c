/* Four threads create and free objects at random and keep a model of the live ones; a fifth keeps copying the image.
 * Each makes CHURN_STEPS steps, but runs for at most CHURN_SECONDS, if that is set. */
#include "say.h"
#include <pthread.h>
#include <time.h>

#define THREADS 4
#define OBJECTS 48

enum kind { NOTHING, COMM, DATATYPE, GROUP, INFO, OP, ERRHANDLER, KINDS };

struct object {
    enum kind kind;
    MPI_Comm comm;
    MPI_Datatype datatype;
    MPI_Group group;
    MPI_Info info;
    MPI_Op op;
    MPI_Errhandler errhandler;
    int value;
};

struct thread {
    pthread_t id;
    uint64_t seed;
    int number;
    long steps, made[KINDS], freed[KINDS];
    MPI_Comm parent;
    struct object objects[OBJECTS];
};

static struct thread threads[THREADS];
static volatile int running = 1;
static time_t end;
static MPI_Group world;

static void combine(void *in, void *inout, int *n, MPI_Datatype *type)
{
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
}

static unsigned below(struct thread *thread, unsigned bound)
{
    thread->seed ^= thread->seed << 13;
    thread->seed ^= thread->seed >> 7;
    thread->seed ^= thread->seed << 17;
    return (thread->seed >> 20) % bound;
}

static void make(struct thread *thread, struct object *object)
{
    char text[64];
    int n = object->value = 1 + below(thread, 1000), r = below(thread, size);
    object->kind = 1 + below(thread, KINDS - 1);
    snprintf(text, sizeof text, "value_%d", n);
    switch (object->kind) {
    case COMM:
        MPI_Comm_dup(thread->parent, &object->comm);
        MPI_Comm_set_name(object->comm, text);
        break;
    case DATATYPE:
        MPI_Type_vector(n, 2, 3, MPI_INT, &object->datatype);
        if (n % 2)
            MPI_Type_commit(&object->datatype);
        if (n % 3 == 0)
            MPI_Type_set_name(object->datatype, text);
        break;
    case GROUP:
        MPI_Group_incl(world, 1, &r, &object->group);
        object->value = r;
        break;
    case INFO:
        MPI_Info_create(&object->info);
        MPI_Info_set(object->info, "key", text);
        break;
    case OP:
        MPI_Op_create(combine, n % 2, &object->op);
        break;
    default:
        MPI_Comm_create_errhandler(on_error, &object->errhandler);
    }
    thread->made[object->kind]++;
}

static void destroy(struct thread *thread, struct object *object)
{
    switch (object->kind) {
    case COMM: MPI_Comm_free(&object->comm); break;
    case DATATYPE: MPI_Type_free(&object->datatype); break;
    case GROUP: MPI_Group_free(&object->group); break;
    case INFO: MPI_Info_free(&object->info); break;
    case OP: MPI_Op_free(&object->op); break;
    default: MPI_Errhandler_free(&object->errhandler);
    }
    thread->freed[object->kind]++;
    object->kind = NOTHING;
}

static void *churn(void *argument)
{
    struct thread *thread = argument;
    for (long step = 0; step < thread->steps; step++) {
        if (step % 64 == 0 && end && time(NULL) >= end)
            break;
        struct object *object = &thread->objects[below(thread, OBJECTS)];
        if (object->kind == NOTHING)
            make(thread, object);
        else
            destroy(thread, object);
    }
    return NULL;
}

static void *look(void *unused)
{
    char end[32];
    for (int n = 0; running; n++) {
        snprintf(end, sizeof end, "live%d", n % 4);
        hand_over(end);
        usleep(20000);
    }
    return NULL;
}

static void tell(struct thread *thread, struct object *object, int place)
{
    char label[64];
    int n = object->value;
    snprintf(label, sizeof label, "t%dn%d", thread->number, place);
    switch (object->kind) {
    case NOTHING: break;
    case COMM: say(label, "comm", RAW(object->comm), "name=value_%d size=1 parent=@parent%d", n, thread->number); break;
    case DATATYPE: say(label, "datatype", RAW(object->datatype), "args=%d,2,3,0 committed=%d", n, n % 2); break;
    case GROUP: say(label, "group", RAW(object->group), "size=1 members=%d", n); break;
    case INFO: say(label, "info", RAW(object->info), "pairs=key:value_%d;", n); break;
    case OP: say(label, "op", RAW(object->op), "commutative=%d", n % 2); break;
    default: say(label, "errhandler", RAW(object->errhandler), "kind=1");
    }
}

int main(int argc, char **argv)
{
    int level, t, n;
    pthread_t looker;
    const char *steps = getenv("CHURN_STEPS"), *seconds = getenv("CHURN_SECONDS");
    long made[KINDS] = {0};

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    open_said();
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (t = 0; t < THREADS; t++) {
        char label[32];
        struct thread *thread = &threads[t];
        thread->number = t;
        thread->seed = 88172645463325252u + 977 * t + 31 * rank;
        thread->steps = level == MPI_THREAD_MULTIPLE ? (steps ? atol(steps) : 5000) : 0;
        MPI_Comm_dup(MPI_COMM_SELF, &thread->parent);
        snprintf(label, sizeof label, "parent%d", t);
        say(label, "comm", RAW(thread->parent), "size=1 members=%d parent=@self", rank);
    }
    say("self", "comm", RAW((MPI_Comm){MPI_COMM_SELF}), "predefined=1");
    say("gworld", "group", RAW(world), "size=%d", size);
    if (seconds)
        end = time(NULL) + atol(seconds);
    pthread_create(&looker, NULL, look, NULL);
    for (t = 0; t < THREADS; t++)
        pthread_create(&threads[t].id, NULL, churn, &threads[t]);
    for (t = 0; t < THREADS; t++)
        pthread_join(threads[t].id, NULL);
    running = 0;
    pthread_join(looker, NULL);
    for (t = 0; t < THREADS; t++)
        for (n = 0; n < OBJECTS; n++)
            tell(&threads[t], &threads[t].objects[n], n);
    for (t = 0; t < THREADS; t++)
        for (n = 0; n < KINDS; n++)
            made[n] += threads[t].made[n];
    fclose(said);
    hand_over("image");
    if (!rank)
        printf("made %ld communicators, %ld datatypes, %ld groups, %ld infos, %ld operations, %ld error handlers\n",
               made[COMM], made[DATATYPE], made[GROUP], made[INFO], made[OP], made[ERRHANDLER]);
    MPI_Finalize();
    return 0;
}
