/* Reads the tables of the MPI2 debugger interface, based on the specification alone.
 *
 *   reader live PID LIBRARY                     a running process that has LIBRARY loaded
 *   reader dump FILE WIDTH ORDER BASE ADDRESS   memory in a file: width 4 or 8, order little or big, address of the
 *                                               first byte, address of MPI2DD_info (both in hexadecimal)
 *
 * Directory entries are 2 * WIDTH + 4 bytes apart ("packed"). Prints one line for each fact, fields separated by tabs:
 *
 *   info  state debugger_flags mpi_flags meta_host meta_executable meta_pid abort_string
 *   proc  world rank host pid executable parent_world parent_rank sequence
 *   dir   host pid executable
 *   meta  host pid executable
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

static int pid;                   /* live */
static unsigned char *memory;     /* dump */
static size_t memory_size;
static uint64_t memory_base;
static int width = 8, big = 0;

static void fail(const char *what)
{
    fprintf(stderr, "reader: %s\n", what);
    exit(2);
}

static int fetch(uint64_t at, void *to, size_t n)
{
    if (memory) {
        if (at < memory_base || at - memory_base > memory_size || n > memory_size - (at - memory_base))
            return 0;
        memcpy(to, memory + (at - memory_base), n);
        return 1;
    }
    struct iovec local = { to, n }, remote = { (void *)(uintptr_t)at, n };
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static uint64_t number(uint64_t at, int n)
{
    unsigned char bytes[8];
    uint64_t value = 0;
    if (!fetch(at, bytes, n))
        fail("invalid address");
    for (int i = 0; i < n; i++)
        value = value << 8 | bytes[big ? i : n - 1 - i];
    return value;
}

static uint64_t address(uint64_t at) { return number(at, width); }
static int32_t int32(uint64_t at) { return (int32_t)number(at, 4); }

static void text(uint64_t at)
{
    char c = 1;
    putchar('\t');
    if (!at) {
        putchar('-');
        return;
    }
    for (int i = 0; i < 4096; i++, at++) {
        if (!fetch(at, &c, 1))
            fail("invalid string");
        if (!c)
            return;
        putchar(c);
    }
    fail("unterminated string");
}

static void entries(const char *name, uint64_t table, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t entry = table + (uint64_t)i * (2 * width + 4);
        fputs(name, stdout);
        text(address(entry));
        printf("\t%d", int32(entry + 2 * width));
        text(address(entry + width));
        putchar('\n');
    }
}

static void processes(uint64_t table, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t entry = table + (uint64_t)i * (4 * width + 8);
        uint64_t spawn = address(entry + 2 * width);
        fputs("proc", stdout);
        text(address(entry + 3 * width));
        printf("\t%d", int32(entry + 4 * width + 4));
        text(address(entry));
        printf("\t%d", int32(entry + 4 * width));
        text(address(entry + width));
        if (spawn) {
            text(address(spawn));
            printf("\t%d\t%d\n", int32(spawn + width), int32(spawn + width + 4));
        } else {
            printf("\t-\t-\t-\n");
        }
    }
}

static void show(uint64_t info)
{
    unsigned char head[8];
    if (!fetch(info, head, 8) || memcmp(head, "MPI2\x7f", 5))
        fail("no MPI2DD_info at the address");
    if (head[5] != 1 || head[6] != 1)
        fail("unknown version of the interface");
    uint64_t words = info + 16;                    /* eight addresses, then four integers */
    uint64_t sizes = words + 8 * width;
    printf("info\t%d\t%x\t%x", head[7], (unsigned)int32(info + 8), (unsigned)int32(info + 12));
    text(address(words + 2 * width));
    text(address(words + 3 * width));
    printf("\t%d", int32(sizes + 12));
    text(address(words + 4 * width));
    putchar('\n');
    processes(address(words + 5 * width), int32(sizes));
    entries("dir", address(words + 6 * width), int32(sizes + 4));
    entries("meta", address(words + 7 * width), int32(sizes + 8));
}

/* The address of MPI2DD_info in the process: the library's base there plus the symbol's offset here. */
static uint64_t find(const char *library)
{
    Dl_info here;
    char path[64], line[8192];
    uint64_t base = 0;
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, "MPI2DD_info") : NULL;
    if (!symbol || !dladdr(symbol, &here))
        fail("the library has no MPI2DD_info");
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof line, maps) && !base) {
        if (strstr(line, library))
            base = strtoull(line, NULL, 16);
    }
    if (!base)
        fail("the process has not loaded the library");
    return base + (uint64_t)((char *)symbol - (char *)here.dli_fbase);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "live")) {
        pid = atoi(argv[2]);
        show(find(argv[3]));
    } else if (argc == 7 && !strcmp(argv[1], "dump")) {
        FILE *file = fopen(argv[2], "rb");
        if (!file)
            fail("no such file");
        fseek(file, 0, SEEK_END);
        memory_size = ftell(file);
        rewind(file);
        memory = malloc(memory_size + 1);
        if (fread(memory, 1, memory_size, file) != memory_size)
            fail("cannot read the file");
        width = atoi(argv[3]);
        big = !strcmp(argv[4], "big");
        memory_base = strtoull(argv[5], NULL, 16);
        show(strtoull(argv[6], NULL, 16));
    } else {
        fail("usage: live PID LIBRARY, or dump FILE WIDTH ORDER BASE ADDRESS");
    }
    return 0;
}
