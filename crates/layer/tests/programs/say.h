/* A program of the object tests reports what it did, one object per line, and provides its image.
 *
 *   label kind handle key=value ...
 *
 * A value @label is the uid of the object with that label. */
#include <dirent.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *said;
static int rank, size;

/* A handle as stored in the image: zero-extended. */
static uint64_t raw(const void *handle, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, handle, bytes);
    return word;
}
#define RAW(handle) raw(&(handle), sizeof(handle))

static void say(const char *label, const char *kind, uint64_t handle, const char *format, ...)
{
    va_list arguments;
    fprintf(said, "%s %s %" PRIx64 " ", label, kind, handle);
    va_start(arguments, format);
    vfprintf(said, format, arguments);
    va_end(arguments);
    fprintf(said, "\n");
}

static const char *place(const char *end)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%d.%s", getenv("OBJECTS_DIR"), rank, end);
    return path;
}

static void open_said(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    said = fopen(place("said"), "w");
    if (!said)
        abort();
}

/* Copies the current image of this process. */
static void hand_over(const char *end)
{
    DIR *fds = opendir("/proc/self/fd");
    struct dirent *entry;
    char link[300], target[300], buffer[1 << 16];
    ssize_t n;
    off_t at = 0;
    FILE *copy;
    while ((entry = readdir(fds))) {
        snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
        n = readlink(link, target, sizeof target - 1);
        if (n > 0 && (target[n] = 0, strstr(target, "memfd:mpiscope")))
            break;
    }
    if (!entry)
        abort();
    copy = fopen(place(end), "w");
    while ((n = pread(atoi(entry->d_name), buffer, sizeof buffer, at)) > 0) {
        fwrite(buffer, 1, n, copy);
        at += n;
    }
    fclose(copy);
    closedir(fds);
}
