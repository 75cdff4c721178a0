"""MPI objects in gdb: shows the object of a handle.

To load it manually:

    (gdb) source /path/to/share/mpiscope-gdb.py

`mpiscope attach` loads it automatically; `mpiscope gdb-script` prints it.

    (gdb) print comm                              an MPI_Comm, MPI_Datatype, MPI_Request, ... shows its object
    (gdb) print status                            an MPI_Status: source, tag, error, bytes
    (gdb) info mpi                                the number of objects
    (gdb) info mpi comm                           all objects of a kind
    (gdb) info mpi handle comm                    everything about the object of a variable
    (gdb) info mpi handle 1140850688 comm         the same for an INTEGER of Fortran
    (gdb) info mpi leaks                          objects that are not freed, by the place that created them
    (gdb) mpi pin comm                            keeps its data when it is freed; `mpi release` ends that

The program must have been started under the layer (`mpiscope run`, or LD_PRELOAD=libmpiscope.so). Live processes and core
files show the same. The answers come from the `mpiscope` command: $MPISCOPE, or the one near this file or libmpiscope.so, or in PATH. A
process that it cannot read (behind a gdb server) is read through gdb's own access to memory.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile

import gdb
import gdb.printing
from gdb.FrameDecorator import FrameDecorator

# The C types of handles and the words for their kinds.
KINDS = {
    "MPI_Comm": "comm",
    "MPI_Group": "group",
    "MPI_Datatype": "datatype",
    "MPI_Request": "request",
    "MPI_Message": "message",
    "MPI_Op": "op",
    "MPI_Errhandler": "errhandler",
    "MPI_Info": "info",
    "MPI_File": "file",
    "MPI_Win": "win",
    "MPI_Session": "session",
}
WORDS = sorted(KINDS.values()) + ["keyval"]
# Possible names of C++ and Fortran types: MPI_Comm, mpi_comm, Type mpi_comm.
BY_NAME = {name.lower(): kind for name, kind in KINDS.items()}
# The fields of a status that programs may use.
STATUS = ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR")
# Saved here, because gdb deletes it after reading the script.
HERE = globals().get("__file__")
# Images are written and read by processors of one byte order.
BYTE_ORDER = "little"
# The command answers quickly; only a broken installation takes longer.
PATIENCE_S = 60


class CannotSee(Exception):
    """The reason why there is no answer."""


def command():
    """The mpiscope command."""
    named = os.environ.get("MPISCOPE")
    if named:
        return named
    near = [HERE] if HERE else []
    near += [one.filename for one in gdb.objfiles() if os.path.basename(one.filename or "") == "libmpiscope.so"]
    for file in near:
        for place in ("mpiscope", "../bin/mpiscope", "../../bin/mpiscope", "../target/release/mpiscope"):
            path = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(file)), place))
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
    found = shutil.which("mpiscope")
    if not found:
        raise CannotSee("no mpiscope command: set the environment variable MPISCOPE to its path and start gdb again")
    return found


def core_file():
    """The core file loaded in gdb, if any."""
    files = gdb.execute("info files", to_string=True)
    found = re.search(r"core dump file:\s*\n?\s*[`'](.*?)['`], file type", files)
    return found.group(1) if found else None


class Copy:
    """The image, copied through gdb to a temporary file. It has the state at which the program stopped."""

    def __init__(self):
        self.path = None

    def drop(self):
        if self.path:
            os.unlink(self.path)
            self.path = None

    def make(self):
        if not self.path:
            data = self.read()
            handle, self.path = tempfile.mkstemp(prefix="mpiscope-", suffix=".image")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        return self.path

    @staticmethod
    def symbol():
        """The location of the image's address. With debug information, the name in an expression is that of a Rust crate."""
        try:
            return int(gdb.parse_and_eval("(unsigned long)&mpiscope_image"))
        except gdb.error:
            pass
        try:
            found = re.search("(0x[0-9a-f]+) <mpiscope_image>", gdb.execute("info line mpiscope_image", to_string=True))
            if found:
                return int(found.group(1), 16)
        except gdb.error:
            pass
        raise CannotSee("the program does not run under libmpiscope.so")

    @staticmethod
    def read():
        """Reads the image: first its header, which has the length."""
        inferior = gdb.selected_inferior()
        try:
            pointer = int.from_bytes(inferior.read_memory(Copy.symbol(), 8).tobytes(), BYTE_ORDER)
            head = inferior.read_memory(pointer, 4096).tobytes() if pointer else b""
        except gdb.error as error:
            raise CannotSee("the image cannot be found in memory: %s" % error)
        if head[:8] != b"MPISCOPE":
            raise CannotSee("the program has not called MPI under libmpiscope.so yet")
        length = int.from_bytes(head[24:32], BYTE_ORDER)
        if not 4096 <= length <= 1 << 34:
            raise CannotSee("the image states an impossible length of %d bytes" % length)
        try:
            return inferior.read_memory(pointer, length).tobytes()
        except gdb.error as error:
            raise CannotSee("the image cannot be read: %s" % error)


