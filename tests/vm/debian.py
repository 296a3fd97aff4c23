"""Kernel packages of Debian, by apt: which there are, and the few files of one that a guest needs.

apt gets lists, a state and a cache of its own, so that suites which this machine does not have can be asked, and nothing of this machine
changes. Mirrors are those of the machine's own lists.

What is here:   apt and dpkg-deb.
What is not:    which kernels are wanted, and where they are kept (kernels.py).
"""

import os
import re
import subprocess
import tarfile
import time

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = ["bullseye-security", "bookworm-security", "trixie-security", "trixie-backports"]
PUBLIC = {"debian": "http://deb.debian.org/debian", "debian-security": "http://deb.debian.org/debian-security"}
FRESH_SECONDS = 24 * 3600
WANTED_FILES = {"vmlinuz": re.compile(r"/vmlinuz(-\d[^/]*)?$"), "config": re.compile(r"/config(-\d[^/]*)?$")}


class Unavailable(Exception):
    """What could not be had, for people."""


def newest_first(names):
    """By the numbers in them."""
    return sorted(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)], reverse=True)


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        last = (done.stderr.strip() or "no word why").splitlines()[-1]
        raise Unavailable(f"{' '.join(words[:1] + words[-2:])}: {last}")
    return done.stdout


def mirrors():
    """Archive -> address: those of the machine where it has some."""
    found = dict(PUBLIC)
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=False)
    for address in targets.stdout.split():
        archive = address.rstrip("/").rpartition("/")[2]
        if archive in found:
            found[archive] = address.rstrip("/")
    return found


class Archive:
    def __init__(self, directory):
        self.directory = directory
        self.sources = os.path.join(directory, "sources.list")
        self.stamp = os.path.join(directory, "updated")
        self.unreachable = None  # once it was, nobody waits for it again
        self.options = []
        for key, value in {"Dir::Etc::sourcelist": self.sources, "Dir::Etc::sourceparts": "/dev/null",
                           "Dir::State::Lists": os.path.join(directory, "lists"), "Dir::Cache": os.path.join(directory, "cache"),
                           "Acquire::Retries": "2", "Acquire::http::Timeout": "20", "APT::Sandbox::User": "root"}.items():
            self.options += ["-o", f"{key}={value}"]

    def update(self):
        """Lists of today. Raises Unavailable without a network."""
        if os.path.exists(self.stamp) and time.time() - os.path.getmtime(self.stamp) < FRESH_SECONDS:
            return
        if self.unreachable:
            raise self.unreachable
        self.write_sources()
        try:
            run("apt-get", *self.options, "-q", "--error-on=any", "update")
        except Unavailable as why:
            self.unreachable = why
            raise
        with open(self.stamp, "w", encoding="utf-8"):
            pass

    def write_sources(self):
        for place in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.directory, place), exist_ok=True)
        where = mirrors()
        with open(self.sources, "w", encoding="utf-8") as file:
            for suite in SUITES:
                archive = "debian-security" if suite.endswith("-security") else "debian"
                file.write(f"deb [signed-by={KEYRING}] {where[archive]} {suite} main\n")

    def packages(self, pattern):
        """Names that match and can be had, the newest first. Other packages may name some that are gone from the mirror."""
        named = run("apt-cache", *self.options, "pkgnames", "linux-").split()
        for name in newest_first(name for name in named if re.fullmatch(pattern, name)):
            if subprocess.run(["apt-cache", *self.options, "show", name], capture_output=True, check=False).returncode == 0:
                yield name

    def fetch(self, package, directory):
        """Puts what is wanted of the package into `directory`, under plain names."""
        run("apt-get", *self.options, "-q", "download", package, cwd=directory)
        deb = next(os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".deb"))
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as unpacked:
            with tarfile.open(fileobj=unpacked.stdout, mode="r|") as members:
                for member in members:
                    keep(members, member, directory)
        os.unlink(deb)


def keep(members, member, directory):
    for plain, pattern in WANTED_FILES.items():
        if member.isfile() and pattern.search(member.name):
            with open(os.path.join(directory, plain), "wb") as file:
                file.write(members.extractfile(member).read())
