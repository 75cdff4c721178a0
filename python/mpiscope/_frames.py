"""pandas, which is only needed for data frames."""

import importlib
from typing import Any


def pandas() -> Any:
    """The module pandas.

    Raises ImportError with the install command if it is not installed.
    """
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError as missing:
        if missing.name != "pandas":
            raise
        raise ImportError("data frames need pandas: pip install 'mpiscope[pandas]'", name="pandas") from missing
