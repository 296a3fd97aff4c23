#!/usr/bin/env python3
"""Checks the relative links in the Markdown files of a tree.

    links.py [ROOT]     prints each broken link as path:line: what is wrong, and exits with 1 if there is one

Checks links and images in Markdown, `src` and `href` in HTML, and the heading that a link names after '#'. Links
with a scheme, such as https:, are not checked. Text in code blocks and code spans is not a link.
"""

import os
import pathlib
import re
import sys
import urllib.parse

LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?", re.M)
HTML = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.I)
FENCE = re.compile(r"^(```|~~~).*?^\1[`~]*\s*$", re.M | re.S)


def list_pages(root):
    """Yields the Markdown files of the tree, except in hidden directories and build directories."""
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith((".", "build")))
        yield from (pathlib.Path(directory) / name for name in sorted(files) if name.endswith(".md"))


def blank(match):
    """Replaces a match by as many newlines, so that line numbers remain those of the file."""
    return "\n" * match.group().count("\n")


def without_code(text):
    """Returns the text without fenced blocks, indented blocks and code spans."""
    text = FENCE.sub(blank, text)
    text = re.sub(r"(?:(?<=\n\n)|\A)(?: {4}.*\n?)+", blank, text)
    return re.sub(r"`[^`\n]*`", "", text)


def slug(heading):
    """Returns the identifier that MkDocs gives to a heading."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def anchors_of(path):
    text = FENCE.sub(blank, path.read_text(encoding="utf-8"))
    found = {slug(heading) for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", text, re.M)}
    return found | set(re.findall(r"\bid=\"([^\"]+)\"", text))


def problem_of(page, target):
    """Returns why the link does not work, or None."""
    if SCHEME.match(target) or target.startswith("//"):
        return None
    name, _, anchor = urllib.parse.unquote(target).partition("#")
    if name.startswith("/"):
        return f"link to '{target}': is absolute; use a path relative to the page"
    file = page.parent / name if name else page
    if not file.exists():
        return f"link to '{target}': no such file"
    if anchor and file.suffix == ".md" and anchor not in anchors_of(file):
        return f"link to '{target}': '{file.name}' has no heading '{anchor}'"
    return None


def check_page(page):
    """Yields (line number, problem) for each broken link of the page."""
    text = without_code(page.read_text(encoding="utf-8"))
    for pattern in (LINK, DEFINITION, HTML):
        for match in pattern.finditer(text):
            problem = problem_of(page, match.group(1))
            if problem:
                yield text.count("\n", 0, match.start(1)) + 1, problem


def check_tree(root):
    root = pathlib.Path(root)
    return [f"{page.relative_to(root)}:{line}: {problem}" for page in list_pages(root) for line, problem in sorted(check_page(page))]


def main():
    problems = check_tree(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("".join(problem + "\n" for problem in problems), end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
