"""The MPI library of this process: where it is, which ABI it has, and its functions."""

import ctypes
import os
import re
from ctypes import byref, c_int
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._constants import CONSTANTS, DATATYPES, INFO_NULL

_MPI = re.compile(r"libmpi(ch|_abi|_ilp64)?\.so[.0-9]*$")
_LAYER = "libmpiscope.so"
_ABIS = ("standard", "mpich", "openmpi")


class MpitError(Exception):
    """An error of the tool information interface."""

    def __init__(self, function: str, code: int, name: str):
        super().__init__(f"{function}: {name} ({code})")
        #: The function that failed.
        self.function = function
        #: The error code of this library.
        self.code = code
        #: Its name, such as ``MPI_T_ERR_INVALID_INDEX``.
        self.name = name


class Library:
    """A loaded MPI library."""

    def __init__(self, path: Optional[str] = None):
        #: The file of the MPI library.
        self.path, self._mpi, layer = _find(path)
        #: Whether the layer of mpiscope is in front of it.
        self.has_layer = layer is not None
        self._tool = layer or self._mpi
        #: ``standard``, ``mpich`` or ``openmpi``.
        self.abi = _abi(self.path, self._mpi)
        self._column = _ABIS.index(self.abi)
        self._errors = {values[self._column]: name for name, values in CONSTANTS["error"].items()}
        self.types = self._datatypes()
        #: Whether the tool is closed.
        self.closed = False

    def has(self, function: str) -> bool:
        """Whether the library has the function: without the layer, an old one has no events."""
        return hasattr(self._tool, function)

    def call(self, function: str, *arguments: Any) -> None:
        """Calls a function; raises `MpitError` if it fails."""
        if self.closed:
            # Not every library reports this itself.
            code = self.value("error", "MPI_T_ERR_NOT_INITIALIZED")
            raise MpitError(function, code, "MPI_T_ERR_NOT_INITIALIZED")
        try:
            entry = getattr(self._tool, function)
        except AttributeError:
            raise MpitError(function, -1, "this library does not have this function; run under `mpiscope run` to get it") from None
        code = entry(*arguments)
        if code != 0:
            raise MpitError(function, code, self._errors.get(code, "error"))

    def values(self, category: str) -> Dict[int, str]:
        """The names of the constants of a category by their value in this library."""
        return {values[self._column]: name for name, values in CONSTANTS[category].items()}

    def value(self, category: str, name: str) -> int:
        """A constant by its name."""
        return CONSTANTS[category][name][self._column]

    def datatype(self) -> Any:
        """A variable for a datatype's handle."""
        return ctypes.c_int() if self.abi == "mpich" else ctypes.c_void_p()

    def info_null(self) -> Any:
        """``MPI_INFO_NULL`` as an argument."""
        return self._handle(INFO_NULL)

    def _handle(self, row: Sequence[Any]) -> Any:
        if self.abi == "mpich":
            return ctypes.c_int(_signed(row[1]))
        if self.abi == "standard":
            return ctypes.c_void_p(row[0])
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self._mpi, row[2])))

    def _datatypes(self) -> Dict[Optional[int], Tuple[str, Any]]:
        found = {}
        for name, row in DATATYPES.items():
            try:
                found[self._handle(row).value] = (name, getattr(ctypes, row[3]))
            except ValueError:
                continue  # a library without this datatype
        return found

    def sized(self, ask: Any) -> Tuple[str, str]:
        """Name and description from a function that returns both in buffers with lengths."""
        name_length, text_length = c_int(0), c_int(0)
        ask(None, byref(name_length), None, byref(text_length))
        name = ctypes.create_string_buffer(max(name_length.value, 1))
        text = ctypes.create_string_buffer(max(text_length.value, 1))
        name_length, text_length = c_int(len(name)), c_int(len(text))
        ask(name, byref(name_length), text, byref(text_length))
        return _text(name), _text(text)


def _text(buffer: Any) -> str:
    """A text of the library; bytes that are not UTF-8 are kept as in Python's file names."""
    return str(buffer.value, "utf-8", "surrogateescape")


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def _mapped() -> List[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = [line.split(None, 5)[5].rstrip("\n") for line in maps if line.count("/")]
    return list(dict.fromkeys(paths))


def _find(path: Optional[str]) -> Tuple[str, ctypes.CDLL, Optional[ctypes.CDLL]]:
    """The MPI library with its path, and the layer."""
    if path is not None:
        mpi = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        return path, mpi, _layer(_mapped())
    mapped = _mapped()
    for file in mapped:
        if _MPI.match(os.path.basename(file)):
            library = ctypes.CDLL(file)
            if hasattr(library, "MPI_T_init_thread"):
                return file, library, _layer(mapped)
    raise ImportError(
        "no MPI library is loaded: import mpi4py.MPI first, or name the library by its path"
    )


def _layer(mapped: List[str]) -> Optional[ctypes.CDLL]:
    files = [file for file in mapped if os.path.basename(file) == _LAYER]
    return ctypes.CDLL(files[0]) if files else None


def _abi(path: str, library: ctypes.CDLL) -> str:
    if os.path.basename(path).startswith("libmpi_abi"):
        return "standard"
    return "openmpi" if hasattr(library, "ompi_mpi_comm_world") else "mpich"
