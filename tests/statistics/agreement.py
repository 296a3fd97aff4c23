"""The figures of the first screen in text against those of a page of the same runs."""

import html
import re

GAP = re.compile(r" {2,}")
ROW = re.compile(r'<tr class="row[^>]*><th scope="row">(.*?)</th><td>(.*?)</td><td class="n v">(.*?)</td><td class="n v">(.*?)</td>'
                 r'<td class="n change[^>]*>(.*?)</td><td class="n interval">(.*?)</td><td class="n p">(.*?)</td>')
NUMBER = re.compile(r"([-+]?)(\d+)(?:\.(\d+))?([A-Za-z]*)$")
SIZES = {"": 1, "B": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def read(text):
    """(the number, by how much it may be rounded)"""
    sign, whole, digits, suffix = NUMBER.match(text).groups()
    size = SIZES[suffix]
    value = float(f"{sign}{whole}.{digits or 0}") * size
    return value, 0.5 * size / 10 ** len(digits or "")


def is_same(one, other):
    if one == other or "-" in (one, other):
        return one == other
    (a, of_a), (b, of_b) = read(one), read(other)
    # What is written as 0 is less than what is written at all.
    return abs(a - b) <= (of_a + of_b) * 1.001 or (0 in (a, b) and max(a, b) < 0.06)


def cells_of(text):
    """By group, the cells of each headline, and what moved most."""
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
    """"30.4~25.9K": the suffix is of both."""
    parts = re.split("[→~]", cell.split(" ")[0])
    suffix = re.sub(r"^[-+\d.]*", "", parts[-1])
    parts = [part + suffix if re.fullmatch(r"[-+\d.]+", part) and part != "0" and len(parts) > 1 else part for part in parts]
    return parts if len(parts) == 2 else parts * 2


def compare(text, page, is_true):
    """How many figures agree."""
    groups, count = cells_of(text), 0
    for row in ROW.findall(page):
        group, label, before, after, change, interval, p = map(html.unescape, row)
        cells, most = groups[group]
        for one, other in zip(sides(cells[label]), (before, after)):
            is_true(is_same(one, other), (group, label, cells[label], before, after))
            count += 1
        is_true(("~" in change) == ("→" not in cells[label]), (group, label, cells[label], change))
        is_true(p or "~" in change, (group, label))
        moved = re.match(r"(\S+) \S+ (\S+) \((\S+) to (\S+)\)$", most)
        if moved and moved[1] == label:
            is_true(moved[2] == change.removeprefix("~ "), (group, label, most, change))
            is_true([end.rstrip("%") for end in interval.split(" to ")] == [moved[3], moved[4]], (group, label, most, interval))
            count += 3
    return count
