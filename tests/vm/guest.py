"""Runs one guest from a kernel and a disk. Returns the exit status of its command, the console output, and its files.

The exit status and output of the command are on the disk, and the kernel's messages on the console, which works on machines with one serial
port. x86 is emulated on one host thread: with more, qemu sometimes breaks a guest whose kernel patches its own code (static keys, BPF).

In scope:       qemu.
Out of scope:   the contents of the disk (image.py), what runs in the guest (suite.py).
"""

import os
import subprocess
from dataclasses import dataclass

from image import take_out


@dataclass(frozen=True)
class Machine:
    """How to emulate an architecture."""

    program: str
    package: str
    options: tuple
    console: str


MACHINES = {
    "amd64": Machine("qemu-system-x86_64", "qemu-system-x86", ("-accel", "tcg,thread=single", "-cpu", "max"), "ttyS0"),
    "arm64": Machine("qemu-system-aarch64", "qemu-system-arm",
                     ("-M", "virt", "-accel", "tcg,thread=multi", "-cpu", "max,pauth-impdef=on"), "ttyAMA0"),
}

MEMORY = "320M"  # the workload fills it once to provoke compaction
CPUS = "2"


@dataclass(frozen=True)
class Finished:
    status: int | None  # None if the command did not end
    out: str  # a directory with the guest's files from /out
    console: str


def command_line(machine, words):
    return f"root=/dev/nvme0n1 rw init=/init console={machine.console} quiet panic=-1 oops=panic {words}"


def qemu(machine, kernel, disk, console, words):
    return [machine.program, *machine.options, "-m", MEMORY, "-smp", CPUS, "-nodefaults", "-display", "none", "-monitor", "none", "-no-reboot",
            "-kernel", kernel.image, "-append", command_line(machine, words),
            "-drive", f"file={disk},format=raw,if=none,id=disk,cache=unsafe,discard=unmap", "-device", "nvme,drive=disk,serial=1",
            "-serial", f"file:{console}"]


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def run(kernel, disk, directory, words, timeout):
    """Boots `disk`, waits until the guest powers off, and extracts its files."""
    console = os.path.join(directory, "console")
    command = qemu(MACHINES[kernel.arch], kernel, disk, console, words)
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        pass  # there is no status, and the console shows how far the guest came
    take_out(disk, directory)
    out = os.path.join(directory, "out")
    status = read_text(os.path.join(out, "status")).strip()
    return Finished(int(status) if status else None, out, read_text(console))
