"""Compares what a capture wrote with what the plain reader found, cell by cell, and says every difference."""

from file_json import Gap
from plain_reader import Missing


def cell_differs(expected, found):
    """Why a cell is wrong, or None."""
    if isinstance(expected, Missing):
        if not isinstance(found, Gap):
            return f"is {found!r} where there is nothing to be read"
        return None if found.name in expected.gaps else f"is a gap, {found.name}, but the reason is {expected!r}"
    if isinstance(found, Gap):
        return f"is a gap, {found.name}, but the value is {expected!r}"
    return None if type(found) is type(expected) and found == expected else f"is {found!r}, but should be {expected!r}"


def row_differences(who, expected, found):
    """Sentences about one row: `found` must have each cell of `expected`."""
    sentences = []
    for name, value in expected.items():
        why = cell_differs(value, found[name]) if name in found else "is not in the file"
        if why:
            sentences.append(f"{who}: {name} {why}")
    return sentences


def lacking_columns(expected, found, plugin_columns):
    """Columns that the plugin fills and the plain reader does not know: it would not be a check of all fields."""
    return sorted(name for name in plugin_columns if name in found and name not in expected)
