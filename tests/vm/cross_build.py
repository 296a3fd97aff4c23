"""A system of another architecture: a tree of its packages, and a cross build of ctprof with its plugins and test programs.

The tree is stored in the cache beside the kernels, and created again when the list of packages changes. Packages are unpacked, not installed,
which needs no root rights and no emulation.

In scope:       the packages, the tree, the build.
Out of scope:   apt (debian.py), the options of the compiler (arm64.ini), the contents of a guest (suite.py).
"""

import os
import shutil
import subprocess
import tempfile

import units
from debian import Archive, Unavailable
from image import HERE
from systems import PackageTree

SUITES = ("bookworm", "bookworm-security")
PACKAGES = os.path.join(HERE, "..", "..", "tools", "dev.d", "packages.sh")
# Beside the libraries of PACKAGES: those that come with a compiler, and those of test programs.
ALSO_TO_BUILD = ("libc6-dev", "libstdc++-12-dev", "libjemalloc-dev")
TO_RUN = ("busybox-static", "libjemalloc2", "util-linux")
LIBRARIES = ("/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib")
NEEDED = {"aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "meson": "meson", "ninja": "ninja-build", "pkg-config": "pkgconf", "readelf": "binutils",
          "apt-get": "apt", "tar": "tar"}


def packages_to_build():
    """Returns the packages of the libraries with which ctprof is built on this machine, and ALSO_TO_BUILD."""
    listed = subprocess.run(["bash", "-c", '. "$1"; printf "%s\\n" "${for_build[@]}"', "bash", PACKAGES], check=True, capture_output=True, text=True)
    return (*(package for package in listed.stdout.split() if package.endswith("-dev")), *ALSO_TO_BUILD)


def missing_packages():
    return sorted({package for program, package in NEEDED.items() if not shutil.which(program)})


def make_root(cache):
    """Returns the directory of the tree. Raises Unavailable."""
    packages = packages_to_build() + TO_RUN
    root, package_list = os.path.join(cache, "root-arm64"), "\n".join(SUITES + packages)
    try:
        with open(os.path.join(root, "made-of"), encoding="utf-8") as file:
            if file.read() == package_list:
                return root
    except FileNotFoundError:
        pass
    archive = Archive(os.path.join(cache, "apt-root-arm64"), "arm64", SUITES)
    archive.update()
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        made = os.path.join(scratch, "root")
        archive.unpack(packages, made)
        with open(os.path.join(made, "made-of"), "w", encoding="utf-8") as file:
            file.write(package_list)
        shutil.rmtree(root, ignore_errors=True)
        os.rename(made, root)
    return root


def run(log, *words):
    with open(log, "a", encoding="utf-8") as file:
        if subprocess.run(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False).returncode != 0:
            raise RuntimeError(f"{words[0]} failed, see {log}")


def configure(root, build, log):
    """Configures the build unless it is already configured for this tree."""
    place, text = build + ".ini", f"[constants]\nroot = '{root}'\n"
    if os.path.exists(os.path.join(build, "build.ninja")):
        with open(place, encoding="utf-8") as file:
            if file.read() == text:
                return
        shutil.rmtree(build)
    with open(place, "w", encoding="utf-8") as file:
        file.write(text)
    run(log, "meson", "setup", "--cross-file", place, "--cross-file", os.path.join(HERE, "arm64.ini"), build, os.path.join(HERE, "..", ".."))


def make(cache, build, programs):
    """Returns a PackageTree with `programs` in its build directory. Raises Unavailable for missing tools or packages, RuntimeError for a failed build."""
    missing = missing_packages()
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")
    root = make_root(cache)
    log = build + ".log"
    os.makedirs(os.path.dirname(build), exist_ok=True)
    if os.path.exists(log):
        os.unlink(log)
    configure(root, build, log)
    run(log, "ninja", "-C", build, "build.ninja")  # tests may have been added since the build was configured
    run(log, "ninja", "-C", build, "product", *programs, *units.build_targets(build))
    return PackageTree(root, LIBRARIES, build)
