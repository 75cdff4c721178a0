"""Control variables, performance variables, categories, enumerations."""

import collections.abc
import ctypes
from ctypes import byref, c_int, c_void_p
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from ._library import Library

Value = Union[int, float, str, List[Union[int, float]]]

#: What can be written: several elements may be any sequence, such as an array of NumPy.
Settable = Union[int, float, str, Iterable[Union[int, float]]]


def address(object: Any) -> Any:
    """The address of an object to bind to: an mpi4py object, a `ctypes` instance, or None."""
    if object is None:
        return None
    if isinstance(object, ctypes._SimpleCData):
        return byref(object)
    from mpi4py import MPI

    return c_void_p(MPI._addressof(object))


class Enumeration:
    """Names of the values of a variable."""

    def __init__(self, library: Library, handle: Any):
        count = c_int()

        def info(name: Any, length: Any, _text: Any, _text_length: Any) -> None:
            library.call("MPI_T_enum_get_info", handle, byref(count), name, length)

        #: The name of the enumeration.
        self.name = library.sized(info)[0]
        #: Names by value.
        self.items: Dict[int, str] = {}
        for index in range(count.value):
            value = c_int()

            def item(name: Any, length: Any, _text: Any, _text_length: Any) -> None:
                library.call("MPI_T_enum_get_item", handle, index, byref(value), name, length)

            name = library.sized(item)[0]
            self.items[value.value] = name

    def __repr__(self) -> str:
        return f"Enumeration({self.name!r}, {self.items!r})"


class Variable:
    """Common part of control and performance variables."""

    def __init__(self, library: Library, index: int):
        self._library = library
        #: The index in this process.
        self.index = index
        self.name = ""
        self.desc = ""
        #: The kind of object it is bound to, such as ``MPI_COMM``, or ``NO_OBJECT``.
        self.bind = ""
        #: The verbosity level, such as ``USER_BASIC``.
        self.verbosity = ""
        #: The datatype, such as ``MPI_INT``.
        self.type = ""
        #: The names of its values, if it has an enumeration.
        self.enum: Optional[Enumeration] = None
        self._ctype: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def to_dict(self) -> Dict[str, Any]:
        """Its properties."""
        return {key: value for key, value in vars(self).items() if not key.startswith("_") and key != "enum"}

    def _named(self, category: str, value: int, prefix: str) -> str:
        return self._library.values(category).get(value, str(value)).replace(prefix, "")

    def _described(self, verbosity: c_int, datatype: Any, enum: c_void_p, bind: c_int) -> None:
        self.verbosity = self._named("verbosity", verbosity.value, "MPI_T_VERBOSITY_")
        self.bind = self._named("bind", bind.value, "MPI_T_BIND_")
        self.type, self._ctype = self._library.types.get(datatype.value, ("", None))
        self.enum = Enumeration(self._library, enum) if enum.value else None

    def _check(self, object: Any) -> None:
        if self.bind != "NO_OBJECT" and object is None:
            raise ValueError(f"{self.name} is bound to an {self.bind}: pass one")
        if self._ctype is None:
            raise TypeError(f"{self.name} has an unknown datatype")

    def _value(self, buffer: Any) -> Value:
        if self._ctype is ctypes.c_char:
            return str(buffer.value, "utf-8", "surrogateescape")
        return buffer[0] if len(buffer) == 1 else list(buffer)

    def _filled(self, count: int, value: Settable) -> Any:
        buffer = (self._ctype * count)()
        if isinstance(value, str):
            if self._ctype is not ctypes.c_char:
                raise TypeError(f"{self.name} is not a string")
            text = value.encode("utf-8", "surrogateescape")
            if len(text) >= count:
                raise ValueError(f"{self.name} takes at most {count - 1} bytes")
            buffer.value = text
            return buffer
        many = isinstance(value, collections.abc.Iterable) and not isinstance(value, bytes)
        values = list(value) if many else [value]  # type: ignore[arg-type]
        if len(values) != count:
            raise ValueError(f"{self.name} has {count} {'element' if count == 1 else 'elements'}, not {len(values)}")
        buffer[:] = values
        # `ctypes` cuts off what does not fit.
        for wanted, kept in zip(values, buffer):
            if isinstance(kept, int) and wanted != kept:
                raise OverflowError(f"{wanted} does not fit into {self.name}, an {self.type}")
        return buffer


