/* A program that closes low descriptors it did not open and reuses their numbers for its own
 * files, and that creates so many objects that any tool that tracks them needs more memory. */
#include "expect.h"
#include <fcntl.h>
#include <sys/stat.h>

#define TYPES 4000
/* One more than the last descriptor that is closed. */
#ifndef LAST
#define LAST 256
#endif

/* Replaces every memory file by a file of our own. Returns their number. */
static int replace_memory_files(const char *path, const char *what)
{
    int count = 0;
    for (int fd = 3; fd < LAST; fd++) {
        char link[64], name[256];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, name, sizeof name - 1);
        if (length <= 0)
            continue;
        name[length] = 0;
        if (!strstr(name, what))
            continue;
        int own = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (own < 0 || write(own, "mine", 4) != 4 || dup2(own, fd) != fd)
            exit(90);
        close(own);
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    static MPI_Datatype types[TYPES];
    const char *dir = getenv("MPISCOPE_TEST_TMP");
    char path[4096];
    struct stat about;
    expect_init(&argc, &argv);
    snprintf(path, sizeof path, "%s/file.%d", dir ? dir : ".", expect_rank);
    int replaced = replace_memory_files(path, "memfd:mpiscope");
    expect_losses = replaced > 0;

    for (int i = 0; i < TYPES; i++) {
        CALL(MPI_Type_contiguous, i + 1, MPI_INT, &types[i]);
        CALL(MPI_Type_commit, &types[i]);
    }
    for (int i = 0; i < TYPES; i++)
        CALL(MPI_Type_free, &types[i]);

    /* Our file contains exactly what we wrote. */
    long size = replaced == 0 ? 4 : -1;
    if (replaced > 0 && stat(path, &about) == 0)
        size = (long) about.st_size;
    expect_summary("descriptors", size);
    expect_finish();
    return 0;
}
