/* Assertions, and how a conformance program runs.
 *
 * A program is a group of functions of the tool information interface. It runs the same assertions before MPI_Init,
 * between MPI_Init and MPI_Finalize, and after MPI_Finalize, each time between its own MPI_T_init_thread and
 * MPI_T_finalize, in one or in several concurrent threads:
 *
 *     program [--phase before|between|after|all] [--threads N]
 *
 * or by CONFORM_PHASE, CONFORM_THREADS. CONFORM_SECONDS bounds the whole run (60).
 *
 * Every assertion has a label, which SENTENCES.md maps to the sentence of the standard. Output, one line each:
 *
 *     ok LABEL sentence (n times)
 *     FAIL file:line LABEL sentence: observed value [phase]
 *     skip LABEL reason
 *
 * The exit status is 0 if nothing failed, 1 if something did, 2 after a crash from which it could not recover, 3 if
 * the time limit was reached. A crash inside TRY is a failure of that assertion, and the program continues.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <mpi.h>
#include <mpiscope/mpi_t.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every jump lands in a branch that reads no local variable set after sigsetjmp. */
#pragma GCC diagnostic ignored "-Wclobbered"

enum phase { BEFORE, BETWEEN, AFTER };

struct group {
    const char *name;
    void (*each)(void);     /* run by every thread */
    void (*alone)(void);    /* run by the first thread only, before `each`; may call collectives of MPI_COMM_WORLD */
    void (*done)(void);     /* the same after `each` */
};

#define CONFORM_LABELS 512
#define CONFORM_SHOWN 3
#define CONFORM_SLOTS 64

static struct {
    const char *label, *sentence;
    long passed, failed, skipped;
} conform_table[CONFORM_LABELS];

static pthread_mutex_t conform_lock = PTHREAD_MUTEX_INITIALIZER;
static enum phase conform_phase = BEFORE;
static int conform_threads = 1, conform_rank = 0, conform_size = 1;
/* Set by a program that creates its own threads. */
static int conform_multiple;
static const char *volatile conform_at = "start";

/* Jumps out of crashes are per thread. */
static __thread sigjmp_buf conform_jump;
static __thread volatile sig_atomic_t conform_armed;
/* Rank of the thread in its phase, from 0. */
static __thread int conform_thread;

static inline const char *phase_name(void)
{
    return conform_phase == BEFORE ? "before MPI_Init" : conform_phase == BETWEEN ? "between" : "after MPI_Finalize";
}

static inline int conform_slot(const char *label, const char *sentence)
{
    int i = 0;
    while (i < CONFORM_LABELS - 1 && conform_table[i].label && strcmp(conform_table[i].label, label))
        i++;
    if (!conform_table[i].label) {
        conform_table[i].label = label;
        conform_table[i].sentence = sentence;
    }
    return i;
}

static inline int conform_check(const char *file, int line, const char *label, int holds, const char *sentence,
                                const char *format, ...) __attribute__((format(printf, 6, 7)));

static inline int conform_check(const char *file, int line, const char *label, int holds, const char *sentence,
                                const char *format, ...)
{
    char seen[512];
    va_list arguments;
    pthread_mutex_lock(&conform_lock);
    conform_at = label;
    int slot = conform_slot(label, sentence);
    if (holds)
        conform_table[slot].passed++;
    else if (conform_table[slot].failed++ < CONFORM_SHOWN) {
        const char *base = strrchr(file, '/');
        va_start(arguments, format);
        vsnprintf(seen, sizeof seen, format, arguments);
        va_end(arguments);
        printf("FAIL %s:%d %s %s%s%s [%s, rank %d]\n", base ? base + 1 : file, line, label, sentence,
               *seen ? ": " : "", seen, phase_name(), conform_rank);
        fflush(stdout);
    }
    pthread_mutex_unlock(&conform_lock);
    return holds;
}

/* The assertion `label` holds if `condition` does; otherwise CHECKF prints the observed value. */
#define CHECKF(label, condition, sentence, ...) \
    conform_check(__FILE__, __LINE__, label, !!(condition), sentence, __VA_ARGS__)
