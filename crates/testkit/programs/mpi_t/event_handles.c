/* Registration handles: allocated, bound, given hints, freed, and rejected if invalid. */
#include "einfo.h"

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    (void) instance;
    (void) registration;
    (void) safety;
    (void) data;
}

struct freed {
    atomic_int calls;
    MPI_T_event_registration registration;
};

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    struct freed *freed = data;
    (void) safety;
    freed->registration = registration;
    atomic_fetch_add(&freed->calls, 1);
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                       void *data)
{
    (void) count;
    (void) registration;
    (void) source;
    (void) safety;
    (void) data;
}

/* Every function that takes a registration, with one that must not be accepted. */
static void refuse(const char *label, MPI_T_event_registration r, const char *sentence)
{
    MPI_Info info = MPI_INFO_NULL;
    CHECK_RC(label, MPI_T_event_handle_set_info(r, MPI_INFO_NULL), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_event_handle_get_info(r, &info), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_event),
             MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_event_callback_set_info(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL), MPI_T_ERR_INVALID_HANDLE,
             sentence);
    CHECK_RC(label, MPI_T_event_callback_get_info(r, MPI_T_CB_REQUIRE_NONE, &info), MPI_T_ERR_INVALID_HANDLE,
             sentence);
    CHECK_RC(label, MPI_T_event_set_dropped_handler(r, on_dropped), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_event_handle_free(r, NULL, on_free), MPI_T_ERR_INVALID_HANDLE, sentence);
}

/* Hints: those in use are returned in a new object, which the caller frees. */
static void check_hints(MPI_T_event_registration registration, const char *name)
{
    MPI_Info hints, used = MPI_INFO_NULL;
    int keys = -1, there = -1;
    char value[64];
    if (conform_phase != BETWEEN)
        return;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "a_hint_that_nobody_knows", "1");
    CHECK_RC("EH-1", MPI_T_event_handle_set_info(registration, hints), MPI_SUCCESS,
             "known and unknown hints are accepted");
    CHECK_RC("EH-1", MPI_T_event_handle_set_info(registration, MPI_INFO_ENV), MPI_SUCCESS,
             "hints are accepted, even in an info object created by the library");
    CHECK_RC("EH-2", MPI_T_event_handle_get_info(registration, &used), MPI_SUCCESS, "the hints in use are returned");
    if (CHECKF("EH-3", used != MPI_INFO_NULL, "the hints in use are a new info object, even without a hint", "%s",
               name)) {
        MPI_Info_get_nkeys(used, &keys);
        MPI_Info_get(used, "a_hint_that_nobody_knows", 63, value, &there);
        CHECKF("EH-4", there == 0, "a hint that was ignored is not returned", "%s", name);
        CHECKF("EH-5", keys >= 0 && MPI_Info_free(&used) == MPI_SUCCESS, "the user frees the info object", "%s", name);
    }
    CHECK_RC("EH-6", MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, hints, NULL,
             on_event), MPI_SUCCESS, "a callback is registered, with hints");
    CHECK_RC("EH-7", MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, hints),
             MPI_SUCCESS, "known and unknown hints of a callback are accepted");
    used = MPI_INFO_NULL;
    CHECK_RC("EH-8", MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &used),
             MPI_SUCCESS, "the hints of a callback are returned");
    if (CHECKF("EH-9", used != MPI_INFO_NULL, "the hints of a callback are a new info object, even without a hint",
               "%s", name)) {
        there = -1;
        MPI_Info_get(used, "a_hint_that_nobody_knows", 63, value, &there);
        CHECKF("EH-4", there == 0, "a hint that was ignored is not returned", "%s", name);
        MPI_Info_free(&used);
    }
    CHECK_RC("EH-6", MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL,
             NULL, NULL), MPI_SUCCESS, "a callback is registered, with hints");
    CHECK_REFUSED("EH-10", MPI_T_event_handle_get_info(registration, NULL), "a NULL info_used is rejected");
    MPI_Info_free(&hints);
}

