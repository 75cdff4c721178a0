/*
 * The part of the message queue interface that MPI debugger plug-ins share: types and callbacks.
 *
 * Names, order and sizes are those of the published headers, interface compatibility 2. A program that has included
 * another header with these names (it defines MQS_INTERFACE_COMPATIBILITY) keeps that one.
 */
#ifndef MPISCOPE_MQS_H
#define MPISCOPE_MQS_H

#include <stddef.h>

#ifndef MQS_INTERFACE_COMPATIBILITY
#define MQS_INTERFACE_COMPATIBILITY 2

#ifdef __cplusplus
extern "C" {
#endif

/* Wide enough for an address, or a signed word, of the target. */
typedef unsigned long mqs_taddr_t;
typedef long mqs_tword_t;

/* Sizes in bytes, in the target. */
typedef struct {
    int short_size;
    int int_size;
    int long_size;
    int long_long_size;
    int pointer_size;
} mqs_target_type_sizes;

/* They belong to the debugger; a plug-in only passes them back. */
typedef struct mqs_image_ mqs_image;
typedef struct mqs_process_ mqs_process;
typedef struct mqs_type_ mqs_type;

/* They belong to the plug-in; the debugger only stores them. */
typedef struct _mqs_image_info mqs_image_info;
typedef struct _mqs_process_info mqs_process_info;

enum { mqs_ok = 0, mqs_no_information, mqs_end_of_list, mqs_first_user_code = 100 };

typedef enum {
    mqs_lang_c = 'c',
    mqs_lang_cplus = 'C',
    mqs_lang_f77 = 'f',
    mqs_lang_f90 = 'F'
} mqs_lang_code;

/* Callbacks that need no process. */
typedef struct mqs_basic_callbacks {
    void *(*mqs_malloc_fp)(size_t);
    void (*mqs_free_fp)(void *);
    void (*mqs_dprints_fp)(const char *);
    char *(*mqs_errorstring_fp)(int);
    void (*mqs_put_image_info_fp)(mqs_image *, mqs_image_info *);
    mqs_image_info *(*mqs_get_image_info_fp)(mqs_image *);
    void (*mqs_put_process_info_fp)(mqs_process *, mqs_process_info *);
    mqs_process_info *(*mqs_get_process_info_fp)(mqs_process *);
} mqs_basic_callbacks;

/* Callbacks about an executable image. */
typedef struct mqs_image_callbacks {
    void (*mqs_get_type_sizes_fp)(mqs_process *, mqs_target_type_sizes *);
    int (*mqs_find_function_fp)(mqs_image *, char *, mqs_lang_code, mqs_taddr_t *);
    int (*mqs_find_symbol_fp)(mqs_image *, char *, mqs_taddr_t *);
    mqs_type *(*mqs_find_type_fp)(mqs_image *, char *, mqs_lang_code);
    int (*mqs_field_offset_fp)(mqs_type *, char *);
    int (*mqs_sizeof_fp)(mqs_type *);
} mqs_image_callbacks;

/* Callbacks about a process. */
typedef struct mqs_process_callbacks {
    int (*mqs_get_global_rank_fp)(mqs_process *);
    mqs_image *(*mqs_get_image_fp)(mqs_process *);
    int (*mqs_fetch_data_fp)(mqs_process *, mqs_taddr_t, int, void *);
    void (*mqs_target_to_host_fp)(mqs_process *, const void *, void *, int);
} mqs_process_callbacks;

#ifdef __cplusplus
}
#endif

#endif /* MQS_INTERFACE_COMPATIBILITY */
#endif /* MPISCOPE_MQS_H */