class ControlVariable(Variable):
    """A control variable (cvar)."""

    def __init__(self, library: Library, index: int):
        super().__init__(library, index)
        verbosity, bind, scope = c_int(), c_int(), c_int()
        datatype, enum = library.datatype(), c_void_p()

        def info(name: Any, name_length: Any, text: Any, text_length: Any) -> None:
            library.call(
                "MPI_T_cvar_get_info", index, name, name_length, byref(verbosity), byref(datatype), byref(enum),
                text, text_length, byref(bind), byref(scope),
            )  # fmt: skip

        self.name, self.desc = library.sized(info)
        self._described(verbosity, datatype, enum, bind)
        #: The scope, such as ``LOCAL`` or ``CONSTANT``.
        self.scope = self._named("scope", scope.value, "MPI_T_SCOPE_")

    def read(self, object: Any = None) -> Value:
        """The value; for a bound variable, its value for this object."""
        with _ControlHandle(self, object) as (handle, count):
            buffer = (self._ctype * count)()
            self._library.call("MPI_T_cvar_read", handle, buffer)
            return self._value(buffer)

    def write(self, value: Settable, object: Any = None) -> None:
        """Sets the value; for a bound variable, its value for this object."""
        with _ControlHandle(self, object) as (handle, count):
            self._library.call("MPI_T_cvar_write", handle, self._filled(count, value))


class _ControlHandle:
    def __init__(self, variable: ControlVariable, object: Any):
        variable._check(object)
        self._library = variable._library
        self._handle, count = c_void_p(), c_int()
        self._library.call(
            "MPI_T_cvar_handle_alloc", variable.index, address(object), byref(self._handle), byref(count)
        )
        self._count = count.value

    def __enter__(self) -> Any:
        return self._handle, self._count

    def __exit__(self, *_: Any) -> None:
        self._library.call("MPI_T_cvar_handle_free", byref(self._handle))


class PerformanceVariable(Variable):
    """A performance variable (pvar)."""

    def __init__(self, library: Library, index: int):
        super().__init__(library, index)
        verbosity, bind, kind = c_int(), c_int(), c_int()
        readonly, continuous, atomic = c_int(), c_int(), c_int()
        datatype, enum = library.datatype(), c_void_p()

        def info(name: Any, name_length: Any, text: Any, text_length: Any) -> None:
            library.call(
                "MPI_T_pvar_get_info", index, name, name_length, byref(verbosity), byref(kind), byref(datatype),
                byref(enum), text, text_length, byref(bind), byref(readonly), byref(continuous), byref(atomic),
            )  # fmt: skip

        self.name, self.desc = library.sized(info)
        self._described(verbosity, datatype, enum, bind)
        #: The class, such as ``COUNTER``, ``LEVEL`` or ``TIMER``.
        self.var_class = self._named("class", kind.value, "MPI_T_PVAR_CLASS_")
        #: Whether it cannot be written or reset.
        self.readonly = bool(readonly.value)
        #: Whether it is always active and cannot be started or stopped.
        self.continuous = bool(continuous.value)
        #: Whether it can be read and reset atomically.
        self.atomic = bool(atomic.value)


#: A performance variable, its name, or its name and class.
Named = Union[str, Tuple[str, str], PerformanceVariable]


