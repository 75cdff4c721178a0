/* Looks up the functions of MPI in every way that programs use.
 *
 * A single source, compiled as executable, as a library that it is linked with (BEHIND), and as a module that is
 * loaded later (MODULE). `names.inc` has a line NAME(MPI_X) for each function of the standard. None of them is called.
 *
 *     probing LIBRARY                      look up here and in the library behind
 *     probing LIBRARY MODULE local|global  first look up here, then load the module and look up there
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define NAME(function) extern void function(void) __attribute__((weak));
#include "names.inc"
#undef NAME

typedef void function(void);

struct reference {
    const char *name;
    function *in_data;
};

/* Resolved in place. */
static struct reference references[] = {
#define NAME(function) {#function, function},
#include "names.inc"
#undef NAME
};
#define COUNT (sizeof references / sizeof references[0])

/* Resolved through the global offset table. */
static void by_code(function **found)
{
#define NAME(function) *found++ = function;
#include "names.inc"
#undef NAME
}

/* Prints one line for each function that was found in any way. */
static void ask_all(const char *who)
{
    static function *in_code[COUNT];
    by_code(in_code);
    for (size_t i = 0; i < COUNT; i++)
        if (references[i].in_data || in_code[i])
            printf("%s %s data=%d code=%d\n", who, references[i].name, !!references[i].in_data, !!in_code[i]);
}

#if defined MODULE
void ask_in_module(void)
{
    ask_all("module");
}
#elif defined BEHIND
static __attribute__((constructor)) void first(void)
{
    ask_all("constructor");
}

void ask_behind(void)
{
    ask_all("behind");
}
#else
#ifdef LINKED
void ask_behind(void);
#endif

static void ask_by_name(const char *library, const char *when)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; i < COUNT; i++) {
        const char *name = references[i].name;
        int all = !!dlsym(RTLD_DEFAULT, name), refused = !!dlerror(), next = !!dlsym(RTLD_NEXT, name);
        int own = handle && dlsym(handle, name);
        if (all || next || own || !refused)
            printf("%s %s default=%d (error=%d) next=%d handle=%d\n", when, name, all, refused, next, own);
    }
    if (handle)
        dlclose(handle);
}

int main(int argc, char **argv)
{
    ask_all("executable");
    ask_by_name(argv[1], "start");
#ifdef LINKED
    ask_behind();
#endif
    if (argc > 3) {
        int scope = strcmp(argv[3], "global") ? RTLD_LOCAL : RTLD_GLOBAL;
        void *module = dlopen(argv[2], RTLD_NOW | scope);
        if (!module)
            return printf("no module: %s\n", dlerror()), 1;
        ((function *) dlsym(module, "ask_in_module"))();
        /* A privately loaded module must not be visible. */
        if (scope == RTLD_GLOBAL)
            ask_by_name(argv[1], "later");
    }
    printf("looked up %zu functions\n", COUNT);
    return 0;
}
#endif
