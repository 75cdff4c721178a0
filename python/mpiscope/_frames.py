"""Imports pandas, which is needed only for data frames."""

import importlib
from typing import Any


def pandas() -> Any:
    """The module pandas.

    Raises ImportError, which says how to install it, if it is missing.
    """
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError as missing:
        if missing.name != "pandas":
            raise
        raise ImportError("data frames need pandas: pip install 'mpiscope[pandas]'", name="pandas") from missing
