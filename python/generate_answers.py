"""The typed records of `mpiscope/_answers.py`, made from the published forms of the JSON in `share`: a class for each object."""

import json
import keyword
import textwrap
from pathlib import Path

SHARE = Path(__file__).resolve().parent.parent / "share"
# The verbs whose answers the module gives.
VERBS = ("core", "diff", "inspect", "jobs", "procs", "ps", "queues", "report", "trace", "vars", "why")
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Form:
    """The published form of a verb's answer."""

    def __init__(self, verb):
        (self.file,) = SHARE.glob(f"mpiscope.{verb}.[0-9]*.schema.json")
        self.schema = json.loads(self.file.read_text())
        self.prefix = verb.capitalize()

    def classes(self):
        """Name, description, fields of every object; a field is its name, type, class if it has one, and description."""
        if "properties" in self.schema:
            yield self.prefix, self.schema.get("description", ""), self.fields(self.schema)
        for name, form in self.schema.get("$defs", {}).items():
            if self.properties(form):
                yield self.prefix + name, form.get("description", ""), self.fields(form)

    def resolved(self, form):
        return self.schema["$defs"][form["$ref"].rpartition("/")[2]] if "$ref" in form else form

    def properties(self, form):
        """All fields that the form may have, and those that it always has."""
        own = dict(form.get("properties", {}))
        always = set(form.get("required", ()))
        if "$ref" in form:
            more, required = self.properties(self.resolved(form)) or ({}, set())
            own, always = {**more, **own}, always | required
        for word in ("anyOf", "oneOf"):
            several = [self.properties(one) or ({}, set()) for one in form.get(word, ())]
            for more, _ in several:
                own = {**more, **own, **{name: either(own[name], more[name]) for name in own if name in more}}
            if several:
                always |= set.intersection(*(required for _, required in several))
        return (own, always) if own else None

    def fields(self, form):
        own, always = self.properties(form)
        for name, one in sorted(own.items()):
            kind, record = self.kind(one)
            optional = name not in always and not kind.startswith("Optional") and kind != "Any"
            yield name, f"Optional[{kind}]" if optional else kind, record, one.get("description", "")

    def kind(self, form):
        """The type, and the class of what is in it."""
        if not isinstance(form, dict):
            return "Any", None
        if "$ref" in form:
            name = form["$ref"].rpartition("/")[2]
            if self.properties(self.resolved(form)):
                return self.prefix + name, self.prefix + name
            return self.kind(self.resolved(form))
        for word in ("anyOf", "oneOf"):
            if word in form:
                return union([self.kind(one) for one in form[word]])
        if "const" in form or "enum" in form:
            return "str", None
        kinds = form.get("type")
        return union([self.plain(one, form) for one in (kinds if isinstance(kinds, list) else [kinds])])

    def plain(self, name, form):
        if name == "array":
            inner = form.get("prefixItems") or [form.get("items", True)]
            kind, record = union([self.kind(one) for one in inner])
            return f"{'Rows' if record else 'List'}[{kind}]", record
        if name == "object":
            kind, record = self.kind(form.get("additionalProperties", True))
            return f"Dict[str, {kind}]", record
        return SCALARS.get(name, "Any"), None


def either(one, other):
    """A field that is not the same in all alternatives of an object."""
    return one if one == other else {"description": one.get("description", ""), "anyOf": [one, other]}


def union(kinds):
    """One type for several; whatever has more than one beside nothing may be anything."""
    something = list(dict.fromkeys(kind for kind in kinds if kind[0] != "None"))
    if not something:
        return "None", None
    if len(something) > 1:
        return "Any", None
    kind, record = something[0]
    optional = len(something) < len(set(kinds)) and not kind.startswith("Optional") and kind != "Any"
    return (f"Optional[{kind}]" if optional else kind), record


def comment(text):
    text = " ".join(text.replace("`", "``").split())
    return [f"    #: {line}" for line in textwrap.wrap(text, 110)]


def docstring(text):
    text = " ".join(text.replace("`", "``").split()) or "An object of the answer."
    lines = textwrap.wrap(text, 108)
    return [f'    """{lines[0]}', *(f"    {line}" for line in lines[1:])] if lines[1:] else [f'    """{lines[0]}']


def text():
    lines = [
        '"""The objects of all answers, with the types of their fields. Made by `python/generate.py` from `share/`, not by hand."""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Any, Dict, List, Optional",
        "",
        "from ._record import Record, Rows",
    ]
    within = []
    for form in map(Form, VERBS):
        for name, description, fields in form.classes():
            first, *rest = docstring(description)
            lines += ["", "", f"class {name}(Record):"]
            lines += [first + '"""', ""] if not rest else [first, *rest[:-1], rest[-1] + '"""', ""]
            records, maps = {}, []
            for field, kind, record, said in fields:
                lines += [*comment(said), f"    {field}{'_' * keyword.iskeyword(field)}: {kind}"]
                if record:
                    records[field] = record
                if "Dict[str" in kind:
                    maps.append(field)
            if records or maps:
                inside = ", ".join(f'"{field}": {record}' for field, record in records.items())
                within.append(f"{name}._classes = {{{inside}}}")
                if maps:
                    within.append(f"{name}._maps = frozenset({maps!r})".replace("'", '"'))
    return "\n".join([*lines, "", "", *within, ""])
