/* A program without MPI_Init: everything is derived from a session. */
#include "say.h"

int main(void)
{
#if MPI_VERSION >= 4
    MPI_Session session;
    MPI_Info info;
    MPI_Group world, self;
    MPI_Comm comm, own, dup;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
    MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Comm_create_from_group(world, "tag.one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    said = fopen(place("said"), "w");
    say("info", "info", RAW(info), "pairs=thread_level:MPI_THREAD_SINGLE;");
    say("session", "session", RAW(session), "hints=thread_level:MPI_THREAD_SINGLE; made_by=MPI_Session_init");
    say("world", "group", RAW(world), "rank=%d size=%d members= parent=@session name=mpi://WORLD", rank, size);
    say("comm", "comm", RAW(comm), "rank=%d size=%d members= same=comm made_by=MPI_Comm_create_from_group", rank, size);
    MPI_Group_from_session_pset(session, "mpi://SELF", &self);
    say("self", "group", RAW(self), "rank=0 size=1 members=%d name=mpi://SELF", rank);
    MPI_Comm_create_from_group(self, "tag.two", MPI_INFO_NULL, MPI_ERRORS_RETURN, &own);
    say("own", "comm", RAW(own), "rank=0 size=1 members=%d same=own%d", rank, rank);
    MPI_Comm_dup(comm, &dup);
    say("dup", "comm", RAW(dup), "rank=%d size=%d parent=@comm same=dup", rank, size);
    fclose(said);
    hand_over("image");
    MPI_Comm_free(&dup);
    MPI_Comm_free(&own);
    MPI_Comm_free(&comm);
    MPI_Group_free(&self);
    MPI_Group_free(&world);
    MPI_Info_free(&info);
    MPI_Session_finalize(&session);
    hand_over("end");
#else
    MPI_Init(NULL, NULL);
    open_said();
    fclose(said);
    hand_over("image");
    hand_over("end");
    MPI_Finalize();
#endif
    return 0;
}
