"""Events, event types and their sources."""

import atexit
import collections
import ctypes
import time
from ctypes import CFUNCTYPE, byref, c_int, c_int64, c_ssize_t, c_void_p
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Set, Tuple

from ._library import Library, MpitError
from ._variables import Enumeration, address

_ON_EVENT = CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_void_p)
_ON_DROPPED = CFUNCTYPE(None, c_int64, c_void_p, c_int, c_int, c_void_p)
_ON_FREED = CFUNCTYPE(None, c_void_p, c_int, c_void_p)

#: Safety levels of callbacks; the default is the first.
SAFETIES = ("thread_safe", "mpi_restricted", "none")

#: The library may call these until it has released the registration, and it does not always report when.
_KEPT: List[Any] = []

#: Registrations that the library has not released.
_LIVE: "Set[Registration]" = set()

#: How long the end of the interpreter waits for callbacks that run in other threads.
_PATIENCE = 1.0


def free_all(library: Optional[Library] = None) -> None:
    """Frees all registrations, or those of one library."""
    for registration in list(_LIVE):
        if library is None or registration._library is library:
            try:
                registration.free()
            except MpitError:
                _LIVE.discard(registration)


@atexit.register
def _end() -> None:
    """MPI outlives the interpreter, whose end finalizes it: from here on, it must not call Python."""
    free_all()
    until = time.monotonic() + _PATIENCE
    while _LIVE and time.monotonic() < until:
        time.sleep(0.001)


class Event(NamedTuple):
    """An event."""

    #: The name of the event type.
    type: str
    #: The elements by name.
    elements: Dict[str, Any]
    #: The time of the event in ticks of its source; see `Source.ticks_per_second`.
    timestamp: int
    #: The number of the source.
    source: int


class Source:
    """An event source."""

    def __init__(self, library: Library, index: int):
        self._library = library
        self.index = index
        ordering, ticks, last = c_int(), c_int64(), c_int64()

        def ask(name: Any, name_length: Any, text: Any, text_length: Any) -> None:
            library.call(
                "MPI_T_source_get_info", index, name, name_length, text, text_length, byref(ordering), byref(ticks),
                byref(last), None,
            )  # fmt: skip

        self.name, self.desc = library.sized(ask)
        #: Whether its events arrive in the order of their timestamps.
        self.ordered = ordering.value == library.value("order", "MPI_T_SOURCE_ORDERED")
        self.ticks_per_second = ticks.value
        self.max_ticks = last.value

    def __repr__(self) -> str:
        return f"Source({self.name!r})"

    def timestamp(self) -> int:
        """The current time of the source, in ticks."""
        now = c_int64()
        self._library.call("MPI_T_source_get_timestamp", self.index, byref(now))
        return now.value