COPY = Copy()
# Answers are cached while the program is stopped.
ANSWERS = {}


def forget(*_):
    """Discards cached answers: the program has continued, or another one was selected."""
    ANSWERS.clear()
    COPY.drop()


def targets():
    """The possible targets for the command, the best one first."""
    core = core_file()
    if core:
        yield lambda: core
        return
    inferior = gdb.selected_inferior()
    if not inferior.pid:
        raise CannotSee("no program runs and no core file is loaded")
    connection = getattr(inferior, "connection", None)
    if connection is None or connection.type == "native":
        yield lambda: str(inferior.pid)
    yield COPY.make


def ask(*arguments):
    """The command's answer, as a dictionary."""
    if arguments in ANSWERS:
        return ANSWERS[arguments]
    why = None
    # gdb may be set to preload the layer into everything, but the command is not an MPI program.
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    for target in targets():
        try:
            line = [command(), "inspect", target(), "--json", *arguments]
        except CannotSee as reason:
            # The reason why the command could not read the process itself says more.
            why = why or "%s" % reason
            break
        try:
            done = subprocess.run(
                line, stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=PATIENCE_S, check=False
            )
            answer = json.loads(done.stdout) if done.stdout else None
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise CannotSee("%s: %s" % (line[0], error))
        if answer and answer.get("ranks"):
            ANSWERS[arguments] = answer
            return answer
        # The command wraps its lines.
        why = " ".join(done.stderr.decode(errors="replace").split())
        why = why[len("mpiscope: "):] if why.startswith("mpiscope: ") else why
    raise CannotSee(why or "mpiscope inspect did not answer")


def process(answer):
    """The process in the answer; several mean that the process in gdb is not one of them."""
    ranks = answer["ranks"]
    if len(ranks) != 1:
        raise CannotSee("this process does not call MPI")
    if ranks[0].get("cannot_see"):
        raise CannotSee(ranks[0]["cannot_see"])
    return ranks[0]


def find(kind, handle, fortran=False):
    """The object with a handle."""
    arguments = ["--handle", str(handle)]
    if kind:
        arguments += ["--kind", kind]
    if fortran:
        arguments.append("--fortran")
    seen = process(ask(*arguments))
    if not seen["objects"]:
        raise CannotSee(seen.get("missing") or "no such object")
    return seen["objects"][0]


def kind_of(type_):
    """The kind of MPI object if values of this type are its handles; otherwise None."""
    if type_.code in (gdb.TYPE_CODE_REF, getattr(gdb, "TYPE_CODE_RVALUE_REF", gdb.TYPE_CODE_REF)):
        type_ = type_.target()
    type_ = type_.unqualified()
    seen = 0
    while seen < 16:
        name = (type_.name or "").lower()
        name = name[len("type "):] if name.startswith("type ") else name
        if name in BY_NAME:
            return BY_NAME[name]
        if type_.code != gdb.TYPE_CODE_TYPEDEF:
            return None
        type_ = type_.target().unqualified()
        seen += 1
    return None


def number_of(value):
    """The handle in a value, and whether it is a Fortran handle."""
    type_ = value.type.strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_REF, getattr(gdb, "TYPE_CODE_RVALUE_REF", gdb.TYPE_CODE_REF)):
        value = value.referenced_value()
        type_ = value.type.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_STRUCT:
        # mpi_f08: a type around the INTEGER. C++: a class around the C handle.
        for field in type_.fields():
            if field.name and field.name.lower() == "mpi_val":
                return int(value[field.name]), True
        for field in type_.fields():
            if field.name and not field.is_base_class:
                return number_of(value[field])
    return int(value), False


class Handle:
    """A handle with its object."""

    def __init__(self, value, kind):
        self.value = value
        self.kind = kind

    def to_string(self):
        try:
            number, fortran = number_of(self.value)
        except (gdb.error, ValueError) as error:
            return "<cannot be read: %s>" % error
        shown = "%d" % number if fortran else "%#x" % (number & (1 << 64) - 1 if number >= 0 else number & 0xFFFFFFFF)
        try:
            found = find(self.kind, number, fortran)
        except CannotSee as why:
            return "%s <%s>" % (shown, why)
        return "%s %s" % (shown, brief(found))


def clean(text):
    """Makes names safe: they cannot control the terminal."""
    return "".join(one if one.isprintable() else "?" for one in text)


