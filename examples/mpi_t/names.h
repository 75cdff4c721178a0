/* Names that the example tools look up, in one place. `mpiscope vars` lists those that a library has. */
#ifndef NAMES_H
#define NAMES_H

/* Event types. Elements are found by the names in the type's enumeration. */
#define EVENT_SEND_POSTED "mpiscope.send_posted"
#define EVENT_RECEIVE_COMPLETED "mpiscope.receive_completed"
#define EVENT_RECEIVE_UNEXPECTED "mpiscope.receive_unexpected"
#define EVENT_RECEIVE_LATE "mpiscope.receive_late"

#define ELEMENT_PEER "peer"     /* the other side's rank in the communicator */
#define ELEMENT_TAG "tag"
#define ELEMENT_BYTES "bytes"
#define ELEMENT_POSTED "posted"    /* when the receive was posted, in ticks of the event's source */
#define ELEMENT_SENT "sent"           /* when the sender posted the message, in the same ticks */

#endif
