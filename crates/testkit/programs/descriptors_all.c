/* A program that closes all descriptors it did not open, as daemons do: no tool can grow its records after that. */
#define LAST 65536
#include "descriptors.c"
