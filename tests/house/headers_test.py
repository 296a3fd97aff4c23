#!/usr/bin/env python3
"""Checks that each C++ header below core, tools and plugins compiles on its own, because it includes what it uses.

Usage: headers_test.py BUILD [DIRECTORY...]
A header is compiled with the arguments of a source of its directory, or of the nearest directory above.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DROPPED_OPTIONS = {'-o', '-MF', '-MQ', '-c'}  # arguments that are dropped with the word after them


def arguments_by_directory(build):
    found = {}
    for entry in json.loads((build / 'compile_commands.json').read_text()):
        source = pathlib.Path(os.path.normpath(build / entry['file']))
        if source.suffix != '.cc':
            continue
        words = shlex.split(entry['command'])
        remaining = [word for previous, word in zip([''] + words, words) if previous not in DROPPED_OPTIONS and word not in DROPPED_OPTIONS]
        found.setdefault(source.parent, [word for word in remaining if word != '-MD'])
    return found


def check(header, build, arguments):
    directory = next(parent for parent in header.parents if parent in arguments or parent == ROOT)
    words = arguments.get(directory) or arguments[ROOT / 'tools' / 'ctprof']
    include = f'#include "{header.relative_to(ROOT)}"\n'
    finished = subprocess.run([*words, '-fsyntax-only', '-x', 'c++', '-'], cwd=build, input=include, capture_output=True, text=True)
    return '' if finished.returncode == 0 else f'{header.relative_to(ROOT)} does not compile on its own:\n{finished.stderr}'


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    headers = [path for name in sys.argv[2:] or ['core', 'tools', 'plugins'] for path in sorted((ROOT / name).rglob('*.hpp'))]
    arguments = arguments_by_directory(build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = list(filter(None, pool.map(lambda header: check(header, build, arguments), headers)))
    print(*failures, f'{len(headers)} headers, {len(failures)} do not compile on their own', sep='\n')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
