"""Finds the command lines in the Markdown pages of the tree."""

import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_SHELL = {"text", "sql", "python", "cpp", "c", "ini", "json", "meson", "cmake"}
OPERATORS = set("();<>|&")
PREFIXES = {"sudo", "nice", "exec", "time"}


def list_pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks_of(text):
    """Yields (number of the first line, lines) of each code block that can contain commands."""
    block, first, fence, is_shell = [], 0, None, True
    for number, line in enumerate([*text.splitlines(), ""], 1):
        opening = re.match(r"\s*(```+|~~~+)\s*(\w*)", line)
        if fence:
            if line.strip() == fence:
                if is_shell:
                    yield first, block
                block, fence = [], None
            else:
                block.append(line)
        elif opening:
            fence, is_shell = opening.group(1), opening.group(2) not in NOT_SHELL
            block, first = [], number + 1
        elif line.startswith("    "):
            first = first if block else number
            block.append(line[4:])
        elif block:
            yield first, block
            block = []


def join_continued_lines(lines):
    """Yields (offset, line), with continued lines joined."""
    at = 0
    while at < len(lines):
        start, line = at, lines[at]
        while line.endswith("\\") and at + 1 < len(lines):
            at += 1
            line = line[:-1] + lines[at].strip()
        yield start, line
        at += 1


def command_lines(text):
    """Yields (line number, shell line) of each line that a user types."""
    for first, lines in blocks_of(text):
        has_prompt = any(line.lstrip().startswith("$ ") for line in lines)
        for offset, line in join_continued_lines(lines):
            line = line.strip()
            if has_prompt and not line.startswith("$ "):
                continue
            yield first + offset, line.removeprefix("$ ")


def simple_commands(line):
    """Yields the words of each simple command of a shell line. Substitutions such as $! and $(hostname) become 1."""
    line = re.sub(r"\$\([^()]*\)|\$[!?$]|\$\w+", "1", line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words = []
    for token in lexer:
        if token.startswith("#"):
            break
        if token and set(token) <= OPERATORS:
            yield words
            words = []
        else:
            words.append(token)
    yield words


def remove_prefix(words):
    """Returns the words from the name of the program on."""
    while words and (words[0] in PREFIXES or re.fullmatch(r"[A-Z_]+=.*", words[0])):
        words = words[1:]
    return words


def commands_of(text):
    """Yields (line number, words) of each command of ctprof or tools/dev in a page."""
    for number, line in command_lines(text):
        if not re.search(r"\bctprof\b|tools/dev", line):
            continue
        try:
            commands = list(map(remove_prefix, simple_commands(line)))
        except ValueError:  # an unclosed quote: output, or an invalid command
            commands = [line.split()] if re.match(r"(ctprof|(\./)?tools/dev) ", line) else []
        yield from ((number, words) for words in commands if words and words[0] in ("ctprof", "tools/dev", "./tools/dev"))


def spans_of(text):
    """Yields (line number, words) of each code span that begins with ctprof and a word."""
    for match in re.finditer(r"(?<!`)`(ctprof [^`\n]+)`(?!`)", text):
        try:
            words = shlex.split(match.group(1).replace("...", ""))
        except ValueError:
            continue
        yield text.count("\n", 0, match.start()) + 1, words
