"""Compares the values of the first screen as text with those of an HTML page of the same runs."""

import html
import re

GAP = re.compile(r" {2,}")
ROW = re.compile(r'<tr class="row[^>]*><th scope="row">(.*?)</th><td>(.*?)</td><td class="n v">(.*?)</td><td class="n v">(.*?)</td>'
                 r'<td class="n change[^>]*>(.*?)</td><td class="n interval">(.*?)</td><td class="n p">(.*?)</td>')
NUMBER = re.compile(r"([-+]?)(\d+)(?:\.(\d+))?([A-Za-z]*)$")
SIZES = {"": 1, "B": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def parse_number(text):
    """Returns (number, maximum rounding error)."""
    sign, integer, digits, suffix = NUMBER.match(text).groups()
    size = SIZES[suffix]
    value = float(f"{sign}{integer}.{digits or 0}") * size
    return value, 0.5 * size / 10 ** len(digits or "")


def is_same(one, other):
    if one == other or "-" in (one, other):
        return one == other
    (a, rounding_a), (b, rounding_b) = parse_number(one), parse_number(other)
    # A value printed as 0 can be any value below the smallest printed one.
    return abs(a - b) <= (rounding_a + rounding_b) * 1.001 or (0 in (a, b) and max(a, b) < 0.06)


def cells_of(text):
    """Returns for each group the cells of the headlines, and the column 'moved most'."""
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if "moved most" in line)
    labels = GAP.split(lines[start].strip())[3:]
    found = {}
    for line in lines[start + 1:]:
        cells = GAP.split(line.strip())
        if len(cells) != len(labels) + 3:
            break
        found[cells[0]] = (dict(zip(labels, cells[3:])), cells[2])
    return found


def sides(cell):
    """Returns both values of a cell; the suffix of "30.4~25.9K" applies to both."""
    parts = re.split("[→~]", cell.split(" ")[0])
    suffix = re.sub(r"^[-+\d.]*", "", parts[-1])
    parts = [part + suffix if re.fullmatch(r"[-+\d.]+", part) and part != "0" and len(parts) > 1 else part for part in parts]
    return parts if len(parts) == 2 else parts * 2


def compare(text, page, is_true):
    """Returns the number of compared values."""
    groups, count = cells_of(text), 0
    for row in ROW.findall(page):
        group, label, before, after, change, interval, p = map(html.unescape, row)
        cells, most = groups[group]
        for one, other in zip(sides(cells[label]), (before, after)):
            is_true(is_same(one, other), (group, label, cells[label], before, after))
            count += 1
        is_true(("~" in change) == ("→" not in cells[label]), (group, label, cells[label], change))
        is_true(p or "~" in change, (group, label))
        largest_change = re.match(r"(\S+) \S+ (\S+) \((\S+) to (\S+)\)$", most)
        if largest_change and largest_change[1] == label:
            is_true(largest_change[2] == change.removeprefix("~ "), (group, label, most, change))
            is_true([end.rstrip("%") for end in interval.split(" to ")] == [largest_change[3], largest_change[4]], (group, label, most, interval))
            count += 3
    return count
