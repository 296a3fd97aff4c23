"""sched_ext schedulers for one kernel: guest/scx.bpf.c, compiled against the types of the kernel that will load it.

In scope:       vmlinux.h by bpftool, objects by clang.
Out of scope:   loading them (guest/scx_load.c), the steps with them (guest/scx.sh), checking the results (checks_scx.py).
"""

import glob
import os
import shutil
import subprocess

import btf
from image import HERE

TARGETS = {"amd64": "x86", "arm64": "arm64"}
VARIANTS = {"full": 1, "partial": 2, "reject": 3, "stall": 4}
SOURCE = os.path.join(HERE, "guest", "scx.bpf.c")


def find_tool(tool):
    """Returns the path of a tool, which may be installed only under a name with its version."""
    versioned = sorted(glob.glob(f"/usr/bin/{tool}-[0-9]*"))
    return shutil.which(tool) or (versioned[-1] if versioned else None)


def missing_requirements(build):
    """Returns the names of the packages that are not installed."""
    tools = {"clang-14": find_tool("clang"), "llvm-14": find_tool("llvm-strip"), "bpftool": shutil.which("bpftool"),
             "libbpf-dev": os.path.exists(os.path.join(build, "tests", "vm", "scx_load"))}
    return sorted(package for package, found in tools.items() if not found)


def make(kernel, directory):
    """Returns a map variant -> object file. The kernel has sched_ext."""
    types = os.path.join(directory, "kernel.btf")
    with open(types, "wb") as file:
        file.write(btf.read_btf(kernel.image))
    header = subprocess.run(["bpftool", "btf", "dump", "file", types, "format", "c"], capture_output=True, check=True).stdout
    with open(os.path.join(directory, "vmlinux.h"), "wb") as file:
        file.write(header)
    return {name: compile_one(kernel, directory, name, number) for name, number in VARIANTS.items()}


def compile_one(kernel, directory, name, number):
    path = os.path.join(directory, f"{name}.bpf.o")
    subprocess.run([find_tool("clang"), "-g", "-O2", "-target", "bpf", "-mcpu=v3", f"-D__TARGET_ARCH_{TARGETS[kernel.arch]}", f"-DSCX_VARIANT={number}",
                    "-Wno-missing-declarations", "-I", directory, "-c", SOURCE, "-o", path], check=True, capture_output=True)
    subprocess.run([find_tool("llvm-strip"), "-g", path], check=True, capture_output=True)
    return path