class EventType:
    """An event type."""

    def __init__(self, library: Library, index: int):
        self._library = library
        self.index = index
        bind, verbosity, enum, count = c_int(), c_int(), c_void_p(), c_int(0)
        self._ask(byref(verbosity), None, None, byref(count), byref(enum), byref(bind))
        types = (type(library.datatype()) * max(count.value, 1))()
        places = (c_ssize_t * max(count.value, 1))()
        self.name, self.desc = self._ask(byref(verbosity), types, places, byref(count), byref(enum), byref(bind))
        self.bind = library.values("bind").get(bind.value, str(bind.value)).replace("MPI_T_BIND_", "")
        names = list(Enumeration(library, enum).items.values()) if enum.value else []
        self._layout: List[Tuple[str, int, Any]] = []
        for at in range(count.value):
            kind = types[at] if isinstance(types[at], (int, type(None))) else types[at].value
            name = names[at] if at < len(names) else f"element{at}"
            self._layout.append((name, places[at], library.types.get(kind, ("", ctypes.c_ubyte))[1]))
        self._size = max((place + ctypes.sizeof(kind) for _, place, kind in self._layout), default=1)

    def _ask(self, verbosity: Any, types: Any, places: Any, count: Any, enum: Any, bind: Any) -> Tuple[str, str]:
        def ask(name: Any, name_length: Any, text: Any, text_length: Any) -> None:
            self._library.call(
                "MPI_T_event_get_info", self.index, name, name_length, verbosity, types, places, count, enum, None,
                text, text_length, bind,
            )  # fmt: skip

        return self._library.sized(ask)

    def __repr__(self) -> str:
        return f"EventType({self.name!r}, {self.elements!r})"

    @property
    def elements(self) -> List[str]:
        """The names of the elements."""
        return [name for name, _, _ in self._layout]

    def register(
        self,
        callback: Optional[Callable[[Event], None]] = None,
        object: Any = None,
        safety: str = SAFETIES[0],
        keep: int = 10_000,
    ) -> "Registration":
        """Calls ``callback`` with every event from now on, or keeps the last ``keep`` of them in `Registration.events`.

        The callback runs in the thread in which the event occurs, and acquires the GIL: a thread inside an MPI call must have
        released it, as mpi4py does in every call that can wait. The callback must not call MPI. Exceptions that it raises are
        kept in `Registration.errors`.
        """
        return Registration(self, callback, object, safety, keep)

    def _read(self, instance: int) -> Event:
        buffer = ctypes.create_string_buffer(self._size)
        when, source = c_int64(), c_int()
        call = self._library.call
        call("MPI_T_event_copy", c_void_p(instance), buffer)
        call("MPI_T_event_get_timestamp", c_void_p(instance), byref(when))
        call("MPI_T_event_get_source", c_void_p(instance), byref(source))
        elements = {name: kind.from_buffer(buffer, place).value for name, place, kind in self._layout}
        return Event(self.name, elements, when.value, source.value)


class Registration:
    """A callback for an event type; also a context manager, which frees it at the end."""

    def __init__(
        self, kind: EventType, callback: Optional[Callable[[Event], None]], object: Any, safety: str, keep: int
    ):
        if kind.bind != "NO_OBJECT" and object is None:
            raise ValueError(f"{kind.name} is bound to an {kind.bind}: pass one")
        if callback is not None and not callable(callback):
            raise TypeError(f"a callback must be callable, not {callback!r}")
        if safety not in SAFETIES:
            raise ValueError(f"a callback can be {', '.join(SAFETIES)}, not {safety!r}")
        self.type = kind
        #: The object it is bound to, which is kept alive.
        self.object = object
        #: The last events, if there is no callback.
        self.events: Deque[Event] = collections.deque(maxlen=keep)
        #: The exceptions that the callback raised.
        self.errors: List[BaseException] = []
        #: Number of events that the library could not deliver.
        self.dropped = 0
        self._callback = callback
        self._library = kind._library
        self._handle = c_void_p()
        self._begin(address(object), self._library.value("safety", f"MPI_T_CB_REQUIRE_{safety.upper()}"))

    def _begin(self, object: Any, safety: int) -> None:
        null = self._library.info_null
        call = self._library.call
        call("MPI_T_event_handle_alloc", self.type.index, object, null(), byref(self._handle))
        entry, dropped, self._freed = _ON_EVENT(self._happened), _ON_DROPPED(self._missed), _ON_FREED(self._released)
        _KEPT.extend((entry, dropped, self._freed))
        _LIVE.add(self)
        try:
            call("MPI_T_event_set_dropped_handler", self._handle, dropped)
            call("MPI_T_event_register_callback", self._handle, safety, null(), None, entry)
        except MpitError:
            self.free()
            raise

    def _happened(self, instance: int, _registration: int, _safety: int, _data: int) -> None:
        try:
            event = self.type._read(instance)
            if self._callback is None:
                self.events.append(event)
            else:
                self._callback(event)
        except BaseException as error:  # exceptions must not reach the library
            self.errors.append(error)

    def _missed(self, count: int, _registration: int, _source: int, _safety: int, _data: int) -> None:
        self.dropped += count

    def _released(self, _registration: int, _safety: int, _data: int) -> None:
        _LIVE.discard(self)

    def free(self) -> None:
        """Frees the registration: it receives no more events. When the interpreter ends, all are freed."""
        if self._handle:
            self._library.call("MPI_T_event_handle_free", self._handle, None, self._freed)
            self._handle = c_void_p()

    def __enter__(self) -> "Registration":
        return self

    def __exit__(self, *_: Any) -> None:
        self.free()
