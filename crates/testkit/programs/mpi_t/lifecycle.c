/* MPI_T_init_thread and MPI_T_finalize in every order with MPI_Init and MPI_Finalize.
 *
 *     lifecycle                  runs every scenario, each in a separate process
 *     lifecycle SCENARIO         runs one in this process; also under a launcher
 *
 * CONFORM_CYCLES is the number of cycles in the scenarios that have cycles (10000).
 */
#include "tinfo.h"

#include <sys/wait.h>

extern char **environ;

static int cycles = 10000;

static void init(void)
{
    int provided = -4711;
    CHECK_RC("LC-5", MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS,
             "MPI_T_init_thread may be called any number of times, at any time");
    CHECKF("LC-6", provided == MPI_THREAD_SINGLE || provided == MPI_THREAD_FUNNELED
           || provided == MPI_THREAD_SERIALIZED || provided == MPI_THREAD_MULTIPLE,
           "provided is set by every call, including nested ones", "%d", provided);
}

static void fin(void)
{
    CHECK_RC("LC-7", MPI_T_finalize(), MPI_SUCCESS, "every MPI_T_init_thread has a matching MPI_T_finalize");
}

/* One call of every kind, to detect a broken state. */
static void use(void)
{
    int n = -1, provided;
    struct pvar p;
    MPI_T_pvar_session session;
    CHECK_RC("LC-8", MPI_T_cvar_get_num(&n), MPI_SUCCESS, "the interface can be used while it is initialized");
    if (n > 0) {
        struct cvar c;
        CHECK_RC("LC-8", cvar_query(0, &c), MPI_SUCCESS, "the interface can be used while it is initialized");
    }
    CHECK_RC("LC-8", MPI_T_pvar_get_num(&n), MPI_SUCCESS, "the interface can be used while it is initialized");
    if (n > 0)
        CHECK_RC("LC-8", pvar_query(0, &p), MPI_SUCCESS, "the interface can be used while it is initialized");
    CHECK_RC("LC-8", MPI_T_pvar_session_create(&session), MPI_SUCCESS,
             "the interface can be used while it is initialized");
    CHECK_RC("LC-8", MPI_T_pvar_session_free(&session), MPI_SUCCESS,
             "the interface can be used while it is initialized");
    (void) provided;
}

/* No function of the interface works now, and none crashes. */
static void refused(void)
{
    int n, index, count;
    char name[64];
    int length = sizeof name;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_cvar_handle setting = MPI_T_CVAR_HANDLE_NULL;
    const char *sentence = "while the interface is not initialized its functions return MPI_T_ERR_NOT_INITIALIZED";
#define NOT_NOW(call) CHECK_RC("LC-9", call, MPI_T_ERR_NOT_INITIALIZED, sentence)
    NOT_NOW(MPI_T_finalize());
    NOT_NOW(MPI_T_cvar_get_num(&n));
    NOT_NOW(MPI_T_cvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    NOT_NOW(MPI_T_cvar_get_index("x", &index));
    NOT_NOW(MPI_T_cvar_handle_alloc(0, NULL, &setting, &count));
    NOT_NOW(MPI_T_cvar_handle_free(&setting));
    NOT_NOW(MPI_T_cvar_read(setting, name));
    NOT_NOW(MPI_T_cvar_write(setting, name));
    NOT_NOW(MPI_T_pvar_get_num(&n));
    NOT_NOW(MPI_T_pvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    NOT_NOW(MPI_T_pvar_get_index("x", MPI_T_PVAR_CLASS_COUNTER, &index));
    NOT_NOW(MPI_T_pvar_session_create(&session));
    NOT_NOW(MPI_T_pvar_session_free(&session));
    NOT_NOW(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &count));
    NOT_NOW(MPI_T_pvar_handle_free(session, &handle));
    NOT_NOW(MPI_T_pvar_start(session, handle));
    NOT_NOW(MPI_T_pvar_stop(session, handle));
    NOT_NOW(MPI_T_pvar_read(session, handle, name));
    NOT_NOW(MPI_T_pvar_write(session, handle, name));
    NOT_NOW(MPI_T_pvar_reset(session, handle));
    NOT_NOW(MPI_T_pvar_readreset(session, handle, name));
    NOT_NOW(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, name, &length));
    NOT_NOW(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &n, name, &length));
    NOT_NOW(MPI_T_category_get_num(&n));
    NOT_NOW(MPI_T_category_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL));
    NOT_NOW(MPI_T_category_get_index("x", &index));
    NOT_NOW(MPI_T_category_get_cvars(0, 0, &n));
    NOT_NOW(MPI_T_category_get_pvars(0, 0, &n));
    NOT_NOW(MPI_T_category_get_categories(0, 0, &n));
    NOT_NOW(MPI_T_category_changed(&n));
    if (!MPISCOPE_HAS(MPI_T_event_get_num))
        return;
    NOT_NOW(MPI_T_category_get_events(0, 0, &n));
    NOT_NOW(MPI_T_category_get_num_events(0, &n));
    NOT_NOW(MPI_T_event_get_num(&n));
    NOT_NOW(MPI_T_event_get_index("x", &index));
    NOT_NOW(MPI_T_event_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    NOT_NOW(MPI_T_source_get_num(&n));
    NOT_NOW(MPI_T_source_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL));
}

