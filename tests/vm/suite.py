"""The files of a guest of the suite, and the kernel command lines.

In scope:       files and command lines.
Out of scope:   what runs in the guest (guest/suite.sh), checking the results (checks_*.py).
"""

import glob
import os
from dataclasses import dataclass

import schedulers
import units
from image import HERE, Image

SUITE = "/suite"
LIBJEMALLOC = ("/usr/lib/*/libjemalloc.so.2", "/usr/lib/libjemalloc.so.2")
LOADER = "tests/vm/scx_load"
PROGRAMS = {"drives": "tests/vm/drives", "record": "tests/vm/record", "sleepers": "tests/parity/sleepers",
            "heap_preloaded": "tests/jemalloc/heap_preloaded", "ends": "tests/record/ends",
            "troubles": "tests/hunts/troubles", "known": "tests/vm/known", "known_fp": "tests/vm/known_fp",
            "defers": "tests/vm/defers"}
# For arm64 only; and a program that builds with a sanitizer do not have.
SIGNED = {"known_signed": "tests/vm/known_signed", "known_signed_fp": "tests/vm/known_signed_fp"}
SHARES = {"shares": "tests/record/shares", "libshares.so": "tests/record/libshares.so"}
# Programs that use jemalloc other than by preloading, if its development files are installed.
HEAPS = {f"heap_{name}": f"tests/jemalloc/heap_{name}" for name in ("linked", "archive", "archive_stripped", "static", "static_stripped")}

@dataclass(frozen=True)
class Boot:
    """One boot of a kernel."""

    name: str
    kernel: str  # a name in kernels.KERNELS
    words: str  # words of the kernel command line
    script: str = "suite.sh"


# Some kernels enable delay accounting on the command line, others only at run time (workload.sh enables it where it is off).
BOOTS = [
    Boot("5.10", "5.10", "schedstats=enable psi=1"),
    Boot("6.1", "6.1", "schedstats=enable delayacct psi=1"),
    Boot("6.12", "6.12", "psi=1"),
    Boot("6.12-bare", "6.12", "psi=0", "bare.sh"),
    Boot("6.18", "6.18", "schedstats=enable delayacct psi=1"),
    Boot("7", "7", "psi=1"),
    Boot("arm64", "arm64", "schedstats=enable psi=1"),
]


def find_jemalloc(system):
    """Returns the path of the library in the guest."""
    before = len(system.path(""))
    return next((path[before:] for pattern in LIBJEMALLOC for path in glob.glob(system.path(pattern))), None)


def missing_requirements(system):
    """Returns the names of missing programs and packages."""
    unbuilt = sorted(name for name, path in PROGRAMS.items() if not os.path.exists(os.path.join(system.build, path)))
    return [f"{name} (not built)" for name in unbuilt] + ([] if find_jemalloc(system) else ["libjemalloc2"])


def add_product(image, build):
    """Adds ctprof and its plugins, laid out like a build tree."""
    image.add_program(f"{SUITE}/tools/ctprof/ctprof", os.path.join(build, "tools", "ctprof", "ctprof"))
    image.write(f"{SUITE}/build.ninja", "")
    for plugin in glob.glob(os.path.join(build, "plugins", "*.so")):
        image.add_program(f"{SUITE}/plugins/{os.path.basename(plugin)}", plugin)


def add_schedulers(image, kernel, directory, build):
    image.add_program(f"{SUITE}/scx_load", os.path.join(build, LOADER))
    for name, path in schedulers.make(kernel, directory).items():
        image.add(f"{SUITE}/{name}.bpf.o", path)


def has_schedulers(kernel, build):
    return kernel.has("CONFIG_SCHED_CLASS_EXT") and not schedulers.missing_requirements(build)


def add_programs(image, build):
    built = {name: path for name, path in (HEAPS | SIGNED | SHARES).items() if os.path.exists(os.path.join(build, path))}
    for name, path in (PROGRAMS | built).items():
        image.add_program(f"{SUITE}/{name}", os.path.join(build, path))


def build_targets():
    """Returns the targets of a build tree for a guest."""
    return [*PROGRAMS.values(), *HEAPS.values(), *SIGNED.values(), *SHARES.values(), LOADER]


def make_image(kernel, script, directory, system):
    image = Image(directory, system)
    add_product(image, system.build)
    add_programs(image, system.build)
    if not system.runs_here:
        units.add(image, system.build)
    for path in glob.glob(os.path.join(HERE, "guest", "*.sh")):
        image.add(f"{SUITE}/{os.path.basename(path)}", path)
    image.add_program("/usr/bin/setpriv", system.path("/usr/bin/setpriv"))
    jemalloc = find_jemalloc(system)
    image.add_program(jemalloc, system.path(jemalloc))
    image.write(f"{SUITE}/jemalloc", jemalloc + "\n")
    if has_schedulers(kernel, system.build):
        add_schedulers(image, kernel, directory, system.build)
    disk = os.path.join(directory, "disk.img")
    image.make(disk, f"sh {SUITE}/{script}")
    return disk
