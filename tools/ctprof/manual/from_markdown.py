#!/usr/bin/env python3
"""Makes a man page of a README: headings, paragraphs, lists, tables and code, as these trees have them.

    from_markdown.py NAME SECTION "what it is" VERSION DATE FILE.md... OUT

Tables of what is in which file of the tree, and how to add to it, are for those who have the tree.
"""

import re
import sys

SPECIAL = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def plain(text):
    text = "".join(SPECIAL.get(c, c) for c in text)
    return "\\&" + text if text.startswith(".") else text


def inline(text):
    """Code and strong words are bold; of links the text remains."""
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
    """(kind, lines) of what belongs together."""
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
            for line in block[2:]:  # below the heads of its columns
                out += row(line)
        elif kind == "item":
            out += [".IP \\(bu 2", inline(" ".join(part.strip() for part in block)[2:])]
        else:
            out += [".PP", inline(" ".join(part.strip() for part in block))]
    return [line for before, line in zip([".SH DESCRIPTION", *out], out) if line != ".PP" or not before.startswith((".SH", ".SS"))]


def for_readers(path):
    """Without what is about the tree's own files; the title is a heading among others."""
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
