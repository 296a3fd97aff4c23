#!/usr/bin/env python3
"""Tests the service in a virtual machine with Debian 12 and systemd: it starts at boot, is sandboxed, reads everything that its capabilities allow,
survives the operations of administrators, and is removed with its package. For `tools/dev soak unit`; needs root, half an hour, and a Debian mirror.

    soak_unit.py [--debs DIR] [--root DIR] [--keep DIR]    uses existing packages and a copy of an existing root; keeps the output of the guest in DIR
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

import unit_checks
from debian_root import SOURCE, Root, expect, run, say, exclude_debug_packages

sys.path.insert(0, str(SOURCE / "tests" / "vm"))
import guest  # noqa: E402
import kernels  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["systemd", "systemd-sysv", "procps"]
KERNEL = "6.1"  # the kernel of Debian 12
SIZE = "2G"  # sparse
STEPS = """[Unit]
Description=operations of an administrator
[Service]
Type=exec
ExecStart=/opt/steps.sh
[Install]
WantedBy=multi-user.target
"""


def make_disk(root, debs, work_directory):
    """Installs the packages, checks that the unit is not enabled by default, and returns the disk image."""
    root.install(debs)
    (root.path / "opt" / "debs").mkdir()
    for deb in debs:
        shutil.copy(deb, root.path / "opt" / "debs")
    shutil.copy(HERE / "guest" / "steps.sh", root.path / "opt")
    (root.path / "etc" / "systemd" / "system" / "steps.service").write_text(STEPS)
    state = root.run("sh", "-c", "systemctl is-enabled ctprof || true").strip()
    expect(state == "disabled", f"installed, the unit is {state}")
    root.run("systemctl", "enable", "ctprof", "steps")
    (root.path / "usr" / "sbin" / "policy-rc.d").unlink()  # allows services to start
    (root.path / "out").mkdir()
    disk = work_directory / "disk.img"
    run("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=1", "-d", root.path, disk, SIZE)
    return disk


def boot(kernel, disk, directory, timeout):
    directory.mkdir(parents=True)
    finished = guest.run(kernel, str(disk), str(directory), "init=/lib/systemd/systemd systemd.show_status=no", timeout)
    expect(finished.status == 0, f"the guest did not finish; its console:\n{finished.console[-4000:]}")
    return unit_checks.GuestOutput(directory / "out")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--debs", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    expect(os.geteuid() == 0, "installing in a root directory requires root")
    with tempfile.TemporaryDirectory(prefix="ctprof-unit-", dir="/var/tmp") as directory:
        work_directory = pathlib.Path(directory)
        output_directory = options.keep or work_directory
        if not options.debs:
            run(SOURCE / "tools" / "dev", "deb", work_directory / "debs")
        (work_directory / "root").mkdir(mode=0o755)
        debs = [deb for deb in exclude_debug_packages(options.debs or work_directory / "debs") if "-dev_" not in deb.name]
        disk = make_disk(Root(work_directory / "root", PACKAGES, options.root), debs, work_directory)
        selected = next(kernel for kernel in kernels.KERNELS if kernel.name == KERNEL)
        kernel = kernels.Cache(kernels.default_cache()).get(selected)
        failed = []
        for number, checks in enumerate((unit_checks.CHECKS_OF_FIRST_BOOT, unit_checks.CHECKS_OF_SECOND_BOOT), 1):
            output = boot(kernel, disk, output_directory / f"boot-{number}", timeout=1800)
            for check in checks:
                problems = list(check(output))
                failed += problems
                say(f"{'FAIL' if problems else 'ok'}: {check.__doc__.splitlines()[0]}")
                for sentence in problems:
                    say(f"  {sentence}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