static void pair(void)
{
    init();
    use();
    fin();
}

static int level_asked = MPI_THREAD_SINGLE;

static void mpi_init(void)
{
    int level;
    conform_phase = BETWEEN;
    MPI_Init_thread(NULL, NULL, level_asked, &level);
    conform_signals();
    MPI_Comm_rank(MPI_COMM_WORLD, &conform_rank);
}

static void mpi_finalize(void)
{
    MPI_Finalize();
    conform_phase = AFTER;
    conform_signals();
}

/* Communication works, whatever was done to the interface. */
static void communicate(void)
{
    int sum = 0, one = 1, size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECKF("LC-10", sum == size, "MPI works as before", "%d of %d", sum, size);
}

static void s_before(void) { pair(); mpi_init(); communicate(); mpi_finalize(); }
static void s_between(void) { mpi_init(); pair(); communicate(); mpi_finalize(); }
static void s_after(void) { mpi_init(); communicate(); mpi_finalize(); pair(); }
static void s_around(void) { init(); use(); mpi_init(); use(); communicate(); mpi_finalize(); use(); fin(); }
static void s_over_init(void) { init(); mpi_init(); communicate(); use(); fin(); communicate(); mpi_finalize(); }
static void s_over_finalize(void) { mpi_init(); init(); communicate(); mpi_finalize(); use(); fin(); }
static void s_left_open(void) { mpi_init(); init(); communicate(); mpi_finalize(); }
static void s_left_open_early(void) { init(); mpi_init(); communicate(); mpi_finalize(); }

static void s_thrice(void)
{
    pair();
    mpi_init();
    pair();
    communicate();
    mpi_finalize();
    pair();
}

static void s_crossed(void)
{
    init();
    mpi_init();
    init();
    fin();
    use();
    communicate();
    fin();
    refused();
    communicate();
    init();
    mpi_finalize();
    use();
    init();
    fin();
    use();
    fin();
    refused();
}

static void s_without_mpi(void) { pair(); pair(); }

static void s_refused(void)
{
    refused();
    pair();
    refused();
    mpi_init();
    refused();
    pair();
    refused();
    communicate();
    mpi_finalize();
    refused();
    pair();
    refused();
}

static void go_round(void)
{
    int done = 0, provided;
    while (done < cycles && MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS
           && MPI_T_finalize() == MPI_SUCCESS)
        done++;
    CHECKF("LC-11", done == cycles, "any number of cycles of initialization and finalization works", "%d of %d", done, cycles);
}

static void s_cycles_before(void) { go_round(); pair(); mpi_init(); communicate(); mpi_finalize(); }
static void s_cycles_between(void) { mpi_init(); go_round(); pair(); communicate(); mpi_finalize(); }
static void s_cycles_after(void) { mpi_init(); communicate(); mpi_finalize(); go_round(); pair(); }

static void s_nested_cycles(void)
{
    int done = 0, provided;
    mpi_init();
    while (done < cycles && MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS)
        done++;
    use();
    for (int i = 0; i < done; i++) {
        if (i == done - 1)
            use();
        if (MPI_T_finalize() != MPI_SUCCESS)
            done = -1;
    }
    CHECKF("LC-12", done == cycles, "initializations are counted", "%d of %d", done, cycles);
    refused();
    communicate();
    mpi_finalize();
}

/* The thread level of the application is irrelevant to the tool. */
static void s_levels(void)
{
    static const int asked[] = { MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE, MPI_THREAD_SERIALIZED, MPI_THREAD_FUNNELED };
    int before, after, provided;
    level_asked = MPI_THREAD_MULTIPLE;
    mpi_init();
    MPI_Query_thread(&before);
    for (int i = 0; i < 4; i++) {
        MPI_T_init_thread(asked[i], &provided);
        MPI_Query_thread(&after);
        CHECKF("LC-13", before == after, "the thread level of MPI is not changed", "%d, then %d after asking for %d",
               before, after, asked[i]);
        CHECKF("LC-14", provided == MPI_THREAD_SINGLE || provided == MPI_THREAD_FUNNELED
               || provided == MPI_THREAD_SERIALIZED || provided == MPI_THREAD_MULTIPLE,
               "provided is set for every requested level", "%d", provided);
    }
    for (int i = 0; i < 4; i++)
        MPI_T_finalize();
    MPI_Query_thread(&after);
    CHECKF("LC-13", before == after, "the thread level of MPI is not changed", "%d, then %d", before, after);
    communicate();
    mpi_finalize();
}

static void s_levels_early(void)
{
    int provided, level;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    level_asked = MPI_THREAD_MULTIPLE;
    mpi_init();
    MPI_Query_thread(&level);
    CHECKF("LC-15", level == MPI_THREAD_MULTIPLE, "MPI_Init_thread provides the same level as without the tool", "%d", level);
    MPI_T_finalize();
    communicate();
    mpi_finalize();
}

