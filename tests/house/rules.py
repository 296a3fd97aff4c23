#!/usr/bin/python3
"""Checks the house rules that a program can check on the tracked files of this tree.

    rules.py      prints each violation as path: problem, and exits with 1 if there is one

Rules: a source file has at most 400 lines; includes point in one direction (tools to core to sdk, plugins to sdk), and neither
directories nor modules include each other in a circle; directories of core include only those that core/meson.build lists before them;
the core names no plugin; each directory of sources has a README.md, in itself or in a parent; Python files import only modules of this tree, the standard library and the packages that tools/dev installs; style sheets were not formatted as C;
paths in Markdown files exist.
"""

import ast
import os
import re
import subprocess
import sys

MAX_LINES = 400
SOURCE = (".cc", ".hpp", ".c", ".h", ".py", ".sh")

# The headers of this tree that files of each directory may include. core/base, core/elf and core/x86 may
# be included by the rest of the core and by the plugins that ship with ctprof.
MAY_INCLUDE = {
    "sdk/": ("ctprof/",),
    "core/": ("core/", "ctprof/"),
    "core/x86/": ("core/x86/",),
    "core/elf/": ("core/elf/", "core/base/", "ctprof/"),
    "plugins/": ("plugins/", "ctprof/", "core/base/", "core/elf/", "core/x86/"),
    "tools/": ("tools/", "core/", "ctprof/"),
}
TREE_INCLUDE = re.compile(r'^#include "((?:core|plugins|tools|tests)/[^"]*)"', re.MULTILINE)

# English words that are also names of plugins. file-layout is the layout of files, which the core
# reads.
COMMON_WORDS = {"cgroup", "cpu", "disk", "host", "vocabulary", "shared", "file-layout", "outputs"}

# Python packages that tools/dev installs for some parts.
PYTHON_PACKAGES = {"_duckdb", "chdb", "duckdb", "mkdocs", "opentelemetry", "perfetto", "prometheus_client"}
# In Markdown, a code span that ends like this, or begins with a directory of this tree, is a path.
PATH_END = re.compile(r"\.(?:cc|hpp|c|h|py|sh|md|tsv|case|js|css)$")
FENCED_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`([\w./+-]+)`")
PLACEHOLDER = re.compile(r"(?<![A-Za-z])[A-Z]{2,}(?![a-z])(?!\.md$)")
# Made by the build, by a recording, or by a reader of sdk/README.md.
NOT_TRACKED = {"vocabulary.hpp", "index.tsv", "tests/fixtures/trees", "children_test.cc", "test_children.py", "nic.cc", "load.cc", "packets.cc"}


def list_tracked():
    finished = subprocess.run(["git", "-c", f"safe.directory={os.getcwd()}", "ls-files", "-z"], check=True, capture_output=True, text=True)
    return [path for path in finished.stdout.split("\0") if path and os.path.exists(path)]


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def remove_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def check_length(path, text):
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{lines} lines; split it below {MAX_LINES}"


def check_includes(path, text):
    for directory, allowed in MAY_INCLUDE.items():
        if path.startswith(directory):
            for included in TREE_INCLUDE.findall(text):
                if not included.startswith(allowed):
                    yield f"includes '{included}'; files in {directory} may include only {', '.join(allowed)}"


def find_cycle(edges):
    """Returns one circle of the graph as a list of nodes, or None."""
    state = {}

    def visit(node, path):
        state[node] = "open"
        for target in sorted(edges.get(node, ())):
            if state.get(target) == "open":
                return path[path.index(target) :] if target in path else [target]
            if target not in state:
                found = visit(target, path + [target])
                if found:
                    return found
        state[node] = "done"
        return None

    for node in sorted(edges):
        if node not in state:
            found = visit(node, [node])
            if found:
                return found
    return None


def collect_includes(paths, node_of):
    """Returns the graph of includes below core, plugins, sdk and tools, with node_of(path) as nodes."""
    edges = {}
    for path in paths:
        if path.startswith(tuple(MAY_INCLUDE)) and path.endswith((".cc", ".hpp", ".c", ".h")) and not path.endswith("/unit.cc"):
            node = node_of(path)
            edges.setdefault(node, set()).update({node_of(name) for name in TREE_INCLUDE.findall(read(path))} - {node})
    return edges


def check_cycles(paths):
    """Directories must not include each other in a circle, nor modules: a header and the source of the same name."""
    for kind, node_of in (("directories", os.path.dirname), ("modules", lambda path: os.path.splitext(path)[0])):
        cycle = find_cycle(collect_includes(paths, node_of))
        if cycle:
            yield cycle[0], f"{kind} include each other in a circle: {' -> '.join(cycle + cycle[:1])}"


