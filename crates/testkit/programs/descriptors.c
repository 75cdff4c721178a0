/* A program that closes low descriptors it did not open and uses their numbers for files of its own, and that makes
 * so many objects that whoever keeps books about them needs more memory. */
#include "expect.h"
#include <fcntl.h>
#include <sys/stat.h>

#define TYPES 4000
/* One more than the last descriptor that is taken away. */
#ifndef LAST
#define LAST 256
#endif

/* Puts a file of our own in the place of every memory file. Gives their number. */
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

    /* What we wrote is all there is in our file. */
    long size = replaced == 0 ? 4 : -1;
    if (replaced > 0 && stat(path, &about) == 0)
        size = (long) about.st_size;
    expect_summary("descriptors", size);
    expect_finish();
    return 0;
}