def identity(found):
    """The identity by which other commands name an unnamed object that several ranks share."""
    number = int(found.get("identity", "0x0"), 16)
    if found["kind"] not in ("comm", "win") or found.get("name") or not number:
        return ""
    return "id:%08x: " % (number >> 32)


def left(leak):
    """Objects that are not freed, by the place that created them."""
    last = "last made by " if leak.get("last") else ""
    active = ", active" if leak.get("active") else ""
    return "{count} of kind {kind}, {0}{function} at {place}{1}".format(last, active, **leak)


def brief(found):
    """An object in one line, with the details that the line for all ranks omits."""
    text = identity(found) + clean(found["brief"])
    if found["kind"] == "comm" and found.get("rank") is not None and found["size"] > 1:
        text += ", rank %d here" % found["rank"]
    if found["standing"] != "live" and found["standing"] != "null":
        text += " [%s]" % {"marked": "freed, in use"}.get(found["standing"], found["standing"])
    return text


class Status:
    """A status: the standard's fields, and the length of the message if the library's own fields contain it."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            text = ["%s = %d" % (name, int(self.value[name])) for name in STATUS]
            count = self.bytes({field.name for field in self.value.type.strip_typedefs().fields()})
        except gdb.error as error:
            return "<cannot be read: %s>" % error
        return "{%s}" % ", ".join(text + (["%d bytes" % count] if count is not None else []))

    def bytes(self, names):
        """MPICH stores the upper half together with a flag; Open MPI has one number."""
        if {"count_lo", "count_hi_and_cancelled"} <= names:
            low, high = (int(self.value[name]) & 0xFFFFFFFF for name in ("count_lo", "count_hi_and_cancelled"))
            return high >> 1 << 32 | low
        return int(self.value["_ucount"]) if "_ucount" in names else None


def is_status(type_):
    """Whether this type is the MPI_Status of C."""
    plain = type_.strip_typedefs()
    if "MPI_Status" not in (type_.unqualified().name, plain.name) or plain.code != gdb.TYPE_CODE_STRUCT:
        return False
    return set(STATUS) <= {field.name for field in plain.fields()}


def printer(value):
    """Called by gdb for every value that it prints."""
    if is_status(value.type):
        return Status(value)
    kind = kind_of(value.type)
    return Handle(value, kind) if kind else None


printer.name = "mpiscope"
printer.enabled = True


class InfoMpi(gdb.Command):
    """MPI objects of the program.

info mpi                 the number of objects of each kind
info mpi KIND            all objects of a kind: comm, datatype, request, win, ...
info mpi leaks           objects that are not freed, by the place that created them
info mpi handle X        everything about the object of the variable X
info mpi handle N KIND   the same for a number: an INTEGER of Fortran, or a handle in C"""

    def __init__(self):
        super().__init__("info mpi", gdb.COMMAND_DATA)

    def invoke(self, argument, _from_tty):
        words = gdb.string_to_argv(argument)
        try:
            for line in self.lines(words):
                print(clean(line))
        except CannotSee as why:
            raise gdb.GdbError("%s" % why)

    def complete(self, text, _word):
        words = WORDS + ["handle", "leaks"]
        return [word for word in words if word.startswith(text)] if " " not in text else []

    def lines(self, words):
        if not words:
            return self.counts()
        if words[0] != "handle" and len(words) > 1:
            raise CannotSee("info mpi %s takes no further words: %s" % (words[0], " ".join(words[1:])))
        if words[0] == "leaks":
            answer = ask("--leaks")
            process(answer)
            return [left(leak) for leak in answer["leaks"]] or ["everything that was created has been freed"]
        if words[0] == "handle":
            return meant(words[1:], "info mpi handle VARIABLE, or info mpi handle NUMBER KIND")["text"]
        kind = KINDS.get(words[0], words[0].lower())
        if kind not in WORDS:
            raise CannotSee("no such kind: %s; kinds are %s" % (words[0], ", ".join(WORDS)))
        return self.listing(kind)

    @staticmethod
    def counts():
        seen = process(ask())
        counts = seen["counts"]
        # After MPI_Finalize nothing is live.
        live = "not freed" if seen["state"] == "finalized" else "live"
        lines = []
        for kind, count in counts.items():
            if any(count[word] for word in ("live", "marked", "freed")):
                parts = ["%d %s" % (count["live"], live)]
                parts += ["%d freed, in use" % count["marked"]] if count["marked"] else []
                parts += ["%d freed" % count["freed"]] if count["freed"] else []
                lines.append("%-12s %s" % (kind, ", ".join(parts)))
        return lines or ["no objects beyond the predefined ones"]

    @staticmethod
    def listing(kind):
        objects = process(ask("--kind", kind))["objects"]
        # The hundred predefined datatypes and operations are not specific to the program.
        own = [one for one in objects if kind == "comm" or not one["predefined"]]
        lines = ["%-18s %s" % (one["handle"], brief(one)) for one in own]
        if len(own) < len(objects):
            hidden = len(objects) - len(own)
            lines.append("(%d predefined %s not listed)" % (hidden, "one is" if hidden == 1 else "ones are"))
        return lines or ["no object of this kind"]


def meant(words, usage):
    """The object given by a variable, or by a number and a kind."""
    if not words or len(words) > 2:
        raise CannotSee(usage)
    kind = KINDS.get(words[1], words[1].lower()) if len(words) == 2 else None
    if kind and kind not in WORDS:
        raise CannotSee("no such kind: %s; kinds are %s" % (words[1], ", ".join(WORDS)))
    try:
        value = gdb.parse_and_eval(words[0])
        kind = kind or kind_of(value.type)
        number, fortran = number_of(value)
    except (gdb.error, ValueError) as error:
        raise CannotSee("%s: %s" % (words[0], error))
    if not kind:
        raise CannotSee("which kind of object? add it after %s: %s" % (words[0], ", ".join(WORDS)))
    # An integer is a Fortran handle; in most libraries it is also the C handle.
    plain = kind_of(value.type) is None and -(1 << 31) <= number < 1 << 31
    try:
        return find(kind, number, fortran or plain)
    except CannotSee:
        if fortran or not plain:
            raise
        return find(kind, number)


class Keep(gdb.Command):
    """Keep the data of an MPI object after it has been freed, or stop keeping it.

