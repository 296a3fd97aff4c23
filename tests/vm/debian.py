"""Debian packages of any architecture, by apt: lists the available ones, fetches the few files of one that a guest needs, and unpacks trees of
several.

apt uses its own lists, state and cache, so that it can query suites that this machine does not use, without any change to this machine. The
mirrors come from the machine's own lists.

In scope:       apt and dpkg-deb.
Out of scope:   which kernels are wanted, and where they are stored (kernels.py); what a tree is for (cross_build.py).
"""

import glob
import os
import re
import subprocess
import tarfile
import time

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ARCHIVES = ("debian", "debian-security")
FRESH_SECONDS = 24 * 3600
WANTED_FILES = {"vmlinuz": re.compile(r"/vmlinuz(-\d[^/]*)?$"), "config": re.compile(r"/config(-\d[^/]*)?$")}


class Unavailable(Exception):
    """A package or mirror is not available. The message is for people."""


def newest_first(names):
    """Sorts names by the numbers in them."""
    return sorted(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)], reverse=True)


def run(*words, **options):
    finished = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if finished.returncode != 0:
        last = (finished.stderr.strip() or "no error message").splitlines()[-1]
        raise Unavailable(f"{' '.join(words[:1] + words[-2:])}: {last}")
    return finished.stdout


def mirrors():
    """Returns a map archive -> address, from this machine's own lists. A mirror that has one archive is assumed to have the other one, too."""
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=False)
    found = {}
    for address in targets.stdout.split():
        place, _, archive = address.rstrip("/").rpartition("/")
        if archive in ARCHIVES:
            found[archive] = address.rstrip("/")
            found = {other: f"{place}/{other}" for other in ARCHIVES} | found
    if not found:
        raise Unavailable("apt's lists on this machine name no Debian mirror")
    return found


class Archive:
    """`suites` of one architecture, as seen by a machine without installed packages. Its files are in `directory`."""

    def __init__(self, directory, arch, suites):
        self.directory = directory
        self.suites = suites
        self.sources = os.path.join(directory, "sources.list")
        self.stamp = os.path.join(directory, "updated")
        self.unreachable = None  # set after the first failure, so that later calls fail immediately
        self.options = []
        for key, value in {"Dir::Etc::sourcelist": self.sources, "Dir::Etc::sourceparts": "/dev/null",
                           "Dir::State::Lists": os.path.join(directory, "lists"), "Dir::Cache": os.path.join(directory, "cache"),
                           "Dir::State::status": os.path.join(directory, "status"), "APT::Architecture": arch, "APT::Architectures": arch,
                           "Acquire::Retries": "2", "Acquire::http::Timeout": "20", "APT::Sandbox::User": "root"}.items():
            self.options += ["-o", f"{key}={value}"]

    def update(self):
        """Updates the lists once a day. Raises Unavailable without a network."""
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
        with open(os.path.join(self.directory, "status"), "w", encoding="utf-8"):
            pass
        where = mirrors()
        with open(self.sources, "w", encoding="utf-8") as file:
            for suite in self.suites:
                archive = "debian-security" if suite.endswith("-security") else "debian"
                file.write(f"deb [signed-by={KEYRING}] {where[archive]} {suite} main\n")

    def packages(self, pattern):
        """Yields the names of available packages that match, the newest first. Lists may contain names without a package."""
        named = run("apt-cache", *self.options, "pkgnames", "linux-").split()
        for name in newest_first(name for name in named if re.fullmatch(pattern, name)):
            if subprocess.run(["apt-cache", *self.options, "show", name], capture_output=True, check=False).returncode == 0:
                yield name

    def fetch(self, package, directory):
        """Extracts the wanted files of the package into `directory`, under fixed names."""
        run("apt-get", *self.options, "-q", "download", package, cwd=directory)
        deb = next(os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".deb"))
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as unpacked:
            with tarfile.open(fileobj=unpacked.stdout, mode="r|") as members:
                for member in members:
                    extract_member(members, member, directory)
        os.unlink(deb)

    def unpack(self, packages, directory):
        """Unpacks the packages with all dependencies. Runs none of their programs, so it needs no rights and no machine of that architecture."""
        run("apt-get", *self.options, "-q", "-y", "--no-install-recommends", "--download-only", "install", *packages)
        for place in ("lib", "bin", "sbin"):  # packages use both locations
            os.makedirs(os.path.join(directory, "usr", place))
            os.symlink(f"usr/{place}", os.path.join(directory, place))
        for deb in sorted(glob.glob(os.path.join(self.directory, "cache", "archives", "*.deb"))):
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as unpacked:
                run("tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", directory, stdin=unpacked.stdout)
            os.unlink(deb)
        make_links_relative(directory)


def extract_member(members, member, directory):
    for plain, pattern in WANTED_FILES.items():
        if member.isfile() and pattern.search(member.name):
            with open(os.path.join(directory, plain), "wb") as file:
                file.write(members.extractfile(member).read())


def make_links_relative(directory):
    """Makes absolute links relative, so that they stay in the tree."""
    for place, directories, files in os.walk(directory):
        for path in (os.path.join(place, name) for name in directories + files):
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                target = os.path.relpath(directory + os.readlink(path), os.path.realpath(place))
                os.unlink(path)
                os.symlink(target, path)
