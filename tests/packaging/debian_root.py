"""A Debian installation in a directory, created by mmdebstrap from the mirrors of this machine's apt.

Contents: creates it, runs commands in it, installs packages in it.
See also: the checks (soak_deb.py, soak_unit.py).
"""

import os
import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SUITE = "bookworm"
ENTER = """for place in proc sys dev; do mount --rbind /$place "$0/$place"; done; exec chroot "$0" "$@\""""


def run(*words, **options):
    finished = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if finished.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: status {finished.returncode}\n{finished.stdout}")
    return finished.stdout


def say(what):
    print(what, flush=True)


def expect(holds, what):
    if not holds:
        raise SystemExit(what)


def packages_in(directory):
    """Returns the package files in a directory."""
    return sorted(path for path in directory.glob("*.deb"))


class Root:
    """A Debian installation in a directory."""

    def __init__(self, path, packages=(), template=None):
        """Creates a Debian installation with these packages, or copies an existing one."""
        self.path = path
        if template:
            run("cp", "-a", f"{template}/.", path)
        else:
            sources = [file for file in ("/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources") if os.path.exists(file)]
            run("mmdebstrap", "--variant=minbase", "--mode=root", f"--include={','.join(packages)}", SUITE, path, *sources)
        policy = path / "usr" / "sbin" / "policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        shutil.copy("/etc/resolv.conf", path / "etc" / "resolv.conf")
        self.apt("update")

    def run(self, *words, user=None):
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env"] if user else []
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "TERM": "dumb", "DEBIAN_FRONTEND": "noninteractive"}
        environment |= {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        return run("unshare", "--mount", "sh", "-c", ENTER, self.path, *as_user, *words, env=environment)

    def apt(self, *words):
        return self.run("apt-get", "-y", "-q", *words)

    def install(self, debs):
        """Installs these package files without recommended packages."""
        for deb in debs:
            shutil.copy(deb, self.path / "tmp")
        self.apt("install", "--no-install-recommends", *(f"/tmp/{deb.name}" for deb in debs))
        for deb in debs:
            (self.path / "tmp" / deb.name).unlink()


def exclude_debug_packages(debs):
    return [deb for deb in packages_in(debs) if "dbgsym" not in deb.name]