static void check_levels(MPI_T_event_registration registration)
{
    for (int i = 0; i < 4; i++) {
        CHECK_RC("EH-11", MPI_T_event_register_callback(registration, levels[i], MPI_INFO_NULL, NULL, on_event),
                 MPI_SUCCESS, "a callback may be registered for each level");
        CHECK_RC("EH-12", MPI_T_event_register_callback(registration, levels[i], MPI_INFO_NULL, NULL, NULL),
                 MPI_SUCCESS, "a NULL callback removes the one of the level");
    }
    CHECK_REFUSED("EH-13", MPI_T_event_register_callback(registration, (MPI_T_cb_safety) 0x55, MPI_INFO_NULL, NULL,
                  on_event), "an invalid level is rejected");
    CHECK_REFUSED("EH-13", MPI_T_event_register_callback(registration, (MPI_T_cb_safety) -1, MPI_INFO_NULL, NULL,
                  on_event), "an invalid level is rejected");
    CHECK_RC("EH-14", MPI_T_event_set_dropped_handler(registration, on_dropped), MPI_SUCCESS,
             "a dropped handler is set");
    CHECK_RC("EH-15", MPI_T_event_set_dropped_handler(registration, NULL), MPI_SUCCESS, "a dropped handler is removed");
}

static void check_free(MPI_T_event_registration registration, const char *name)
{
    struct freed freed;
    int code, i = 0;
    atomic_init(&freed.calls, 0);
    code = MPI_T_event_handle_free(registration, &freed, on_free);
    CHECKF("EH-16", code == MPI_SUCCESS, "a registration is freed", "%s: %s", name, code_name(code));
    while (code == MPI_SUCCESS && atomic_load(&freed.calls) == 0 && i++ < 1000)
        usleep(1000);
    CHECKF("EH-17", atomic_load(&freed.calls) == 1, "the free-callback is called once", "%s: %d times", name,
           atomic_load(&freed.calls));
    CHECKF("EH-18", freed.registration == registration, "the free-callback gets the registration and the user's data",
           "%s", name);
    refuse("EH-19", registration, "a freed registration is MPI_T_ERR_INVALID_HANDLE");
}

static void check_every_type(void)
{
    for (int i = 0, n = event_count(); i < n; i++) {
        struct event_type e;
        MPI_T_event_registration registration;
        int usable, code;
        void *object;
        event_query(i, &e);
        object = object_of(e.bind, &usable);
        if (e.bind == MPI_T_BIND_NO_OBJECT) {
            for (int k = 0; k < FOREIGN; k++) {
                code = -1;
                TRY("EH-20", code = MPI_T_event_handle_alloc(i, foreign(k), MPI_INFO_NULL, &registration),
                    "obj_handle is ignored for an unbound type",
                    CHECKF("EH-20", code == MPI_SUCCESS, "obj_handle is ignored for an unbound type",
                           "%s: %s", e.name, code_name(code)));
                if (code == MPI_SUCCESS)
                    MPI_T_event_handle_free(registration, NULL, NULL);
            }
        } else {
            CHECK_REFUSED("EH-21", MPI_T_event_handle_alloc(i, NULL, MPI_INFO_NULL, &registration),
                          "a bound type needs an object");
        }
        if (!usable)
            continue;
        code = MPI_T_event_handle_alloc(i, object, MPI_INFO_NULL, &registration);
        if (!CHECKF("EH-22", code == MPI_SUCCESS, "a registration is allocated for every type", "%s: %s", e.name,
                    code_name(code)))
            continue;
        check_hints(registration, e.name);
        check_levels(registration);
        check_free(registration, e.name);
        CHECK_REFUSED("EH-23", MPI_T_event_handle_alloc(i, object, MPI_INFO_NULL, NULL),
                      "a NULL event_registration is rejected and not dereferenced");
    }
}

static void each(void)
{
    const int wrong[] = { -1, INT_MIN, INT_MAX };
    MPI_T_event_registration registration = NULL;
    if (!events_here("EH-24"))
        return;
    check_every_type();
    for (int i = 0; i < 3; i++)
        CHECK_RC("EH-25", MPI_T_event_handle_alloc(wrong[i], NULL, MPI_INFO_NULL, &registration),
                 MPI_T_ERR_INVALID_INDEX, "an index out of range is MPI_T_ERR_INVALID_INDEX");
    CHECK_RC("EH-25", MPI_T_event_handle_alloc(event_count(), NULL, MPI_INFO_NULL, &registration),
             MPI_T_ERR_INVALID_INDEX, "an index out of range is MPI_T_ERR_INVALID_INDEX");
    refuse("EH-26", NULL, "a NULL registration is MPI_T_ERR_INVALID_HANDLE");
    for (int i = 0; i < FOREIGN; i++)
        refuse("EH-27", (MPI_T_event_registration) foreign(i),
               "a pointer that is not a registration is detected and not dereferenced");
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_handles", each, objects_make, objects_free };
    return conform_main(argc, argv, &group);
}
