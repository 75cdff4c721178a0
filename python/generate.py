"""Makes `mpiscope/mpit/_constants.py` from the tables of the ABIs, and `mpiscope/_answers.py` from the published forms of the JSON:
`python3 python/generate.py [--check]`."""

import sys
from pathlib import Path

import generate_answers

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "crates/mpi-abi/spec"
CONSTANTS = ROOT / "python/mpiscope/mpit/_constants.py"
ANSWERS = ROOT / "python/mpiscope/_answers.py"
COLUMNS = ("standard", "mpich", "openmpi")
# What headers of Open MPI before 6 lack; include/mpiscope/mpi_t.h has the same values.
LATER = {
    "MPI_T_BIND_MPI_SESSION": 11,
    "MPI_T_ERR_NOT_ACCESSIBLE": 81,
    "MPI_T_ERR_NOT_SUPPORTED": 82,
    "MPI_T_SOURCE_ORDERED": 0,
    "MPI_T_SOURCE_UNORDERED": 1,
    "MPI_T_CB_REQUIRE_NONE": 0,
    "MPI_T_CB_REQUIRE_MPI_RESTRICTED": 1,
    "MPI_T_CB_REQUIRE_THREAD_SAFE": 2,
    "MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE": 3,
}
FLOATS = {"MPI_FLOAT": "c_float", "MPI_DOUBLE": "c_double"}


def rows(name):
    for line in (SPEC / name).read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def constants():
    found = {}
    for name, category, *values in rows("constants.tsv"):
        if category == "thread" or category.startswith("tool_") and category != "tool_handle":
            per_abi = dict(zip(COLUMNS, (None if value == "-" else int(value, 0) for value in values)))
            if per_abi["openmpi"] is None:
                per_abi["openmpi"] = LATER[name]
            found.setdefault(category.replace("tool_", ""), {})[name] = per_abi
    return found


def datatypes():
    """Those that variables and events may have, with the type of `ctypes`."""
    found = {}
    for name, kind, standard, mpich, openmpi, size, c, elements in rows("predefined.tsv"):
        if kind != "Datatype" or size == "-" or "-" in (standard, mpich, openmpi):
            continue
        if name in FLOATS:
            ctype = FLOATS[name]
        elif name in ("MPI_CHAR", "MPI_BYTE"):
            ctype = "c_char" if name == "MPI_CHAR" else "c_ubyte"
        elif elements in ("i1", "i2", "i4", "i8") and not name.startswith(("MPI_INTEGER", "MPI_CHARACTER")):
            unsigned = "unsigned" in c or c.startswith("uint")
            ctype = f"c_{'u' if unsigned else ''}int{8 * int(size)}"
        else:
            continue
        found[name] = (int(standard, 0), int(mpich, 0), openmpi, ctype)
    return found


def info_null():
    for name, kind, standard, mpich, openmpi, *_ in rows("predefined.tsv"):
        if name == "MPI_INFO_NULL":
            return int(standard, 0), int(mpich, 0), openmpi
    raise KeyError("MPI_INFO_NULL")


def text():
    lines = [
        '"""Constants of the three ABIs. Made by `python/generate.py`, not by hand."""',
        "",
        "from typing import Dict, Tuple",
        "",
        "#: By category and name: values in the standard ABI, in MPICH's and in Open MPI's.",
        "CONSTANTS: Dict[str, Dict[str, Tuple[int, int, int]]] = {",
    ]
    for category, names in sorted(constants().items()):
        lines.append(f'    "{category}": {{')
        lines += [f'        "{name}": ({", ".join(str(values[abi]) for abi in COLUMNS)}),' for name, values in sorted(names.items())]
        lines.append("    },")
    lines += [
        "}",
        "",
        "#: Handles of datatypes: standard ABI, MPICH, the symbol in Open MPI; and the type of `ctypes`.",
        "DATATYPES: Dict[str, Tuple[int, int, str, str]] = {",
    ]
    lines += [f'    "{name}": ({a}, {b}, "{c}", "{d}"),' for name, (a, b, c, d) in sorted(datatypes().items())]
    a, b, c = info_null()
    lines += ["}", "", f'INFO_NULL: Tuple[int, int, str] = ({a}, {b}, "{c}")', ""]
    return "\n".join(lines)


def main():
    for target, made in ((CONSTANTS, text()), (ANSWERS, generate_answers.text())):
        if "--check" not in sys.argv[1:]:
            target.write_text(made)
        elif not target.is_file() or target.read_text() != made:
            sys.exit(f"{target} is out of date: run python3 python/generate.py")


if __name__ == "__main__":
    main()
