"""Aggregation rules: reduce the cells of a group's rows to one value, and that value to one number (core/rules/README.md).

    reduce_cells("SumNs", [1, 2])  -> 3
    as_number({"min": 0, "max": 4}) -> 2
"""

from collections import Counter
from fractions import Fraction

from capture_file import NO_LIMIT


def add_up(cells):
    return min(sum(cells), NO_LIMIT)


def range_of(cells):
    return {"min": min(cells), "max": max(cells)}


def mode_of(cells):
    """Returns the most frequent value; of equally frequent ones the smallest as text, false before true."""
    counts = Counter(cells)
    winner = min(counts, key=lambda value: (-counts[value], str(value)))
    return {"value": winner, "count": counts[winner], "total": len(cells)}


def cpus_of(cells):
    runs = []
    for cpu in cells[0]:
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    sizes = [len(cell) for cell in cells]
    return {"min": min(sizes), "max": max(sizes), "cpus": text if len(set(cells)) == 1 else None}


def add_up_keys(cells):
    found = {}
    for cell in cells:
        for key, value in cell.items():
            found[key] = min(found.get(key, 0) + value, NO_LIMIT)
    return found


def mixed_keys(cells, is_counter):
    """Reduces each key: counters add up, gauges use the maximum."""
    sums, found = add_up_keys(cells), {}
    for key, total in sums.items():
        found[key] = total if is_counter(key) else max(cell[key] for cell in cells if key in cell)
    return found


def hundredths(cells):
    return Fraction(max(cells), 100)


def limit_of(cells):
    return "max" if max(cells) == NO_LIMIT else max(cells)


def guarantee_of(cells):
    return "max" if min(cells) == NO_LIMIT else min(cells)


BY_NAME = {"Affinity": cpus_of, "MapSum": add_up_keys, "MaxRatio": hundredths, "LimitMax": limit_of,
           "FloorMin": guarantee_of, "StackSum": add_up}
BY_PREFIX = {"Range": range_of, "Mode": mode_of, "Sum": add_up, "Max": max}


def function_of(rule):
    return BY_NAME.get(rule) or next((function for prefix, function in BY_PREFIX.items() if rule.startswith(prefix)), None)


def reduce_cells(rule, cells, is_counter=None):
    """Returns None without cells. `is_counter` returns it for a key, for maps of counters and gauges."""
    if not cells:
        return None
    return mixed_keys(cells, is_counter) if rule == "MapMixed" else function_of(rule)(cells)


def is_sum(rule):
    return rule.startswith("Sum") or rule == "StackSum"


def is_text(rule):
    """Returns whether values of the rule have no numeric form."""
    return rule.startswith("Mode") or rule == "Affinity"


def is_key_of_a_row(rule):
    return rule in ("Key", "AnyFlag", "Dead") or rule != "MapMixed" and function_of(rule) is None


def as_number(value):
    """Returns the value as one exact number; None if it has no number."""
    if isinstance(value, dict):
        return Fraction(value["min"] + value["max"], 2) if set(value) == {"min", "max"} else None
    if value is None or isinstance(value, (str, bool)):
        return None
    return Fraction(value)