#define CHECK(label, condition, sentence) CHECKF(label, condition, sentence, "%s", #condition " is false")
/* The call returns exactly this code. */
#define CHECK_RC(label, call, expected, sentence) \
    do { \
        int conform_code = -1; \
        TRY(label, conform_code = (call), sentence, \
            CHECKF(label, conform_code == (expected), sentence, "%s gave %s", #call, code_name(conform_code))); \
    } while (0)
/* The call returns some error, and the process survives. */
#define CHECK_REFUSED(label, call, sentence) \
    do { \
        int conform_code = MPI_SUCCESS; \
        TRY(label, conform_code = (call), sentence, \
            CHECKF(label, conform_code != MPI_SUCCESS, sentence, "%s gave MPI_SUCCESS", #call)); \
    } while (0)
/* Runs `statement`, then `after`; if it crashes, the assertion fails and `after` is skipped. */
#define TRY(label, statement, sentence, after) \
    do { \
        conform_at = label; \
        int conform_signal = sigsetjmp(conform_jump, 1); \
        if (conform_signal == 0) { \
            conform_armed = 1; \
            statement; \
            conform_armed = 0; \
            after; \
        } else { \
            CHECKF(label, 0, sentence, "%s crashed with signal %d", #statement, conform_signal); \
        } \
    } while (0)

static inline void skip(const char *label, const char *why)
{
    pthread_mutex_lock(&conform_lock);
    int slot = conform_slot(label, why);
    if (conform_table[slot].skipped++ == 0 && conform_rank == 0)
        printf("skip %s %s [%s]\n", label, why, phase_name());
    pthread_mutex_unlock(&conform_lock);
}

static inline const char *code_name(int code)
{
    static __thread char number[32];
    static const struct { int code; const char *name; } names[] = {
        { MPI_SUCCESS, "MPI_SUCCESS" },
        { MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT" },
        { MPI_T_ERR_NOT_ACCESSIBLE, "MPI_T_ERR_NOT_ACCESSIBLE" },
        { MPI_T_ERR_NOT_INITIALIZED, "MPI_T_ERR_NOT_INITIALIZED" },
        { MPI_T_ERR_NOT_SUPPORTED, "MPI_T_ERR_NOT_SUPPORTED" },
        { MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY" },
        { MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID" },
        { MPI_T_ERR_INVALID_INDEX, "MPI_T_ERR_INVALID_INDEX" },
        { MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM" },
        { MPI_T_ERR_INVALID_SESSION, "MPI_T_ERR_INVALID_SESSION" },
        { MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE" },
        { MPI_T_ERR_INVALID_NAME, "MPI_T_ERR_INVALID_NAME" },
        { MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES" },
        { MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS" },
        { MPI_T_ERR_CVAR_SET_NOT_NOW, "MPI_T_ERR_CVAR_SET_NOT_NOW" },
        { MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER" },
        { MPI_T_ERR_PVAR_NO_WRITE, "MPI_T_ERR_PVAR_NO_WRITE" },
        { MPI_T_ERR_PVAR_NO_STARTSTOP, "MPI_T_ERR_PVAR_NO_STARTSTOP" },
        { MPI_T_ERR_PVAR_NO_ATOMIC, "MPI_T_ERR_PVAR_NO_ATOMIC" },
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == code)
            return names[i].name;
    snprintf(number, sizeof number, "code %d", code);
    return number;
}

static inline int conform_summary(void)
{
    long failed = 0, passed = 0;
    for (int i = 0; i < CONFORM_LABELS && conform_table[i].label; i++) {
        failed += conform_table[i].failed > 0;
        passed += conform_table[i].failed == 0 && conform_table[i].passed > 0;
        if (conform_rank == 0 && conform_table[i].failed == 0 && conform_table[i].passed > 0)
            printf("ok %s %s (%ld times)\n", conform_table[i].label, conform_table[i].sentence,
                   conform_table[i].passed);
        if (conform_table[i].failed > CONFORM_SHOWN)
            printf("FAIL %s %ld times in total\n", conform_table[i].label, conform_table[i].failed);
    }
    if (conform_rank == 0 || failed)
        printf("%ld sentences hold, %ld do not [rank %d]\n", passed, failed, conform_rank);
    fflush(stdout);
    return failed > 0;
}

/* These print when the process is broken or out of time, so using stdio is acceptable. */
static inline void conform_fatal(int number)
{
    if (number != SIGALRM && conform_armed) {
        conform_armed = 0;
        siglongjmp(conform_jump, number);
    }
    if (number == SIGALRM)
        printf("FAIL time limit reached at %s [%s, rank %d]\n", conform_at, phase_name(), conform_rank);
    else
        printf("FAIL crashed with signal %d after %s [%s, rank %d]\n", number, conform_at, phase_name(),
               conform_rank);
    conform_summary();
    _exit(number == SIGALRM ? 3 : 2);
}

/* Again in every phase, because libraries install their own handlers in MPI_Init. */
static inline void conform_signals(void)
{
    static const int caught[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM };
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = conform_fatal;
    action.sa_flags = SA_NODEFER;
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        sigaction(caught[i], &action, NULL);
}

static pthread_barrier_t conform_gate;
static const struct group *conform_group;

static inline void *conform_body(void *argument)
{
    conform_thread = (int) (long) argument;
    pthread_barrier_wait(&conform_gate);
    conform_group->each();
    return NULL;
}

static inline void conform_phase_run(enum phase phase)
{
    pthread_t others[CONFORM_SLOTS];
    int provided = -1, code;
    conform_phase = phase;
    conform_signals();
    code = MPI_T_init_thread(conform_threads > 1 || conform_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                             &provided);
    CHECKF("LC-1", code == MPI_SUCCESS, "MPI_T_init_thread succeeds in every phase", "%s", code_name(code));
    CHECKF("LC-2", provided == MPI_THREAD_SINGLE || provided == MPI_THREAD_FUNNELED
           || provided == MPI_THREAD_SERIALIZED || provided == MPI_THREAD_MULTIPLE,
           "provided is one of the four thread levels", "%d", provided);
    if (code == MPI_SUCCESS) {
        int threads = conform_threads;
        if (threads > 1 && !CHECKF("LC-3", provided == MPI_THREAD_MULTIPLE,
                "a tool with several threads gets MPI_THREAD_MULTIPLE", "%d", provided))
            threads = 1;
        if (conform_group->alone)
            conform_group->alone();
        pthread_barrier_init(&conform_gate, NULL, (unsigned) threads);
        for (long i = 1; i < threads; i++)
            pthread_create(&others[i], NULL, conform_body, (void *) i);
        conform_body(NULL);
        for (int i = 1; i < threads; i++)
            pthread_join(others[i], NULL);
        pthread_barrier_destroy(&conform_gate);
        if (conform_group->done)
            conform_group->done();
        CHECK_RC("LC-4", MPI_T_finalize(), MPI_SUCCESS, "MPI_T_finalize undoes an MPI_T_init_thread in every phase");
    }
}

static inline const char *conform_option(int argc, char **argv, const char *option, const char *variable)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], option))
            return argv[i + 1];
    return getenv(variable);
}

static inline int conform_main(int argc, char **argv, const struct group *group)
{
    const char *phase = conform_option(argc, argv, "--phase", "CONFORM_PHASE");
    const char *threads = conform_option(argc, argv, "--threads", "CONFORM_THREADS");
    const char *seconds = getenv("CONFORM_SECONDS");
    int all = !phase || !strcmp(phase, "all"), level;
    conform_group = group;
    conform_threads = threads ? atoi(threads) : 1;
    if (conform_threads < 1 || conform_threads > CONFORM_SLOTS)
        conform_threads = 1;
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    conform_signals();
    alarm(seconds ? (unsigned) atoi(seconds) : 60);
    if (all || !strcmp(phase, "before"))
        conform_phase_run(BEFORE);
    MPI_Init_thread(&argc, &argv, conform_threads > 1 || conform_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &conform_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &conform_size);
    if (all || !strcmp(phase, "between"))
        conform_phase_run(BETWEEN);
    MPI_Finalize();
    if (all || !strcmp(phase, "after"))
        conform_phase_run(AFTER);
    alarm(0);
    return conform_summary();
}

#endif