class PvarHandle:
    """A performance variable in a session; also a context manager, which starts it and frees it at the end."""

    def __init__(self, session: "PvarSession", variable: PerformanceVariable, object: Any = None):
        variable._check(object)
        self.variable = variable
        #: The object it is bound to, which is kept alive.
        self.object = object
        self._session = session
        self._library = variable._library
        self._handle, count = c_void_p(), c_int()
        self._call("MPI_T_pvar_handle_alloc", variable.index, address(object), byref(self._handle), byref(count))
        #: Number of elements.
        self.count = count.value
        session._handles.append(self)

    def _call(self, function: str, *arguments: Any) -> None:
        self._library.call(function, self._session._session, *arguments)

    def start(self) -> "PvarHandle":
        """Starts the variable, unless it is continuous."""
        if not self.variable.continuous:
            self._call("MPI_T_pvar_start", self._handle)
        return self

    def stop(self) -> None:
        """Stops the variable, unless it is continuous."""
        if not self.variable.continuous:
            self._call("MPI_T_pvar_stop", self._handle)

    def read(self) -> Value:
        """Reads the value."""
        buffer = (self.variable._ctype * self.count)()
        self._call("MPI_T_pvar_read", self._handle, buffer)
        return self.variable._value(buffer)

    def readreset(self) -> Value:
        """Reads the value and resets it atomically."""
        buffer = (self.variable._ctype * self.count)()
        self._call("MPI_T_pvar_readreset", self._handle, buffer)
        return self.variable._value(buffer)

    def write(self, value: Settable) -> None:
        """Sets the value."""
        self._call("MPI_T_pvar_write", self._handle, self.variable._filled(self.count, value))

    def reset(self) -> None:
        """Resets the value to its starting value."""
        self._call("MPI_T_pvar_reset", self._handle)

    def free(self) -> None:
        """Frees the handle."""
        if self._handle:
            self._call("MPI_T_pvar_handle_free", byref(self._handle))
            self._handle = c_void_p()
            self._session._handles.remove(self)

    def __enter__(self) -> "PvarHandle":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.free()


class PvarSession:
    """A session, whose handles are independent of those of other sessions; also a context manager."""

    def __init__(self, tool: Any):
        self._tool = tool
        self._session = c_void_p()
        self._handles: List[PvarHandle] = []
        tool.library.call("MPI_T_pvar_session_create", byref(self._session))

    def handle(self, variable: Named, object: Any = None) -> PvarHandle:
        """Allocates a handle for a variable, given as such or by name (with the class if the name is ambiguous), bound to an
        mpi4py object if the variable requires one."""
        if isinstance(variable, PerformanceVariable):
            return PvarHandle(self, variable, object)
        return PvarHandle(self, self._tool.pvars[variable], object)

    def read(self, variable: Named, object: Any = None) -> Value:
        """Reads the current value of a continuous variable."""
        with self.handle(variable, object) as handle:
            return handle.read()

    def free(self) -> None:
        """Frees the session and its handles."""
        if self._session:
            for handle in list(self._handles):
                handle.free()
            self._tool.library.call("MPI_T_pvar_session_free", byref(self._session))
            self._session = c_void_p()

    def __enter__(self) -> "PvarSession":
        return self

    def __exit__(self, *_: Any) -> None:
        self.free()


class Category:
    """A category of variables, event types and other categories."""

    def __init__(self, tool: Any, index: int):
        self._tool = tool
        self.index = index
        self.name, self.desc, _ = self._asked()

    def _asked(self) -> Tuple[str, str, List[int]]:
        """The name, the description, and the current numbers of variables and categories."""
        counts = [c_int(), c_int(), c_int()]

        def info(name: Any, name_length: Any, text: Any, text_length: Any) -> None:
            self._tool.library.call(
                "MPI_T_category_get_info", self.index, name, name_length, text, text_length, *map(byref, counts)
            )

        name, desc = self._tool.library.sized(info)
        return name, desc, [count.value for count in counts]

    def __repr__(self) -> str:
        return f"Category({self.name!r})"

    def _members(self, table: Any, function: str, count: int) -> List[Any]:
        indices = (c_int * max(count, 1))()
        self._tool.library.call(function, self.index, count, indices)
        return list(table.present(indices[:count]))

    @property
    def cvars(self) -> List[ControlVariable]:
        """Its control variables."""
        return self._members(self._tool.cvars, "MPI_T_category_get_cvars", self._asked()[2][0])

    @property
    def pvars(self) -> List[PerformanceVariable]:
        """Its performance variables."""
        return self._members(self._tool.pvars, "MPI_T_category_get_pvars", self._asked()[2][1])

    @property
    def categories(self) -> List["Category"]:
        """The categories in it."""
        return self._members(self._tool.categories, "MPI_T_category_get_categories", self._asked()[2][2])

    @property
    def events(self) -> List[Any]:
        """Its event types."""
        if not self._tool.library.has("MPI_T_category_get_num_events"):
            return []
        count = c_int()
        self._tool.library.call("MPI_T_category_get_num_events", self.index, byref(count))
        return self._members(self._tool.events, "MPI_T_category_get_events", count.value)
