"""sched_ext schedulers for one kernel: guest/scx.bpf.c, compiled against the types of the kernel that will load it.

What is here:   vmlinux.h by bpftool, objects by clang.
What is not:    loading them (guest/scx_load.c), what is done with them (guest/scx.sh), what must come of it (checks_scx.py).
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


def newest(tool):
    """`clang` may be there under its version alone."""
    versioned = sorted(glob.glob(f"/usr/bin/{tool}-[0-9]*"))
    return shutil.which(tool) or (versioned[-1] if versioned else None)


def lacking(build):
    """What is not here, for people."""
    tools = {"clang-14": newest("clang"), "llvm-14": newest("llvm-strip"), "bpftool": shutil.which("bpftool"),
             "libbpf-dev": os.path.exists(os.path.join(build, "tests", "vm", "scx_load"))}
    return sorted(package for package, found in tools.items() if not found)


def make(kernel, directory):
    """Variant -> object file. The kernel has sched_ext."""
    types = os.path.join(directory, "kernel.btf")
    with open(types, "wb") as file:
        file.write(btf.of_kernel(kernel.image))
    header = subprocess.run(["bpftool", "btf", "dump", "file", types, "format", "c"], capture_output=True, check=True).stdout
    with open(os.path.join(directory, "vmlinux.h"), "wb") as file:
        file.write(header)
    return {name: compile_one(kernel, directory, name, number) for name, number in VARIANTS.items()}


def compile_one(kernel, directory, name, number):
    path = os.path.join(directory, f"{name}.bpf.o")
    subprocess.run([newest("clang"), "-g", "-O2", "-target", "bpf", "-mcpu=v3", f"-D__TARGET_ARCH_{TARGETS[kernel.arch]}", f"-DSCX_VARIANT={number}",
                    "-Wno-missing-declarations", "-I", directory, "-c", SOURCE, "-o", path], check=True, capture_output=True)
    subprocess.run([newest("llvm-strip"), "-g", path], check=True, capture_output=True)
    return path