def check_order(paths):
    """A directory of core may include only itself and those that core/meson.build lists before it. A directory with headers only precedes its parts."""
    listed = re.findall(r"'([\w/]+)'", re.search(r"foreach dir : \[(.*?)\]", read("core/meson.build"), re.DOTALL).group(1))
    for directory in [os.path.dirname(name) for name in listed if "/" in name]:
        if directory not in listed:
            listed.insert(next(i for i, name in enumerate(listed) if name.startswith(directory + "/")), directory)
    place = {"core/" + name: position for position, name in enumerate(listed)}
    for directory, targets in sorted(collect_includes([path for path in paths if path.startswith("core/")], os.path.dirname).items()):
        for target in sorted(targets & place.keys()):
            if directory in place and place[target] > place[directory]:
                yield directory, f"includes {target}, which core/meson.build lists after it"


def check_plugin_names(path, text, plugins):
    if path.startswith("core/"):
        for name in re.findall(rf"(?<![\w-])({'|'.join(plugins)})(?![\w-])", remove_comments(text)):
            yield f"names the plugin '{name}'; the core learns plugin names only at run time"


def check_imports(text, modules):
    """The short part does not run every Python file: a renamed module must not be noticed by other parts only."""
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        for name in (name.split(".")[0] for name in names):
            if name not in modules and name not in sys.stdlib_module_names | PYTHON_PACKAGES:
                yield f"imports '{name}', which is neither a module of this tree nor a known package"


def check_style_sheet(text):
    """A formatter for C separates the parts of names such as font-size and of colours such as #fff; browsers then ignore them."""
    for broken in re.findall(r"[a-z] - [a-z]\w*|# [0-9a-f]+", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)):
        yield f"'{broken}' is not CSS; was the file formatted as C?"


def check_readmes(paths):
    tracked = set(paths)
    for directory in sorted({os.path.dirname(path) for path in paths if path.endswith((".cc", ".hpp"))}):
        parents = [directory]
        while os.path.dirname(parents[-1]):
            parents.append(os.path.dirname(parents[-1]))
        if not any(f"{parent}/README.md" in tracked for parent in parents):
            yield directory, "no README.md here or above"


def find_known_paths(paths):
    """Returns all files with and without their extension, and all directories, with every shorter path that ends like them."""
    whole = set()
    for path in paths:
        whole |= {path, os.path.splitext(path)[0]}
        while path := os.path.dirname(path):
            whole.add(path)
    return {"/".join(parts[start:]) for parts in (path.split("/") for path in whole) for start in range(len(parts))}


def check_documented_paths(paths):
    """Paths in Markdown files exist: below the root, the page or a parent of it, or as the end of a path."""
    known, directories = find_known_paths(paths), {path.split("/")[0] for path in paths if "/" in path}
    for page in (path for path in paths if path.endswith(".md")):
        for span in CODE_SPAN.findall(FENCED_BLOCK.sub("", read(page))):
            is_path = PATH_END.search(span) or ("/" in span and span.split("/")[0] in directories)
            name = os.path.normpath(os.path.join(os.path.dirname(page), span)) if span.startswith("..") else span.rstrip("/")
            if is_path and not span.startswith("/") and not PLACEHOLDER.search(span) and name not in known | NOT_TRACKED:
                yield page, f"names '{span}', which does not exist"


def find_violations():
    paths = list_tracked()
    plugins = {path.split("/")[1] for path in paths if re.fullmatch(r"plugins/[^/]+/meson\.build", path)} - COMMON_WORDS
    modules = {name for path in paths if path.endswith(".py") for name in (os.path.basename(path)[:-3], os.path.basename(os.path.dirname(path)))}
    for path in paths:
        if path.endswith(".py"):
            yield from ((path, problem) for problem in check_imports(read(path), modules))
        if path.endswith(".css"):
            yield from ((path, problem) for problem in check_style_sheet(read(path)))
        if path.endswith(SOURCE) or path == "tools/dev":
            text = read(path)
            for check in (check_length(path, text), check_includes(path, text)):
                yield from ((path, problem) for problem in check)
            if path.endswith((".cc", ".hpp")):
                yield from ((path, problem) for problem in check_plugin_names(path, text, plugins))
    yield from check_cycles(paths)
    yield from check_order(paths)
    yield from check_readmes(paths)
    yield from check_documented_paths(paths)


def main():
    problems = list(find_violations())
    for path, problem in problems:
        print(f"{path}: {problem}")
    sys.exit(1 if problems else 0)


main()
