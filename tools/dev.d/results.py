#!/usr/bin/python3
"""Results of test parts: collects them, stores them as JSON, prints them as a table.

    results.py tests VARIANT TESTLOG             print Meson's log of results as lines of checks.sh
    results.py targets BUILD SUITE...            print the build targets that the tests of these suites need
    results.py write PART LINES START FILE       store the lines of one part, which began at START (seconds since 1970), in FILE
    results.py table DIRECTORY                   print the result files of a directory as one table
    results.py summary [--expected-skips LIST] FILE...   print failed and skipped checks of these files, then the total

`summary` exits with 1 if a check failed or, with --expected-skips, if a skipped check is not in the list. Each line of the list is a
regular expression that matches the whole name of a check, a tab, and the reason: architecture, kernel or registry, with details.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time

SLOWEST = 10
WORDS = {"OK": "OK", "EXPECTEDFAIL": "OK", "SKIP": "SKIP"}
PARTS = ["short", "live", "readers", "kernels", "sanitizers", "fuzz", "soak"]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def print_tests(variant, path):
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            test = json.loads(line)
            # Meson's name is project:suites / test.
            name = test["name"].rpartition(" / ")[2]
            print(WORDS.get(test["result"], "FAIL"), f"{variant}: {name}", f"{test['duration']:.1f}", sep="\t")


def print_targets(build, suites):
    def introspect(what):
        command = ["meson", "introspect", build, f"--{what}"]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    files = {target["id"]: target["filename"] for target in introspect("targets")}
    wanted = {}
    for test in introspect("tests"):
        if {suite.rpartition(":")[2] for suite in test["suite"]} & set(suites):
            wanted.update(dict.fromkeys(test["depends"]))
    for target in wanted:
        for path in files[target]:
            print(os.path.relpath(path, os.path.realpath(build)))


def git(*words):
    done = subprocess.run(["git", "-c", f"safe.directory={os.getcwd()}", *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def describe_machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = re.findall(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return {"cpu": models[0] if models else platform.machine(), "cpus": os.cpu_count(), "kernel": platform.release(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}


def write(part, lines, start, path):
    checks = []
    with open(lines, encoding="utf-8") as file:
        for line in file:
            result, name, seconds = line.rstrip("\n").split("\t")
            checks.append({"result": result, "name": name, "seconds": float(seconds)})
    named = {word: [check["name"] for check in checks if check["result"] == word] for word in ("OK", "FAIL", "SKIP")}
    slowest = sorted((check for check in checks if ": " in check["name"]), key=lambda check: -check["seconds"])[:SLOWEST]
    result = {
        "part": part,
        "commit": git("rev-parse", "--short=12", "HEAD"),
        "clean": not git("status", "--porcelain"),
        "machine": describe_machine(),
        "start": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start)),
        "seconds": round(time.time() - start),
        "passed": len(named["OK"]),
        "failed": named["FAIL"],
        "skipped": named["SKIP"],
        "slowest": [{"name": check["name"], "seconds": check["seconds"]} for check in slowest],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def print_table(directory):
    if not os.path.isdir(directory):
        sys.exit("results: no results yet; run 'tools/dev test' first")
    results = [load(os.path.join(directory, name)) for name in os.listdir(directory) if name.endswith(".json")]
    results.sort(key=lambda result: PARTS.index(result["part"]))
    row = "{:<11} {:>7} {:>7} {:>7} {:>8}  {:<13} {:<6} {}".format
    print(row("part", "passed", "failed", "skipped", "seconds", "commit", "tree", "start"))
    for result in results:
        print(row(result["part"], result["passed"], len(result["failed"]), len(result["skipped"]), result["seconds"], result["commit"],
                  "clean" if result["clean"] else "dirty", result["start"]))


def read_patterns(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    return [re.compile(line.partition("\t")[0]) for line in lines]


def summarize(paths, expected_skips):
    passed, failed, skipped = 0, [], []
    for result in map(load, paths):
        passed += result["passed"]
        failed += result["failed"]
        skipped += result["skipped"]
    if expected_skips:
        patterns = read_patterns(expected_skips)
        unexpected = [name for name in skipped if not any(pattern.fullmatch(name) for pattern in patterns)]
        skipped = [name for name in skipped if name not in unexpected]
        failed += [f"{name}: skipped, and {expected_skips} does not list it" for name in unexpected]
    for name in failed:
        print(f"failed: {name}")
    for name in skipped:
        print(f"skipped: {name}")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return bool(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name, **arguments):
        command = commands.add_parser(name)
        for argument, options in arguments.items():
            command.add_argument(argument, **options)
        return command

    add("tests", variant={}, path={})
    add("targets", build={}, suites={"nargs": "+"})
    add("write", part={}, lines={}, start={"type": int}, path={})
    add("table", directory={})
    add("summary", paths={"nargs": "+"}).add_argument("--expected-skips")
    options = vars(parser.parse_args())
    command = options.pop("command")
    functions = {"tests": print_tests, "targets": print_targets, "write": write, "table": print_table, "summary": summarize}
    sys.exit(functions[command](**options))


main()
