/* Prints the versions of the standard and of the library named on the command line. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static char text[16384];
    int major = 0, minor = 0, length = 0;
    void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*get_version)(int *, int *) = (int (*)(int *, int *)) dlsym(library, "MPI_Get_version");
    int (*get_library)(char *, int *) = (int (*)(char *, int *)) dlsym(library, "MPI_Get_library_version");
    if (!get_version || !get_library) {
        fprintf(stderr, "no MPI_Get_version or MPI_Get_library_version\n");
        return 1;
    }
    if (get_version(&major, &minor) || get_library(text, &length))
        return 1;
    printf("%d %d\n%s\n", major, minor, text);
    return 0;
}
