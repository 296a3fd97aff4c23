"""The kernels that the suite runs on. A row of the table is a kernel; the newest package that matches is taken, never a fixed version.

Kernels are kept in a cache outside of the tree. What is there is used when there is no network, or nothing newer.

What is here:   the table, the cache, and what a kernel was configured with.
What is not:    apt (debian.py), running one (guest.py).
"""

import functools
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass

from debian import Archive, Unavailable

SUITES = ("bullseye-security", "bookworm-security", "trixie-security", "trixie-backports")


@dataclass(frozen=True)
class Wanted:
    """A kernel by name; packages by patterns, the first that matches is taken."""

    name: str
    patterns: tuple
    by_default: bool = True
    arch: str = "amd64"


SCX = (r"linux-image-6\.18\.\d+\+deb13-cloud-amd64", r"linux-binary-\d+\.\d+\.\d+\+deb13-cloud-amd64")

KERNELS = [
    Wanted("5.10", (r"linux-image-5\.10\.0-\d+-cloud-amd64",), by_default=False),
    Wanted("6.1", (r"linux-image-6\.1\.0-\d+-cloud-amd64",)),
    Wanted("6.12", (r"linux-image-6\.12\.\d+\+deb13(\.\d+)?-cloud-amd64",)),
    Wanted("6.18", SCX),  # or, once it has left the mirrors, the newest: any with sched_ext serves
    Wanted("7", SCX[1:], by_default=False),
    Wanted("arm64", (r"linux-binary-\d+\.\d+\.\d+\+deb13-cloud-arm64",), by_default=False, arch="arm64"),
]


@dataclass(frozen=True)
class Kernel:
    name: str
    arch: str
    package: str
    image: str
    config: dict  # CONFIG_X -> "y", "m", a number or a text; what is off is not in it

    @property
    def version(self):
        """"6.12.117+deb13-cloud-amd64"."""
        return self.package.removeprefix("linux-image-").removeprefix("linux-binary-")

    @property
    def number(self):
        """(6, 12)."""
        return tuple(int(part) for part in self.version.split(".")[:2])

    def has(self, *gates):
        return all(self.config.get(gate) in ("y", "m") for gate in gates)


def default_cache():
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ctprof", "kernels")


def read_config(path):
    with open(path, encoding="utf-8") as file:
        pairs = (line.strip().split("=", 1) for line in file if line.startswith("CONFIG_"))
        return {key: value.strip('"') for key, value in pairs}


class Cache:
    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def kept(self, wanted):
        """What was fetched before, or None."""
        place = os.path.join(self.directory, f"{wanted.name}-{wanted.arch}")
        try:
            with open(os.path.join(place, "package"), encoding="utf-8") as file:
                package = file.read().strip()
            return Kernel(wanted.name, wanted.arch, package, os.path.join(place, "vmlinuz"), read_config(os.path.join(place, "config")))
        except FileNotFoundError:
            return None

    @functools.cache
    def archive(self, arch):
        return Archive(os.path.join(self.directory, f"apt-{arch}"), arch, SUITES)

    def newest_package(self, wanted):
        for pattern in wanted.patterns:
            for package in self.archive(wanted.arch).packages(pattern):
                return package
        raise Unavailable(f"the mirror has no package for Linux {wanted.name}")

    def fetch(self, wanted, package):
        with tempfile.TemporaryDirectory(dir=self.directory) as scratch:
            self.archive(wanted.arch).fetch(package, scratch)
            if not os.path.exists(os.path.join(scratch, "config")):  # from 6.19 on it is in another package
                self.archive(wanted.arch).fetch(package.replace("linux-binary-", "linux-base-"), scratch)
            with open(os.path.join(scratch, "package"), "w", encoding="utf-8") as file:
                file.write(package)
            place = os.path.join(self.directory, f"{wanted.name}-{wanted.arch}")
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(scratch, place)

    def get(self, wanted):
        """The kernel; raises Unavailable where it is neither to be had nor kept from before."""
        kept = self.kept(wanted)
        try:
            self.archive(wanted.arch).update()
            package = self.newest_package(wanted)
            if kept is None or kept.package != package:
                self.fetch(wanted, package)
        except Unavailable as why:
            if kept is None:
                raise
            print(f"kernel {wanted.name}: {kept.version} from the cache, for nothing newer can be asked for: {why}", file=sys.stderr)
        return self.kept(wanted)