mpi pin X, mpi pin N KIND         keep it, even if it and many other objects are freed
mpi release X, mpi release N KIND stop keeping it

The process must be alive. Two bytes of its memory are written, which the layer reads when the object is freed; no function
is called in it."""

    # The written value, and the message.
    VERBS = {"pin": (1, "kept from now on: "), "release": (0, "no longer kept: ")}

    def __init__(self, verb):
        super().__init__("mpi " + verb, gdb.COMMAND_DATA)
        self.verb = verb

    def invoke(self, argument, _from_tty):
        try:
            print(clean(self.answer(gdb.string_to_argv(argument))))
        except (CannotSee, gdb.error) as why:
            raise gdb.GdbError("%s" % why)

    def answer(self, words):
        found = meant(words, "mpi %s VARIABLE, or mpi %s NUMBER KIND" % (self.verb, self.verb))
        if found["predefined"]:
            raise CannotSee("it is predefined and never freed: there is nothing to keep")
        if "pin_at" not in found:
            raise CannotSee("freed objects of kind %s are not kept: their records are reused immediately" % found["kind"])
        if core_file():
            raise CannotSee("this is a core file: nothing can be freed in it")
        value, done = self.VERBS[self.verb]
        word, address = value.to_bytes(2, BYTE_ORDER), int(found["pin_at"], 16)
        inferior = gdb.selected_inferior()
        inferior.write_memory(address, word)
        forget()
        if inferior.read_memory(address, len(word)).tobytes() != word:
            raise CannotSee("the process's memory at %#x does not keep the written value" % address)
        return "%s%s %s" % (done, found["handle"], brief(found))


class Named(FrameDecorator):
    """Shows a frame without a symbol as ??, as gdb does without a filter."""

    def function(self):
        return super().function() if self.inferior_frame().name() else "??"


class WithoutLayer:
    """Omits frames between the MPI library and the program from backtraces. Frames keep their numbers, so `frame N`
    selects the displayed one."""

    name = "mpiscope"
    priority = 100
    enabled = True

    @staticmethod
    def filter(frames):
        return (Named(frame) for frame in frames if not WithoutLayer.ours(frame.inferior_frame()))

    @staticmethod
    def ours(frame):
        library = gdb.solib_name(frame.pc())
        return bool(library) and os.path.basename(library) == "libmpiscope.so"


def load():
    """Registers only once per gdb, even if the file is read again."""
    gdb.pretty_printers[:] = [known for known in gdb.pretty_printers if getattr(known, "name", "") != "mpiscope"]
    gdb.pretty_printers.append(printer)
    gdb.frame_filters["mpiscope"] = WithoutLayer()
    InfoMpi()
    gdb.Command("mpi", gdb.COMMAND_DATA, prefix=True)
    for verb in ("pin", "release"):
        Keep(verb)
    for event in ("cont", "exited", "new_objfile", "inferior_call", "memory_changed", "register_changed"):
        registry = getattr(gdb.events, event, None)
        if registry is not None:
            registry.connect(forget)
    for event in ("inferior_deleted", "before_prompt"):
        registry = getattr(gdb.events, event, None)
        if registry is not None and event == "inferior_deleted":
            registry.connect(forget)


load()
