#!/usr/bin/env python3
"""Prints or checks width_ranges.hpp, the characters that do not take one column on a terminal.

    width_ranges.py            prints the header, from the Unicode data of this Python
    width_ranges.py HEADER     exits with 1 if the header has another width for a character of this Python's Unicode version

The rule is that of most terminals and of wcwidth(3) in glibc: no column for combining marks (categories Mn and Me) and for vowels and
final consonants of Hangul syllables, two columns for characters whose East Asian width is W or F, otherwise one. Unassigned characters
between characters of one width have that width, because most of them get it later.
"""

import itertools
import re
import sys
import unicodedata

LAST = 0x10FFFF
IDEOGRAPHIC_PLANES = range(0x20000, 0x3FFFE)
JAMO_PARTS = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
# Characters whose width changed after Unicode 14, the version of Python 3.11.
CHANGED = (range(0x1171E, 0x1171F), range(0x2630, 0x2638), range(0x268A, 0x2690), range(0x4DC0, 0x4E00), range(0x1D300, 0x1D357), range(0x1D360, 0x1D377))
HEADER = """\
// Characters that do not take one column on a terminal, from the data of Unicode {version}.
//
// Printed by width_ranges.py, which tests/contract checks against the Unicode data of Python.

#pragma once

namespace ctprof {{

struct CodePointRange {{
  char32_t first, last;
}};

// Characters of no width: combining marks, and parts of Hangul syllables.
inline constexpr CodePointRange kZeroWidth[] = {{
{zero}}};

// Characters of two columns: East Asian letters and pictographs.
inline constexpr CodePointRange kWide[] = {{
{wide}}};

}}  // namespace ctprof
"""


def width_of(point):
    """Returns the width of an assigned character; None if it is unassigned, or never printed."""
    character = chr(point)
    category = unicodedata.category(character)
    if category == "Cn" and point in IDEOGRAPHIC_PLANES:
        return 2
    if category in ("Cn", "Cc", "Cf", "Co", "Cs"):
        return 0 if any(point in part for part in JAMO_PARTS) else None
    if category in ("Mn", "Me") or any(point in part for part in JAMO_PARTS):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def find_ranges():
    """Returns [(width, first, last)]. A gap belongs to a range if both its neighbours have the same width."""
    known = ((point, width_of(point)) for point in range(LAST + 1))
    known = ((point, width) for point, width in known if width is not None)
    ranges = []
    for width, group in itertools.groupby(known, key=lambda pair: pair[1]):
        points = [point for point, _ in group]
        ranges.append((width, points[0], points[-1]))
    return ranges


def format_ranges(ranges, width):
    items = [f"{{0x{first:x}, 0x{last:x}}}" for one, first, last in ranges if one == width]
    return "    " + ", ".join(items)


def read_ranges(header, name):
    body = re.search(rf"{name}\[\] = \{{(.*?)\}};", header, re.DOTALL)[1]
    return [(int(first, 16), int(last, 16)) for first, last in re.findall(r"\{(0x[0-9a-f]+), (0x[0-9a-f]+)\}", body)]


def find_differences(header):
    """Returns the first characters whose width in the header differs from that of Python."""
    widths = bytearray(b"\1") * (LAST + 1)
    for name, width in (("kZeroWidth", 0), ("kWide", 2)):
        for first, last in read_ranges(header, name):
            widths[first:last + 1] = bytes([width]) * (last + 1 - first)
    changed = {point for part in CHANGED for point in part}
    return [f"U+{point:04X} {unicodedata.name(chr(point), '?')}: {widths[point]} columns, Python: {width_of(point)}"
            for point in range(LAST + 1) if point not in changed and width_of(point) not in (None, widths[point])]


def main():
    if len(sys.argv) == 1:
        ranges = find_ranges()
        print(HEADER.format(version=unicodedata.unidata_version, zero=format_ranges(ranges, 0), wide=format_ranges(ranges, 2)), end="")
        return
    with open(sys.argv[1], encoding="utf-8") as file:
        differences = find_differences(file.read())
    print(*differences[:20], f"{len(differences)} characters have another width", sep="\n")
    sys.exit(1 if differences else 0)


main()
