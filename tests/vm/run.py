#!/usr/bin/python3
"""The suite in virtual machines: boots each kernel once, runs the real tool there around a workload, and checks the results.

    run.py --build DIR [--cache DIR] [--results FILE] [--all-kernels] [--kernels NAME...] [--page FILE]

Prints a line for each check, with the errors if it failed. The results file gets a line per check: OK, FAIL or SKIP, a tab, and the name of
the check. The output of a guest stays in DIR/vm/<kernel>/. Without qemu, a network or a kernel the check is skipped, with its name.

In scope:       the order of the steps.
Out of scope:   fetching kernels (kernels.py), building for arm64 (cross_build.py), guests (image.py, guest.py, suite.py), checks (checks_*.py),
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
import checks_workload
import checks_parity
import checks_plain
import checks_scx
import checks_stacks
import checks_switches
import checks_units
import checks_values
import checks_windows
import cross_build
import guest
import schedulers
import suite
import table
from guest_output import LAYOUTS, GuestOutput
from debian import Unavailable
from kernels import KERNELS, Cache, default_cache
from systems import HostSystem

FULL_CHECKS = checks_values.CHECKS | checks_plain.CHECKS | checks_parity.CHECKS | checks_workload.CHECKS | checks_switches.CHECKS
BARE_CHECKS = {"every capture succeeds, each cell a value or one gap": checks_values.file_faults} | checks_switches.BARE_CHECKS
NEEDED = {"mke2fs": "e2fsprogs", "debugfs": "e2fsprogs", "busybox": "busybox-static",
          "apt-get": "apt", "setpriv": "util-linux", "zstd": "zstd"}
TIMEOUT = 900  # seconds; emulation is slow on a busy host
MAX_LINES_SHOWN = 12


class Results:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8") if path else None  # closed at the end of the program
        self.failed = False

    def report(self, word, name, why=()):
        if self.file:
            print(word, name, sep="\t", file=self.file, flush=True)
        print(f"{word:4} {name}", *(f"       {line}" for line in why), sep="\n", flush=True)
        self.failed = self.failed or word == "FAIL"


def missing_requirements():
    """Returns the packages that are not installed."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    return sorted({package for program, package in NEEDED.items() if not shutil.which(program)})


def run_check(check, output):
    try:
        return check(output)
    except Exception:  # pylint: disable=broad-except  # a check that raises has failed; the others go on
        return traceback.format_exc().splitlines()


def run_guest(boot, kernel, directory, system):
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    disk = suite.make_image(kernel, boot.script, directory, system)
    finished = guest.run(kernel, disk, directory, boot.words, TIMEOUT)
    shutil.rmtree(os.path.join(directory, "root"))
    os.unlink(disk)
    return finished


def checks_of(boot, output):
    """Returns the checks of a guest's captures in one layout. Checks that do not use captures run only with those in rows."""
    if boot.script == "bare.sh":
        return BARE_CHECKS
    if output.layout != "rows":
        return FULL_CHECKS | (checks_scx.CHECKS if checks_scx.is_present(output) else {})
    units = checks_units.CHECKS if checks_units.is_present(output) else {}
    schedulers_of_bpf = checks_scx.CHECKS if checks_scx.is_present(output) else {}
    return FULL_CHECKS | checks_windows.CHECKS | checks_hunts.CHECKS | checks_stacks.CHECKS | schedulers_of_bpf | units


def report_checks(results, boot, output):
    """Runs and reports all checks of one boot and layout."""
    for title, check in checks_of(boot, output).items():
        wrong = run_check(check, output)
        more = [f"... and {len(wrong) - MAX_LINES_SHOWN} more"] if len(wrong) > MAX_LINES_SHOWN else []
        where = f"vm {boot.name}, {output.layout}: " if output.layout != "rows" else f"vm {boot.name}: "
        results.report("FAIL" if wrong else "OK", where + title, wrong[:MAX_LINES_SHOWN] + more)


def report_lost_guest(results, boot, output, finished):
    words = (finished.console + output.text("output")).splitlines()[-MAX_LINES_SHOWN:]
    results.report("FAIL", f"vm {boot.name}: the guest reaches its end", [f"status {finished.status}; its last lines:", *words])


def available_kernels(results, cache, wanted):
    """Yields the kernels one after the other, because apt must not run twice at a time."""
    for each in wanted:
        machine = guest.MACHINES[each.arch]
        if not shutil.which(machine.program):
            results.report("SKIP", f"vm {each.name}: not installed: {machine.package}")
            continue
        try:
            yield cache.get(each)
        except Unavailable as why:
            results.report("SKIP", f"vm {each.name}: no kernel in the cache or on the mirror: {why}")


