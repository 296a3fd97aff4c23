#!/usr/bin/env python3
"""Tests the packages: builds them twice and compares them, runs lintian, installs them in a fresh Debian 12 root, uses them like a new user, upgrades
and purges them, and checks that no file remains. For `tools/dev soak deb`; needs root, half an hour, and a Debian mirror.

    soak_deb.py [--debs DIR] [--root DIR]    uses existing packages, and a copy of an existing root
"""

import argparse
import contextlib
import filecmp
import os
import pathlib
import re
import shutil
import stat
import sys
import tempfile

from debian_root import SOURCE, Root, expect, packages_in, run, say, exclude_debug_packages

# Packages for man pages, completion and `fleet`.
TOOLS = ["bash-completion", "less", "man-db", "python3-venv"]
# Paths that packages do not own: state of apt, dpkg and man, the cache of ldconfig, and mounts.
IGNORED_PATHS = re.compile(r"^/(proc|sys|dev|run|tmp|var/(cache|log|lib/(apt|dpkg))|root/\.bash_history|etc/ld\.so\.cache)(/|$)")
# The commands in the error message of `fleet` that install DuckDB.
DUCKDB_COMMANDS = re.compile(r"python3 -m venv .*PATH=[^ \n]+")
# Runs live in a terminal and quits after five seconds.
RUN_LIVE = "(sleep 5; printf q) | script --quiet --return --command 'stty rows 30 columns 120; TERM=xterm ctprof live' /dev/null"
COMPLETE_SCRIPT = """
. /usr/share/bash-completion/bash_completion
_completion_loader ctprof
COMP_LINE=$1 COMP_POINT=${#1}
read -ra COMP_WORDS <<<"$COMP_LINE"
compopt() { :; }
_ctprof ctprof
printf '%s\\n' "${COMPREPLY[@]}"
"""


def build_twice(work_directory):
    """Builds one tree in two directories with names of different lengths. The second build uses no compiler cache, because that
    would return equal objects."""
    first, second = work_directory / "one", work_directory / "another-place"
    run(SOURCE / "tools" / "dev", "deb", first)
    run(SOURCE / "tools" / "dev", "deb", second, env=os.environ | {"CCACHE_DISABLE": "1"})
    names = [path.name for path in packages_in(first)]
    expect(names == [path.name for path in packages_in(second)] and len(names) == 5, f"the builds contain different packages: {names}")
    for name in names:
        expect(filecmp.cmp(first / name, second / name, shallow=False), f"two builds of {name} differ")
    say(f"two builds are equal: {', '.join(names)}")
    return first


