"""The objects in every answer, whose fields are attributes, and lists of such objects."""

import keyword
from typing import TYPE_CHECKING, Any, Dict, FrozenSet, Iterable, List, Type, TypeVar

from ._frames import pandas

T = TypeVar("T")

#: Maximum number of characters of an object's fields in its `repr`.
_LONGEST = 2000


class Record:
    """An object in an answer: the fields of the JSON object are its attributes.

    >>> Record({"rank": 3, "call": {"function": "MPI_Recv"}}).call.function
    'MPI_Recv'

    Fields can also be accessed by index. A name that is a Python keyword gets an underscore at the end:

    >>> message = Record({"from": "0", "to": "1"})
    >>> message["from"], message.from_
    ('0', '0')

    A declared field that the answer does not contain is None; ``"name" in record`` tells whether it does.
    """

    #: Classes of fields that are objects, or lists or dictionaries of objects.
    _classes: Dict[str, Type["Record"]] = {}
    #: Fields that are dictionaries with arbitrary keys.
    _maps: FrozenSet[str] = frozenset()

    def __init__(self, fields: Dict[str, Any]):
        self._fields = fields

    # Type checkers know the declared fields and reject all others; `record["name"]` accesses any field.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or name == "_fields":
                raise AttributeError(name)
            field = name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name
            try:
                return self._field(field)
            except KeyError:
                pass
            if any(name in vars(kind).get("__annotations__", {}) for kind in type(self).__mro__):
                return None
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {sorted(self._fields)}")

    def __getitem__(self, name: str) -> Any:
        return self._field(name)

    #: A record is not iterable; without this, Python would access its element 0.
    __iter__: Any = None

    def _field(self, name: str) -> Any:
        value, kind = self._fields[name], self._classes.get(name, Record)
        if name in self._maps and isinstance(value, dict):
            return {key: _wrapped(one, kind) for key, one in value.items()}
        return _wrapped(value, kind)

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._fields]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and other._fields == self._fields

    def __hash__(self) -> int:
        return hash(repr(self._fields))

    def __repr__(self) -> str:
        """The fields, cut where a report or a trace would fill the screen.

        >>> Record({"rank": 3})
        Record({'rank': 3})
        >>> len(repr(Record({"calls": list(range(100000))}))) < 3000
        True
        """
        fields = repr(self._fields)
        shown = fields if len(fields) <= _LONGEST else f"{fields[:_LONGEST]}..."
        return f"{type(self).__name__}({shown})"

    def to_dict(self) -> Dict[str, Any]:
        """The object as the command printed it.

        >>> Record({"rank": 3}).to_dict()
        {'rank': 3}
        """
        return self._fields


def _wrapped(value: Any, kind: Type[Record]) -> Any:
    if isinstance(value, dict):
        return kind(value)
    if isinstance(value, list):
        return Rows(_wrapped(one, kind) for one in value)
    return value


class Rows(List[T]):
    """A list of records.

    >>> Rows([Record({"rank": 0}), Record({"rank": 1})]).to_dicts()
    [{'rank': 0}, {'rank': 1}]
    """

    def to_dicts(self) -> List[Dict[str, Any]]:
        """All records as the command printed them."""
        return [one.to_dict() for one in self]  # type: ignore[attr-defined]

    def to_pandas(self) -> Any:
        """A data frame with one row per record; nested fields are columns ``outer.inner``. Needs pandas."""
        return pandas().json_normalize(self.to_dicts())
