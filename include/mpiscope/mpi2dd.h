/*
 * The MPI2 debugger interface: how a debugger finds all processes of an MPI job from any one of them.
 *
 * After "An interface between a debugger and an MPI implementation", draft of January 2007, version 1, variant 1.
 * libmpiscope.so has the symbols MPI2DD_info and MPI2DD_breakpoint in every rank; `mpiscope run` has them as the starter.
 *
 * A debugger for a target of another width or byte order must not use these structures: it reads words of the
 * target's width (from the ELF header) in the target's order. The types here are those of the host.
 *
 * Where the draft is silent or contradicts itself, this implementation behaves as follows.
 *
 *   * Names are those of the draft's text (MPI2DD_FLAG_X, MPI2DD_MPIFLAG_X), not of its history.
 *   * Tables are packed: an MPI2DD_DIRECTORYENTRY has 20 bytes where addresses have 8. The other structures are the same
 *     packed and unpacked.
 *   * A process is a directory if it has a process table, a metadirectory if MPI2DD_MPIFLAG_I_AM_METADIR is set.
 *     Rank 0 of each world is its directory. Rank 0 of the world that the launcher started is the metadirectory of the
 *     job. A process that spawns or connects in a call in which the metadirectory takes no part becomes a metadirectory
 *     as well: it lists the true one. A debugger should therefore read the block of every process it finds.
 *   * A spawned world stays in the directory table of its job after MPI_Comm_disconnect. A job that was connected
 *     leaves the metadirectory table when the intercommunicator of MPI_Comm_connect, _accept or _join is disconnected.
 *   * parent_rank and sequence are -1, and parent_comm_world_id is empty, if the parent did not identify itself.
 *   * The names of worlds are "HOST:PID:START" of their rank 0, START in clock ticks since the host started.
 *   * A reader may read the address and the length of a table at different times: the entries of a table are
 *     always followed by zeros, and old tables are never freed. An entry whose pid is 0 is not an entry.
 *   * The starter has no tables; it names the metadirectory.
 */
#ifndef MPISCOPE_MPI2DD_H
#define MPISCOPE_MPI2DD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uintptr_t MPI2DD_ADDR_T;   /* 0, or the address of a table or of a C string */
typedef int32_t MPI2DD_INT32_T;
typedef uint32_t MPI2DD_UINT32_T;
typedef uint8_t MPI2DD_BYTE_T;

/* debug_state: why MPI2DD_breakpoint was called. */
#define MPI2DD_DEBUG_START                 1
#define MPI2DD_DEBUG_SPAWN                 2
#define MPI2DD_DEBUG_CONNECT               3
#define MPI2DD_DEBUG_ACCEPT                4
#define MPI2DD_DEBUG_JOIN                  5
#define MPI2DD_DEBUG_DIRECTORY_CHANGED     6   /* only if requested */
#define MPI2DD_DEBUG_METADIRECTORY_CHANGED 7   /* only if requested */
#define MPI2DD_DEBUG_ABORT                 8

/* debugger_flags: written by the debugger. */
#define MPI2DD_FLAG_GATE                     0x01
#define MPI2DD_FLAG_BEING_DEBUGGED           0x02
#define MPI2DD_FLAG_REQUEST_DIRECTORY_EVENTS 0x04

/* mpi_flags: written by the MPI side. */
#define MPI2DD_MPIFLAG_I_AM_METADIR      0x01
#define MPI2DD_MPIFLAG_I_AM_DIR          0x02
#define MPI2DD_MPIFLAG_I_AM_STARTER      0x04
#define MPI2DD_MPIFLAG_FORCE_TO_MAIN     0x08
#define MPI2DD_MPIFLAG_IGNORE_QUEUE      0x10
#define MPI2DD_MPIFLAG_ACQUIRED_PRE_MAIN 0x20
#define MPI2DD_MPIFLAG_PARTIAL_ATTACH_OK 0x40

struct MPI2DD_INFO {
    MPI2DD_BYTE_T magic[5];                /* 'M' 'P' 'I' '2' 0x7f */
    MPI2DD_BYTE_T version;                 /* 1 */
    MPI2DD_BYTE_T variant;                 /* 1 */
    MPI2DD_BYTE_T debug_state;
    MPI2DD_UINT32_T debugger_flags;
    MPI2DD_UINT32_T mpi_flags;
    MPI2DD_ADDR_T dll_name_32;             /* message queue plug-in for a debugger of 32 bits */
    MPI2DD_ADDR_T dll_name_64;             /* and of 64 bits */
    MPI2DD_ADDR_T meta_host_name;          /* the metadirectory: host, */
    MPI2DD_ADDR_T meta_executable_name;    /* program, */
    MPI2DD_ADDR_T abort_string;
    MPI2DD_ADDR_T proctable;               /* struct MPI2DD_PROCDESC[proctable_size] */
    MPI2DD_ADDR_T directory_table;         /* struct MPI2DD_DIRECTORYENTRY[directory_size] */
    MPI2DD_ADDR_T metadirectory_table;     /* struct MPI2DD_DIRECTORYENTRY[metadirectory_size] */
    MPI2DD_INT32_T proctable_size;
    MPI2DD_INT32_T directory_size;
    MPI2DD_INT32_T metadirectory_size;
    MPI2DD_INT32_T meta_pid;               /* and process id */
    MPI2DD_INT32_T padding[8];
};

#pragma pack(push, 1)

struct MPI2DD_PROCDESC {
    MPI2DD_ADDR_T host_name;
    MPI2DD_ADDR_T executable_name;
    MPI2DD_ADDR_T spawn_desc;              /* struct MPI2DD_SPAWNDESC, or 0 if a launcher started the world */
    MPI2DD_ADDR_T comm_world_id;
    MPI2DD_INT32_T pid;
    MPI2DD_INT32_T rank;
};

struct MPI2DD_SPAWNDESC {
    MPI2DD_ADDR_T parent_comm_world_id;
    MPI2DD_INT32_T parent_rank;
    MPI2DD_INT32_T sequence;               /* among the spawns of this parent, from 0 */
};

struct MPI2DD_DIRECTORYENTRY {
    MPI2DD_ADDR_T host_name;
    MPI2DD_ADDR_T executable_name;
    MPI2DD_INT32_T pid;
};

#pragma pack(pop)

extern struct MPI2DD_INFO MPI2DD_info;
void MPI2DD_breakpoint(void);

#ifdef __cplusplus
}
#endif

#endif
