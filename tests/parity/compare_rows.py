"""Compares a captured row with the row that the plain reader found, cell by cell, and reports every difference."""

from file_json import Gap
from plain_reader import Missing


def cell_differs(expected, found):
    """Returns why a cell is wrong, or None."""
    if isinstance(expected, Missing):
        if not isinstance(found, Gap):
            return f"is {found!r}, although there is no value to read"
        return None if found.name in expected.gaps else f"is a gap, {found.name}, but the reason is {expected!r}"
    if isinstance(found, Gap):
        return f"is a gap, {found.name}, but the value is {expected!r}"
    return None if type(found) is type(expected) and found == expected else f"is {found!r}, but should be {expected!r}"


def row_differences(row_name, expected, found):
    """Returns one sentence per difference. `found` must have every cell of `expected`."""
    sentences = []
    for name, value in expected.items():
        why = cell_differs(value, found[name]) if name in found else "is not in the file"
        if why:
            sentences.append(f"{row_name}: {name} {why}")
    return sentences


def uncovered_columns(expected, found, plugin_columns):
    """Returns the columns that the plugin fills but the plain reader does not know. If there are any, the comparison does not cover all fields."""
    return sorted(name for name in plugin_columns if name in found and name not in expected)
