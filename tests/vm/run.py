#!/usr/bin/python3
"""The suite in virtual machines: boots each kernel once, runs the real tool there around a workload, and judges what came out.

    run.py --build DIR [--cache DIR] [--results FILE] [--all-kernels] [--kernels NAME...] [--page FILE]

Prints a line for each check, and why one failed. The results file gets a line for each: OK, FAIL or SKIP, a tab, and the check's name.
What a guest left stays in DIR/vm/<kernel>/. Without qemu, a network or a kernel it skips, by name.

What is here:   the order of things.
What is not:    fetching kernels (kernels.py), building for arm64 (foreign.py), guests (image.py, guest.py, suite.py), checks (checks_*.py),
                the table (table.py).
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import checks_hunts
import checks_moved
import checks_parity
import checks_plain
import checks_scx
import checks_stacks
import checks_switches
import checks_units
import checks_values
import checks_windows
import foreign
import guest
import schedulers
import suite
import table
from captured import LAYOUTS, Left
from debian import Unavailable
from kernels import KERNELS, Cache, default_cache
from systems import Own

WHOLE = checks_values.CHECKS | checks_plain.CHECKS | checks_parity.CHECKS | checks_moved.CHECKS | checks_switches.CHECKS
BARE = {"every capture succeeds, each cell a value or one gap": checks_values.file_faults} | checks_switches.BARE_CHECKS
NEEDED = {"mke2fs": "e2fsprogs", "debugfs": "e2fsprogs", "busybox": "busybox-static",
          "apt-get": "apt", "setpriv": "util-linux", "zstd": "zstd"}
TIMEOUT = 900  # a busy host is slow at emulating
SHOWN = 12


class Results:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8") if path else None  # closed when we end
        self.failed = False

    def tell(self, word, name, why=()):
        if self.file:
            print(word, name, sep="\t", file=self.file, flush=True)
        print(f"{word:4} {name}", *(f"       {line}" for line in why), sep="\n", flush=True)
        self.failed = self.failed or word == "FAIL"


def lacking():
    """Packages that are not here."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    return sorted({package for program, package in NEEDED.items() if not shutil.which(program)})


def judge(check, left):
    try:
        return check(left)
    except Exception:  # pylint: disable=broad-except  # a check that breaks has failed, the others go on
        return traceback.format_exc().splitlines()


def run_guest(boot, kernel, directory, system):
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    disk = suite.make_image(kernel, boot.script, directory, system)
    finished = guest.run(kernel, disk, directory, boot.words, TIMEOUT)
    shutil.rmtree(os.path.join(directory, "root"))
    os.unlink(disk)
    return finished


def checks_of(boot, left):
    """Of the captures in one layout; what they have no part in is checked with those in rows."""
    if boot.script == "bare.sh":
        return BARE
    if left.layout != "rows":
        return WHOLE | (checks_scx.CHECKS if checks_scx.was_made(left) else {})
    units = checks_units.CHECKS if checks_units.was_made(left) else {}
    schedulers_of_bpf = checks_scx.CHECKS if checks_scx.was_made(left) else {}
    return WHOLE | checks_windows.CHECKS | checks_hunts.CHECKS | checks_stacks.CHECKS | schedulers_of_bpf | units