def run_lintian(debs):
    print(run("lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *debs.glob("*.changes"), *packages_in(debs)))
    say("lintian has no error and no warning")


def make_newer_version(deb, work_directory):
    """Makes a copy of the package with a higher version. Returns the version."""
    tree = work_directory / "tree"
    run("dpkg-deb", "-R", deb, tree)
    control = tree / "DEBIAN" / "control"
    text = control.read_text()
    version = re.search(r"^Version: (.*)$", text, re.M)[1]
    control.write_text(text.replace(version, f"{version}+1"))  # also in its dependencies
    run("dpkg-deb", "--root-owner-group", "-b", tree, work_directory)
    shutil.rmtree(tree)
    return f"{version}+1"


def files_in(root):
    """Returns for each path its mode, owner, and the target of a link or the hash of a file."""
    found = {}

    def inside(directory, name):
        return "/" + os.path.relpath(os.path.join(directory, name), root.path)

    for directory, below, names in os.walk(root.path):
        below[:] = [name for name in below if not IGNORED_PATHS.match(inside(directory, name))]
        for name in below + names:
            path = os.path.join(directory, name)
            if IGNORED_PATHS.match(inside(directory, name)):
                continue
            status = os.lstat(path)
            what = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    what = hash(file.read())
            found[inside(directory, name)] = (status.st_mode, status.st_uid, status.st_gid, what)
    return found


@contextlib.contextmanager
def expect_unchanged(root):
    before = files_in(root)
    yield
    after = files_in(root)
    differs = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    expect(not differs, f"purged packages left changes: {', '.join(differs)}")


def use_commands(root, user):
    """Uses ctprof like a new user."""
    home = run("mktemp", "-d", f"{root.path}/tmp/{user or 'root'}-XXXX").strip()
    os.chmod(home, 0o777)
    inside = home.removeprefix(str(root.path))

    def ctprof(*words):
        return root.run("ctprof", "--no-pager", *words, user=user)

    for name in ("before", "after"):
        ctprof("record", "-d", "500ms", "-o", f"{inside}/{name}.ctprof.zst")
    expect("threads" in ctprof("show", f"{inside}/before.ctprof.zst"), "show prints no threads")
    expect("candidate" in ctprof("compare", "--details", f"{inside}/before.ctprof.zst", f"{inside}/after.ctprof.zst"), "compare prints no comparison")
    ctprof("report", f"{inside}/before.ctprof.zst", "--vs", f"{inside}/after.ctprof.zst", "-o", f"{inside}/report.html")
    expect((pathlib.Path(home) / "report.html").stat().st_size > 10_000, "the report is not a page")
    screen = root.run("sh", "-c", RUN_LIVE, user=user)
    expect("processes by name" in screen and "q quit" in screen, f"live shows no screen:\n{screen}")
    for page in ("ctprof", "ctprof-record", "ctprof-metrics", "ctprof-file"):
        expect(len(root.run("man", "--pager=cat", page, user=user).splitlines()) > 20, f"man {page} is not a man page")
    for line, word in (("ctprof comp", "compare"), ("ctprof record --level ", "fast"), ("ctprof show --metrics run_ti", "run_time_ns")):
        found = root.run("bash", "-c", COMPLETE_SCRIPT, "complete", line, user=user).split()
        expect(word in found, f"'{line}' is completed to {found}")
    shutil.rmtree(home)


def fetch_duckdb(place):
    """Downloads the wheels of DuckDB from the package index of this machine's pip."""
    place.mkdir()
    run("python3", "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version=3.11", "--dest", place, "duckdb")


def use_fleet(root, wheels, user):
    """Without DuckDB the error message contains commands to install it; after these commands `fleet` works."""
    home = run("mktemp", "-d", f"{root.path}/tmp/{user or 'root'}-XXXX").strip()
    shutil.copytree(wheels, f"{home}/wheels")
    run("chown", "-R", root.run("id", "-u", user or "root").strip(), home)
    inside = home.removeprefix(str(root.path))

    def as_user(script):
        return root.run("sh", "-c", f"export HOME={inside} PIP_NO_INDEX=1 PIP_FIND_LINKS={inside}/wheels; cd; {script}", user=user)

    expect("PATH has no python3" in as_user("! PATH=/nowhere /usr/bin/ctprof fleet index ."), "without Python the error message does not mention it")
    message = as_user("! ctprof fleet index .")
    commands = DUCKDB_COMMANDS.search(message)
    expect(commands, f"without DuckDB the message is: {message}")
    answer = as_user(f"{commands[0]}; ctprof record -q -d 500ms -o one.ctprof.zst; ctprof fleet index . && "
                     "ctprof fleet sql 'SELECT count(*) AS hosts FROM captures'")
    expect(re.search(r"^ *hosts\n(-+\n)? *1$", answer, re.M), f"the query of one host gives:\n{answer}")
    shutil.rmtree(home)


def install_upgrade_and_purge(root, debs, work_directory):
    own = exclude_debug_packages(debs)
    alone = [deb for deb in own if deb.name.startswith("ctprof_")]
    fetch_duckdb(work_directory / "wheels")
    with expect_unchanged(root):
        root.install(alone)
        for user in (None, "guest"):
            use_commands(root, user)
            use_fleet(root, work_directory / "wheels", user)
        expect((root.path / "lib/systemd/system/ctprof.service").is_file(), "the package contains no unit")
        say("only the package ctprof is installed: it works, for root and for a user")
        root.install(own)
        plugins = root.run("ctprof", "--no-pager", "plugins")
        expect(all(re.search(rf"^{name}\b", plugins, re.M) for name in ("task-iter", "off-cpu", "jemalloc-ptrace")), f"plugins are missing:\n{plugins}")
        use_commands(root, None)
        expect("-I" in root.run("sh", "-c", "test -f /usr/include/ctprof/abi.h && echo -I"), "no headers")
        say("it also works with the packages of plugins and headers")
        versions = {make_newer_version(deb, work_directory) for deb in own}
        root.install(packages_in(work_directory))
        expect(root.run("dpkg-query", "-W", "-f", "${Version}\n", "ctprof").split() == sorted(versions), "it was not upgraded")
        use_commands(root, None)
        say(f"upgraded to {versions.pop()}, and works")
        root.apt("purge", *(deb.name.split("_")[0] for deb in own))
        root.apt("autoremove", "--purge")
        expect("ctprof" not in root.run("dpkg-query", "-W", "-f", "${Package}\n"), "dpkg still lists a package")
    say("purged: all files are unchanged")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--debs", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path)
    options = parser.parse_args()
    expect(os.geteuid() == 0, "installing in a root directory requires root")
    with tempfile.TemporaryDirectory(prefix="ctprof-deb-", dir="/var/tmp") as directory:
        work_directory = pathlib.Path(directory)
        debs = options.debs or build_twice(work_directory)
        run_lintian(debs)
        (work_directory / "root").mkdir(mode=0o755)
        (work_directory / "newer").mkdir()
        root = Root(work_directory / "root", TOOLS, options.root)
        root.run("useradd", "--create-home", "guest")
        install_upgrade_and_purge(root, debs, work_directory / "newer")


if __name__ == "__main__":
    sys.exit(main())
