"""One guest: a kernel and a disk in; how the command ended, what it said, and its files out.

The command's exit status and output come by the disk, the kernel's own words by the console: that works on machines with one serial port.
x86 is emulated on one host thread: with more, qemu now and then breaks a guest whose kernel patches itself (static keys, BPF).

What is here:   qemu.
What is not:    what is on the disk (image.py), what is run (suite.py).
"""

import os
import subprocess
from dataclasses import dataclass

from image import take_out


@dataclass(frozen=True)
class Machine:
    """How an architecture is emulated."""

    program: str
    package: str
    options: tuple
    console: str


MACHINES = {
    "amd64": Machine("qemu-system-x86_64", "qemu-system-x86", ("-accel", "tcg,thread=single", "-cpu", "max"), "ttyS0"),
    "arm64": Machine("qemu-system-aarch64", "qemu-system-arm",
                     ("-M", "virt", "-accel", "tcg,thread=multi", "-cpu", "max,pauth-impdef=on"), "ttyAMA0"),
}

MEMORY = "320M"  # filled once, to provoke compaction
CPUS = "2"


@dataclass(frozen=True)
class Finished:
    status: int | None  # None: it did not get so far
    out: str  # a directory: what the guest left in /out
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
    """Boots `disk`, waits for the guest to switch itself off, and takes out its files."""
    console = os.path.join(directory, "console")
    command = qemu(MACHINES[kernel.arch], kernel, disk, console, words)
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        pass  # no status, and the console tells how far it got
    take_out(disk, directory)
    out = os.path.join(directory, "out")
    status = read_text(os.path.join(out, "status")).strip()
    return Finished(int(status) if status else None, out, read_text(console))
