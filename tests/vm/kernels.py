"""The kernels on which the suite runs. Each row of the table is a kernel. The newest matching package is used, not a fixed version.

Kernels are stored in a cache outside of the tree. A cached kernel is used if there is no network, or no newer package.

In scope:       the table, the cache, and the configuration of a kernel.
Out of scope:   apt (debian.py), running a kernel (guest.py).
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
class WantedKernel:
    """A kernel by name. The first pattern that matches a package is used."""

    name: str
    patterns: tuple
    by_default: bool = True
    arch: str = "amd64"


SCX = (r"linux-image-6\.18\.\d+\+deb13-cloud-amd64", r"linux-binary-\d+\.\d+\.\d+\+deb13-cloud-amd64")

KERNELS = [
    WantedKernel("5.10", (r"linux-image-5\.10\.0-\d+-cloud-amd64",), by_default=False),
    WantedKernel("6.1", (r"linux-image-6\.1\.0-\d+-cloud-amd64",)),
    WantedKernel("6.12", (r"linux-image-6\.12\.\d+\+deb13(\.\d+)?-cloud-amd64",)),
    WantedKernel("6.18", SCX),  # once 6.18 has left the mirrors, the newest kernel is used: any with sched_ext will do
    WantedKernel("7", SCX[1:], by_default=False),
    WantedKernel("arm64", (r"linux-binary-\d+\.\d+\.\d+\+deb13-cloud-arm64",), by_default=False, arch="arm64"),
]


@dataclass(frozen=True)
class Kernel:
    name: str
    arch: str
    package: str
    image: str
    config: dict  # CONFIG_X -> "y", "m", a number or a text; options that are off are missing

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

    def find_in_cache(self, wanted):
        """Returns the kernel in the cache, or None."""
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
        """Returns the kernel. Raises Unavailable if it is neither available nor in the cache."""
        cached = self.find_in_cache(wanted)
        try:
            self.archive(wanted.arch).update()
            package = self.newest_package(wanted)
            if cached is None or cached.package != package:
                self.fetch(wanted, package)
        except Unavailable as why:
            if cached is None:
                raise
            print(f"kernel {wanted.name}: {cached.version} from the cache, because the mirror is not available: {why}", file=sys.stderr)
        return self.find_in_cache(wanted)
