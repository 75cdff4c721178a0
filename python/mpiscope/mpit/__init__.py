"""The MPI tool information interface (MPI_T) for Python, which mpi4py does not have.

It works on every MPI library, with or without the layer of mpiscope (``mpiscope run``). The layer adds its own variables and
events, which are the same on every library::

    from mpi4py import MPI
    from mpiscope import mpit

    with mpit.Tool() as tool:
        print(tool.cvars["mpiscope_record_calls"].read())
        with tool.session() as session, session.handle("MPI_T_UMQ_LENGTH", MPI.COMM_WORLD) as waiting:
            ...
            print(waiting.read())

It uses `ctypes`: one wheel works with every version of Python, and the MPI library is only known at run time.
"""

import operator
from ctypes import byref, c_int
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    Iterator,
    List,
    Optional,
    SupportsIndex,
    Tuple,
    TypeVar,
    Union,
    overload,
)

from .._frames import pandas
from ._events import Event, EventType, Registration, Source, free_all
from ._library import Library, MpitError
from ._variables import (
    Category,
    ControlVariable,
    Enumeration,
    PerformanceVariable,
    PvarHandle,
    PvarSession,
    Variable,
)

__all__ = [
    "Category",
    "ControlVariable",
    "Enumeration",
    "Event",
    "EventType",
    "Library",
    "MpitError",
    "PerformanceVariable",
    "PvarHandle",
    "PvarSession",
    "Registration",
    "Source",
    "Table",
    "Tool",
    "Variable",
]

T = TypeVar("T")


#: A name, or a name and a class such as ``COUNTER``: performance variables of different classes may have the same name.
Name = Union[str, Tuple[str, str]]


class Table(Generic[T]):
    """Items indexed by number or by name. The library is asked at each access, since items may be added at any time.

    Performance variables of different classes may share a name, and are then indexed by name and class:
    ``table["name", "COUNTER"]``.
    """

    def __init__(self, number: Callable[[], int], make: Callable[[int], T]):
        self._number = number
        self._make = make
        #: Where each name was found last, and the number of items then. Nothing else is kept, since libraries add and remove
        #: items.
        self._found: Dict[Name, Tuple[int, int]] = {}

    def __len__(self) -> int:
        return self._number()

    def __iter__(self) -> Iterator[T]:
        return iter(self.present(range(len(self))))

    def present(self, indices: Iterable[int]) -> List[T]:
        """The items with these numbers that still exist: libraries may unload components with their variables."""
        found = []
        for index in indices:
            try:
                found.append(self[index])
            except MpitError as error:
                if error.name not in ("MPI_T_ERR_INVALID_INDEX", "MPI_T_ERR_INVALID"):
                    raise
        return found

    @overload
    def __getitem__(self, key: Union[SupportsIndex, Name]) -> T: ...

    @overload
    def __getitem__(self, key: slice) -> List[T]: ...

    def __getitem__(self, key: Union[SupportsIndex, Name, slice]) -> Union[T, List[T]]:
        """The item with a name, a name and class, or a number (a negative one counts from the end); for a slice, a list of
        those that exist."""
        if isinstance(key, (str, tuple)):
            return self._named(key)
        total = len(self)
        if isinstance(key, slice):
            return self.present(range(total)[key])
        index = operator.index(key)
        at = index + total if index < 0 else index
        if not 0 <= at < total:
            raise IndexError(f"{index} is out of range: there are {total}")
        return self._make(at)

    def _named(self, key: Name) -> T:
        total = len(self)
        at, among = self._found.get(key, (0, -1))
        for one in self.present([at] if among == total else []):
            if _is_called(one, key):
                return one
        found = [one for one in self if _is_called(one, key)]
        if not found:
            raise KeyError(key)
        if len(found) > 1:
            classes = ", ".join(getattr(one, "var_class", "of no class") for one in found)
            raise KeyError(f"{key} is ambiguous ({classes}); add the class: [{key!r}, CLASS]")
        self._found[key] = (found[0].index, total)  # type: ignore[attr-defined]
        return found[0]

    def __contains__(self, key: object) -> bool:
        return any(_is_called(one, key) for one in self)

    def names(self) -> List[str]:
        """All names."""
        return [one.name for one in self]  # type: ignore[attr-defined]

    def to_pandas(self) -> Any:
        """A data frame with one row per item. Needs pandas."""
        return pandas().DataFrame([one.to_dict() for one in self])  # type: ignore[attr-defined]


def _is_called(one: Any, key: object) -> bool:
    """Whether the key is the item's name, or its name and class."""
    return key == one.name or key == (one.name, getattr(one, "var_class", None))


class Tool:
    """The initialized interface, until it is closed; also a context manager.

    It may be created before ``MPI_Init`` and after ``MPI_Finalize``, and more than once.
    """

    def __init__(self, library: Optional[str] = None):
        #: The MPI library.
        self.library = _loaded(library)
        provided = c_int()
        self.library.call("MPI_T_init_thread", self.library.value("thread", "MPI_THREAD_MULTIPLE"), byref(provided))
        self._open = True
        self._sessions: List[PvarSession] = []
        has = self.library
        #: Control variables.
        self.cvars: "Table[ControlVariable]" = self._table("MPI_T_cvar_get_num", lambda at: ControlVariable(has, at))
        #: Performance variables.
        self.pvars: "Table[PerformanceVariable]" = self._table(
            "MPI_T_pvar_get_num", lambda at: PerformanceVariable(has, at)
        )
        self.categories: "Table[Category]" = self._table("MPI_T_category_get_num", lambda at: Category(self, at))
        #: Event types; without the layer, a library older than MPI 4 has none.
        self.events: "Table[EventType]" = self._table("MPI_T_event_get_num", lambda at: EventType(has, at))
        #: Event sources.
        self.sources: "Table[Source]" = self._table("MPI_T_source_get_num", lambda at: Source(has, at))

    def _table(self, function: str, make: Callable[[int], Any]) -> "Table[Any]":
        def number() -> int:
            if not self.library.has(function):
                return 0
            count = c_int()
            self.library.call(function, byref(count))
            return count.value

        return Table(number, make)

    def session(self) -> PvarSession:
        """Creates a session for performance variables."""
        session = PvarSession(self)
        self._sessions.append(session)
        return session

    def listen(
        self, event: str, callback: Optional[Callable[[Event], None]] = None, object: Any = None, **options: Any
    ) -> Registration:
        """Registers a callback for an event type: see `EventType.register`."""
        return self.events[event].register(callback, object, **options)

    def close(self) -> None:
        """Frees all sessions and registrations, and finalizes the interface."""
        if self._open:
            self._open = False
            free_all(self.library)
            for session in self._sessions:
                session.free()
            self.library.call("MPI_T_finalize")
            self.library.closed = True

    def __enter__(self) -> "Tool":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _loaded(path: Optional[str]) -> Library:
    """The loaded library; if there is none, the one that mpi4py loads."""
    if path is not None:
        return Library(path)
    try:
        return Library()
    except ImportError:
        try:
            import mpi4py.MPI  # noqa: F401
        except ImportError:
            pass
        return Library()