def tell_of(results, boot, left):
    """All checks of one boot and layout."""
    for title, check in checks_of(boot, left).items():
        wrong = judge(check, left)
        more = [f"... and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        where = f"vm {boot.name}, {left.layout}: " if left.layout != "rows" else f"vm {boot.name}: "
        results.tell("FAIL" if wrong else "OK", where + title, wrong[:SHOWN] + more)


def tell_lost(results, boot, left, finished):
    words = (finished.console + left.text("output")).splitlines()[-SHOWN:]
    results.tell("FAIL", f"vm {boot.name}: the guest reaches its end", [f"status {finished.status}; its last words:", *words])


def kernels_at_hand(results, cache, wanted):
    """One after the other: apt is not to be run twice at a time."""
    for each in wanted:
        machine = guest.MACHINES[each.arch]
        if not shutil.which(machine.program):
            results.tell("SKIP", f"vm {each.name}: not installed: {machine.package}")
            continue
        try:
            yield cache.get(each)
        except Unavailable as why:
            results.tell("SKIP", f"vm {each.name}: no kernel, neither kept nor to be had: {why}")


def systems_for(results, kernels, cache, build):
    """Architecture -> where its programs come from; one that cannot be had or built is told, and left out."""
    wanted, systems = {kernel.arch for kernel in kernels}, {}
    missing = suite.lacking(Own(build)) if "amd64" in wanted else []
    if missing:
        results.tell("SKIP", f"vm: not here: {', '.join(missing)}")
    else:
        systems["amd64"] = Own(build)
    try:
        if "arm64" in wanted:
            systems["arm64"] = foreign.make(cache, os.path.join(build, "vm", "build-arm64"), suite.to_build())
    except Unavailable as why:
        results.tell("SKIP", f"vm arm64: {why}")
    except RuntimeError as why:
        results.tell("FAIL", "vm arm64: ctprof is built for it", [str(why)])
    return systems


def run_boot(results, boot, kernel, system, build):
    """What it left, in rows, or None."""
    start = time.monotonic()
    try:
        finished = run_guest(boot, kernel, os.path.join(build, "vm", boot.name), system)
    except (OSError, subprocess.CalledProcessError) as why:
        said = getattr(why, "stderr", None) or b""
        results.tell("FAIL", f"vm {boot.name}: the guest starts", [str(why), *said.decode(errors="replace").splitlines()[-SHOWN:]])
        return None
    print(f"vm {boot.name}: {kernel.version}, {time.monotonic() - start:.0f} s", flush=True)
    lefts = [Left(kernel, finished.out, layout, os.path.join(build, "tools", "ctprof", "ctprof")) for layout in LAYOUTS]
    if finished.status != 0:
        tell_lost(results, boot, lefts[0], finished)
        return None
    for left in lefts:
        tell_of(results, boot, left)
    return lefts[0]


def skip_schedulers(results, kernels, systems):
    for kernel in kernels:
        missing = schedulers.lacking(systems[kernel.arch].build)
        if kernel.has("CONFIG_SCHED_CLASS_EXT") and missing:
            results.tell("SKIP", f"vm {kernel.name}: sched_ext: not installed: {', '.join(missing)}")


def write_tables(lefts, build, page):
    """`lefts`: boot -> what it left, of whole runs."""
    columns = [checks_values.cells(left) for left in lefts.values()]
    with open(os.path.join(build, "vm", "table.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(line for left, cells in zip(lefts.values(), columns) for line in table.log(left, cells)) + "\n")
    print(f"the table metric x kernel, with values: {file.name}")
    if page:
        with open(page, "w", encoding="utf-8") as file:
            file.write(table.page(list(lefts.values()), columns, [boot.words for boot in lefts]))


def arguments():
    parser = argparse.ArgumentParser(description="the suite in virtual machines")
    parser.add_argument("--build", required=True, help="a build tree with the tool and the test programs")
    parser.add_argument("--cache", default=default_cache(), help="where kernels are kept (%(default)s)")
    parser.add_argument("--results", help="file for a line per check")
    parser.add_argument("--all-kernels", action="store_true", help="5.10, the newest and arm64 too")
    parser.add_argument("--kernels", nargs="+", choices=[wanted.name for wanted in KERNELS], help="only these")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="guests at a time (%(default)s)")
    parser.add_argument("--page", help="write the table metric x kernel there, as Markdown")
    return parser.parse_args()


def chosen(options):
    if options.kernels:
        return [wanted for wanted in KERNELS if wanted.name in options.kernels]
    return [wanted for wanted in KERNELS if options.all_kernels or wanted.by_default]


def main():
    options = arguments()
    results = Results(options.results)
    build = os.path.abspath(options.build)
    missing = lacking()
    if missing:
        results.tell("SKIP", f"vm: not installed: {', '.join(missing)}")
        return 0
    cache = os.path.abspath(options.cache)
    kernels = list(kernels_at_hand(results, Cache(cache), chosen(options)))
    systems = systems_for(results, kernels, cache, build)
    kernels = [kernel for kernel in kernels if kernel.arch in systems]
    skip_schedulers(results, kernels, systems)
    boots = [(boot, kernel) for kernel in kernels for boot in suite.BOOTS if boot.kernel == kernel.name]
    with ThreadPoolExecutor(options.jobs) as pool:
        done = list(pool.map(lambda pair: run_boot(results, *pair, systems[pair[1].arch], build), boots))
    whole = {boot: left for (boot, _), left in zip(boots, done) if left and boot.script == "suite.sh"}
    if whole:
        write_tables(whole, build, options.page)
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
