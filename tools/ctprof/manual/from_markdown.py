#!/usr/bin/env python3
"""Converts README files to a man page: headings, paragraphs, lists, tables and code, in the style of this tree.

    from_markdown.py NAME SECTION "short description" VERSION DATE FILE.md... OUT

Omits tables of files and instructions for additions, which concern only developers of the tree.
"""

import re
import sys

SPECIAL = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def plain(text):
    text = "".join(SPECIAL.get(c, c) for c in text)
    return "\\&" + text if text.startswith(".") else text


def inline(text):
    """Prints code and strong words in bold, and only the text of links."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"`([^`]+)`|\*\*([^*]+)\*\*", text)
    out = ""
    for at in range(0, len(parts), 3):
        out += plain(parts[at])
        if at + 2 < len(parts):
            out += "\\fB" + plain(parts[at + 1] or parts[at + 2]).removeprefix("\\&") + "\\fR"
    return out


def code(lines):
    return [".PP", ".EX"] + ["    " + plain(line) if line.strip() else "" for line in lines] + [".EE"]


def row(line):
    cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
    first, rest = cells[0], [cell for cell in cells[1:] if cell]
    return [".TP", inline(first) or "\\&", "; ".join(map(inline, rest)) or "\\&"] if any(cells) else []


def blocks(lines):
    """Yields (kind, lines) for each block of consecutive lines of one kind."""
    block, kind, fenced = [], None, False
    for line in [*lines, ""]:
        if line.startswith("```"):
            fenced = not fenced
            if not fenced:
                yield "fenced", block
            elif block:
                yield kind, block
            block, kind = [], "fenced" if fenced else None
            continue
        now = kind if fenced else ("heading" if line.startswith("#") else "table" if line.startswith("|") else "code" if line.startswith("    ") and kind != "item"
                                   else "item" if line.startswith(("- ", "* ")) or (kind == "item" and line.startswith("  ")) else "text" if line.strip() else None)
        if not fenced and (now != kind or now == "heading" or line.startswith(("- ", "* "))):
            if block:
                yield kind, block
            block = []
        kind = now
        if now:
            block.append(line)


def page_of(lines):
    out = []
    for kind, block in blocks(lines):
        if kind == "heading":
            title = block[0].lstrip("# ").strip()
            out.append((".SH " if block[0].startswith("## ") else ".SS ") + plain(title.upper() if block[0].startswith("## ") else title))
        elif kind == "fenced":
            out += code(block)
        elif kind == "code":
            out += code([line[4:] for line in block])
        elif kind == "table":
            for line in block[2:]:  # below the table heading
                out += row(line)
        elif kind == "item":
            out += [".IP \\(bu 2", inline(" ".join(part.strip() for part in block)[2:])]
        else:
            out += [".PP", inline(" ".join(part.strip() for part in block))]
    return [line for before, line in zip([".SH DESCRIPTION", *out], out) if line != ".PP" or not before.startswith((".SH", ".SS"))]


def for_readers(path):
    """Returns the lines without parts about the tree's own files. The title becomes an ordinary heading."""
    with open(path, encoding="utf-8") as file:
        text = "#" + file.read()
    text = re.sub(r"^\| lives here.*?\n\n.*?\n\n", "", text, flags=re.M | re.S)
    return re.sub(r"^## To add.*?(?=^## |\Z)", "", text, flags=re.M | re.S).splitlines()


def main(name, section, what, version, date, *paths):
    *sources, target = paths
    lines = [line for path in sources for line in [*for_readers(path), ""]]
    head = [f'.TH {plain(name.upper())} {section} {date} "ctprof {version}"', ".SH NAME", f"{plain(name)} \\- {plain(what)}", ".SH DESCRIPTION"]
    tail = [".SH SEE ALSO", ".BR ctprof (1)"]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(head + page_of(lines[1:]) + tail) + "\n")


main(*sys.argv[1:])