static void s_null_provided(void)
{
    int code = -1;
    TRY("LC-16", code = MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), "a NULL provided is harmless",
        CHECKF("LC-16", code == MPI_SUCCESS || code == MPI_T_ERR_INVALID, "a NULL provided is harmless", "%s",
               code_name(code)));
    if (code == MPI_SUCCESS)
        fin();
    pair();
    mpi_init();
    communicate();
    mpi_finalize();
}

/* A handle does not survive finalization and reinitialization. */
static void s_old_handles(void)
{
    MPI_T_pvar_session session, fresh;
    struct pvar p;
    struct gauge g;
    mpi_init();
    init();
    MPI_T_pvar_session_create(&session);
    if (!CHECK("LC-17", counter_of_calls(&p) && gauge_open(&g, session, &p, NULL), "there is a counter of all calls"))
        return;
    fin();
    init();
    CHECK_REFUSED("LC-18", MPI_T_pvar_read(session, g.handle, g.buffer), "a handle ends with MPI_T_finalize");
    MPI_T_pvar_session_create(&fresh);
    CHECK_REFUSED("LC-18", MPI_T_pvar_read(fresh, g.handle, g.buffer), "a handle ends with MPI_T_finalize");
    fin();
    communicate();
    mpi_finalize();
}

/* A handle that is kept across MPI_Init and MPI_Finalize stays valid. */
static void s_long_handle(void)
{
    MPI_T_pvar_session session;
    struct pvar p;
    struct gauge g;
    double value;
    init();
    MPI_T_pvar_session_create(&session);
    if (!CHECK("LC-17", counter_of_calls(&p) && gauge_open(&g, session, &p, NULL), "there is a counter of all calls"))
        return;
    MPI_T_pvar_start(session, g.handle);
    mpi_init();
    communicate();
    value = gauge_sum(&g);
    CHECKF("LC-19", value >= 3, "a handle allocated before MPI_Init counts after it", "%g", value);
    mpi_finalize();
    CHECKF("LC-20", gauge_sum(&g) >= value + 1, "a handle can be read after MPI_Finalize", "%g", gauge_sum(&g));
    gauge_close(&g);
    MPI_T_pvar_session_free(&session);
    fin();
}

static const struct { const char *name; void (*run)(void); } scenarios[] = {
    { "before", s_before }, { "between", s_between }, { "after", s_after }, { "around", s_around },
    { "over-init", s_over_init }, { "over-finalize", s_over_finalize }, { "left-open", s_left_open },
    { "left-open-early", s_left_open_early }, { "thrice", s_thrice }, { "crossed", s_crossed },
    { "without-mpi", s_without_mpi }, { "refused", s_refused }, { "cycles-before", s_cycles_before },
    { "cycles-between", s_cycles_between }, { "cycles-after", s_cycles_after }, { "nested-cycles", s_nested_cycles },
    { "levels", s_levels }, { "levels-early", s_levels_early }, { "null-provided", s_null_provided },
    { "old-handles", s_old_handles }, { "long-handle", s_long_handle },
};
#define SCENARIOS ((int) (sizeof scenarios / sizeof scenarios[0]))

/* A child is started alone, so it must not get the launcher's environment of this process. */
static void forget_launcher(void)
{
    static const char *const prefixes[] = { "PMI_", "PMIX_", "OMPI_COMM", "OMPI_UNIVERSE", "HYDI_", "HYDRA_", "MPI_LOCAL" };
    char name[128];
    for (int i = 0; environ[i];) {
        int drop = 0;
        for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++)
            drop |= !strncmp(environ[i], prefixes[p], strlen(prefixes[p]));
        if (!drop) {
            i++;
            continue;
        }
        snprintf(name, sizeof name, "%.*s", (int) strcspn(environ[i], "="), environ[i]);
        unsetenv(name);
    }
}

/* Returns 0 if the scenario passed. */
static int run_apart(const char *self, const char *scenario)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        forget_launcher();
        execl(self, self, scenario, (char *) NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        printf("FAIL scenario %s was killed by signal %d\n", scenario, WTERMSIG(status));
    else if (WEXITSTATUS(status))
        printf("FAIL scenario %s ended with %d\n", scenario, WEXITSTATUS(status));
    fflush(stdout);
    return status != 0;
}

int main(int argc, char **argv)
{
    const char *rounds = getenv("CONFORM_CYCLES"), *seconds = getenv("CONFORM_SECONDS");
    int failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    if (rounds)
        cycles = atoi(rounds);
    if (argc > 1) {
        conform_signals();
        alarm(seconds ? (unsigned) atoi(seconds) : 60);
        for (int i = 0; i < SCENARIOS; i++) {
            if (strcmp(scenarios[i].name, argv[1]))
                continue;
            printf("scenario %s\n", argv[1]);
            scenarios[i].run();
            return conform_summary();
        }
        fprintf(stderr, "%s: no scenario %s\n", argv[0], argv[1]);
        return 2;
    }
    for (int i = 0; i < SCENARIOS; i++)
        failed += run_apart("/proc/self/exe", scenarios[i].name);
    printf("%d of %d scenarios pass\n", SCENARIOS - failed, SCENARIOS);
    return failed > 0;
}