def systems_for(results, kernels, cache, build):
    """Returns a map architecture -> source of its programs. Reports and leaves out an architecture that is not available or cannot be built."""
    wanted, systems = {kernel.arch for kernel in kernels}, {}
    missing = suite.missing_requirements(HostSystem(build)) if "amd64" in wanted else []
    if missing:
        results.report("SKIP", f"vm: missing: {', '.join(missing)}")
    else:
        systems["amd64"] = HostSystem(build)
    try:
        if "arm64" in wanted:
            systems["arm64"] = cross_build.make(cache, os.path.join(build, "vm", "build-arm64"), suite.build_targets())
    except Unavailable as why:
        results.report("SKIP", f"vm arm64: {why}")
    except RuntimeError as why:
        results.report("FAIL", "vm arm64: ctprof is built for it", [str(why)])
    return systems


def run_boot(results, boot, kernel, system, build):
    """Returns the output of the guest, in rows, or None."""
    start = time.monotonic()
    try:
        finished = run_guest(boot, kernel, os.path.join(build, "vm", boot.name), system)
    except (OSError, subprocess.CalledProcessError) as why:
        error_output = getattr(why, "stderr", None) or b""
        results.report("FAIL", f"vm {boot.name}: the guest starts", [str(why), *error_output.decode(errors="replace").splitlines()[-MAX_LINES_SHOWN:]])
        return None
    print(f"vm {boot.name}: {kernel.version}, {time.monotonic() - start:.0f} s", flush=True)
    outputs = [GuestOutput(kernel, finished.out, layout, os.path.join(build, "tools", "ctprof", "ctprof")) for layout in LAYOUTS]
    if finished.status != 0:
        report_lost_guest(results, boot, outputs[0], finished)
        return None
    for output in outputs:
        report_checks(results, boot, output)
    return outputs[0]


def skip_schedulers(results, kernels, systems):
    for kernel in kernels:
        missing = schedulers.missing_requirements(systems[kernel.arch].build)
        if kernel.has("CONFIG_SCHED_CLASS_EXT") and missing:
            results.report("SKIP", f"vm {kernel.name}: sched_ext: not installed: {', '.join(missing)}")


def write_tables(outputs, build, page):
    """`outputs`: boot -> its output, for complete runs."""
    columns = [checks_values.cells(output) for output in outputs.values()]
    with open(os.path.join(build, "vm", "table.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(line for output, cells in zip(outputs.values(), columns) for line in table.log(output, cells)) + "\n")
    print(f"the table metric x kernel, with values: {file.name}")
    if page:
        with open(page, "w", encoding="utf-8") as file:
            file.write(table.page(list(outputs.values()), columns, [boot.words for boot in outputs]))


def arguments():
    parser = argparse.ArgumentParser(description="the suite in virtual machines")
    parser.add_argument("--build", required=True, help="a build tree with the tool and the test programs")
    parser.add_argument("--cache", default=default_cache(), help="where kernels are stored (%(default)s)")
    parser.add_argument("--results", help="file for a line per check")
    parser.add_argument("--all-kernels", action="store_true", help="5.10, the newest and arm64 too")
    parser.add_argument("--kernels", nargs="+", choices=[wanted.name for wanted in KERNELS], help="only these")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="guests at a time (%(default)s)")
    parser.add_argument("--page", help="write the table metric x kernel there, as Markdown")
    return parser.parse_args()


def chosen_kernels(options):
    if options.kernels:
        return [wanted for wanted in KERNELS if wanted.name in options.kernels]
    return [wanted for wanted in KERNELS if options.all_kernels or wanted.by_default]


def main():
    options = arguments()
    results = Results(options.results)
    build = os.path.abspath(options.build)
    missing = missing_requirements()
    if missing:
        results.report("SKIP", f"vm: not installed: {', '.join(missing)}")
        return 0
    cache = os.path.abspath(options.cache)
    kernels = list(available_kernels(results, Cache(cache), chosen_kernels(options)))
    systems = systems_for(results, kernels, cache, build)
    kernels = [kernel for kernel in kernels if kernel.arch in systems]
    skip_schedulers(results, kernels, systems)
    boots = [(boot, kernel) for kernel in kernels for boot in suite.BOOTS if boot.kernel == kernel.name]
    with ThreadPoolExecutor(options.jobs) as pool:
        done = list(pool.map(lambda pair: run_boot(results, *pair, systems[pair[1].arch], build), boots))
    whole = {boot: output for (boot, _), output in zip(boots, done) if output and boot.script == "suite.sh"}
    if whole:
        write_tables(whole, build, options.page)
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
