#!/usr/bin/env python3
"""The service, in a Debian 12 with systemd and a kernel of its own: it comes up with the host, is sandboxed, sees what its capabilities are for, survives
what administrators do, and is gone when its package is. For `tools/dev soak unit`: root, half an hour, and the mirror that this machine's apt knows.

    soak_unit.py [--debs DIR] [--root DIR] [--keep DIR]    with packages, and in a copy of a root, that are there already; what the guest left stays in DIR
"""

import argparse
import os
import pathlib
import re
import shutil
import sys
import tempfile

import unit_checks
from debian_root import SOURCE, Root, expect, run, say, without_debug

sys.path.insert(0, str(SOURCE / "tests" / "vm"))
import guest  # noqa: E402
import kernels  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["systemd", "systemd-sysv", "procps"]
KERNEL = "6.1"  # Debian 12's own
SIZE = "2G"  # sparse
STEPS = """[Unit]
Description=what an administrator does
[Service]
Type=exec
ExecStart=/opt/steps.sh
[Install]
WantedBy=multi-user.target
"""


def make_disk(root, debs, room):
    """The packages are installed as on any host: the unit is there, and nobody started it."""
    root.put(debs)
    (root.path / "opt" / "debs").mkdir()
    for deb in debs:
        shutil.copy(deb, root.path / "opt" / "debs")
    shutil.copy(HERE / "guest" / "steps.sh", root.path / "opt")
    (root.path / "etc" / "systemd" / "system" / "steps.service").write_text(STEPS)
    state = root.run("sh", "-c", "systemctl is-enabled ctprof || true").strip()
    expect(state == "disabled", f"installed, the unit is {state}")
    root.run("systemctl", "enable", "ctprof", "steps")
    (root.path / "usr" / "sbin" / "policy-rc.d").unlink()  # this host has services
    (root.path / "out").mkdir()
    disk = room / "disk.img"
    run("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=1", "-d", root.path, disk, SIZE)
    return disk


def boot(kernel, disk, directory, timeout):
    directory.mkdir(parents=True)
    done = guest.run(kernel, str(disk), str(directory), "init=/lib/systemd/systemd systemd.show_status=no", timeout)
    expect(done.status == 0, f"the guest did not come to its end; its console:\n{done.console[-4000:]}")
    return unit_checks.Left(directory / "out")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--debs", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    asked = parser.parse_args()
    expect(os.geteuid() == 0, "a root to install in needs root")
    with tempfile.TemporaryDirectory(prefix="ctprof-unit-", dir="/var/tmp") as directory:
        room = pathlib.Path(directory)
        kept = asked.keep or room
        if not asked.debs:
            run(SOURCE / "tools" / "dev", "deb", room / "debs")
        (room / "root").mkdir(mode=0o755)
        debs = [deb for deb in without_debug(asked.debs or room / "debs") if "-dev_" not in deb.name]
        disk = make_disk(Root(room / "root", PACKAGES, asked.root), debs, room)
        wanted = next(kernel for kernel in kernels.KERNELS if kernel.name == KERNEL)
        kernel = kernels.Cache(kernels.default_cache()).get(wanted)
        wrong = []
        for number, checks in enumerate((unit_checks.SHIPPED, unit_checks.HANDLED), 1):
            left = boot(kernel, disk, kept / f"boot-{number}", timeout=1800)
            for check in checks:
                found = list(check(left))
                wrong += found
                say(f"{'FAIL' if found else 'ok'}: {check.__doc__.splitlines()[0]}")
                for sentence in found:
                    say(f"  {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
