#!/usr/bin/env python3
"""The packages, from the tree to a purged host: built twice and equal, free of complaints, installed in a fresh Debian 12 root, used as a new user
would, upgraded, and gone without a trace. For `tools/dev soak deb`: root, half an hour, and the mirror that this machine's apt knows.

    soak_deb.py [--debs DIR] [--root DIR]    with packages that are there already; in a copy of a root that is there already
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

from debian_root import SOURCE, Root, expect, packages_in, run, say, without_debug

# What somebody needs who reads manuals, completes words, and asks a fleet.
TOOLS = ["bash-completion", "less", "man-db", "python3-venv"]
# Not the packages': what apt, dpkg and man keep for themselves, what ldconfig makes anew, and mounts.
KEPT = re.compile(r"^/(proc|sys|dev|run|tmp|var/(cache|log|lib/(apt|dpkg))|root/\.bash_history|etc/ld\.so\.cache)(/|$)")
# What the fleet's verb says that has to be done before it works.
GETS_DUCKDB = re.compile(r"python3 -m venv .*PATH=[^ \n]+")
# A terminal, and somebody who leaves after five seconds.
LIVE = "(sleep 5; printf q) | script --quiet --return --command 'stty rows 30 columns 120; TERM=xterm ctprof live' /dev/null"
COMPLETED = """
. /usr/share/bash-completion/bash_completion
_completion_loader ctprof
COMP_LINE=$1 COMP_POINT=${#1}
read -ra COMP_WORDS <<<"$COMP_LINE"
compopt() { :; }
_ctprof ctprof
printf '%s\\n' "${COMPREPLY[@]}"
"""


def build_twice(room):
    """Of one tree in two places, one of them with a longer name, and that one without a compiler cache: what it keeps of the first would be equal."""
    first, second = room / "one", room / "another-place"
    run(SOURCE / "tools" / "dev", "deb", first)
    run(SOURCE / "tools" / "dev", "deb", second, env=os.environ | {"CCACHE_DISABLE": "1"})
    names = [path.name for path in packages_in(first)]
    expect(names == [path.name for path in packages_in(second)] and len(names) == 5, f"the builds are of other packages: {names}")
    for name in names:
        expect(filecmp.cmp(first / name, second / name, shallow=False), f"two builds of {name} differ")
    say(f"two builds are equal: {', '.join(names)}")
    return first


def ask_lintian(debs):
    print(run("lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *debs.glob("*.changes"), *packages_in(debs)))
    say("lintian has no error and no warning")


def newer(deb, room):
    """The same package, one version later."""
    tree = room / "tree"
    run("dpkg-deb", "-R", deb, tree)
    control = tree / "DEBIAN" / "control"
    text = control.read_text()
    version = re.search(r"^Version: (.*)$", text, re.M)[1]
    control.write_text(text.replace(version, f"{version}+1"))  # in what it depends on, too
    run("dpkg-deb", "--root-owner-group", "-b", tree, room)
    shutil.rmtree(tree)
    return f"{version}+1"


def files_in(root):
    """What each path is: type, mode, owner, and of files and links what is in them."""
    found = {}

    def inside(directory, name):
        return "/" + os.path.relpath(os.path.join(directory, name), root.path)

    for directory, below, names in os.walk(root.path):
        below[:] = [name for name in below if not KEPT.match(inside(directory, name))]
        for name in below + names:
            path = os.path.join(directory, name)
            if KEPT.match(inside(directory, name)):
                continue
            status = os.lstat(path)
            what = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    what = hash(file.read())
            found[inside(directory, name)] = (status.st_mode, status.st_uid, status.st_gid, what)
    return found


@contextlib.contextmanager
def unchanged(root):
    before = files_in(root)
    yield
    after = files_in(root)
    differs = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    expect(not differs, f"the packages left a trace: {', '.join(differs)}")


def use(root, user):
    """As somebody would who has just installed it."""
    home = run("mktemp", "-d", f"{root.path}/tmp/{user or 'root'}-XXXX").strip()
    os.chmod(home, 0o777)
    inside = home.removeprefix(str(root.path))

    def ctprof(*words):
        return root.run("ctprof", "--no-pager", *words, user=user)

    for name in ("before", "after"):
        ctprof("record", "-d", "500ms", "-o", f"{inside}/{name}.ctprof.zst")
    expect("threads" in ctprof("show", f"{inside}/before.ctprof.zst"), "show says nothing of threads")
    expect("candidate" in ctprof("compare", "--details", f"{inside}/before.ctprof.zst", f"{inside}/after.ctprof.zst"), "compare compares nothing")
    ctprof("report", f"{inside}/before.ctprof.zst", "--vs", f"{inside}/after.ctprof.zst", "-o", f"{inside}/report.html")
    expect((pathlib.Path(home) / "report.html").stat().st_size > 10_000, "the report is no page")
    screen = root.run("sh", "-c", LIVE, user=user)
    expect("processes by name" in screen and "q quit" in screen, f"live shows no screen:\n{screen}")
    for page in ("ctprof", "ctprof-record", "ctprof-metrics", "ctprof-file"):
        expect(len(root.run("man", "--pager=cat", page, user=user).splitlines()) > 20, f"man {page} is no manual")
    for line, word in (("ctprof comp", "compare"), ("ctprof record --level ", "fast"), ("ctprof show --metrics run_ti", "run_time_ns")):
        found = root.run("bash", "-c", COMPLETED, "complete", line, user=user).split()
        expect(word in found, f"'{line}' is completed by {found}")
    shutil.rmtree(home)


def fetch_duckdb(place):
    """Files of packages, from the index that this machine's pip knows."""
    place.mkdir()
    run("python3", "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version=3.11", "--dest", place, "duckdb")


def ask_fleet(root, wheels, user):
    """Without DuckDB it says what to do, and whoever does that has a fleet."""
    home = run("mktemp", "-d", f"{root.path}/tmp/{user or 'root'}-XXXX").strip()
    shutil.copytree(wheels, f"{home}/wheels")
    run("chown", "-R", root.run("id", "-u", user or "root").strip(), home)
    inside = home.removeprefix(str(root.path))

    def as_user(script):
        return root.run("sh", "-c", f"export HOME={inside} PIP_NO_INDEX=1 PIP_FIND_LINKS={inside}/wheels; cd; {script}", user=user)

    expect("no python3 in PATH" in as_user("! PATH=/nowhere /usr/bin/ctprof fleet index ."), "without Python it does not say so")
    said = as_user("! ctprof fleet index .")
    asked = GETS_DUCKDB.search(said)
    expect(asked, f"without DuckDB it says: {said}")
    answer = as_user(f"{asked[0]}; ctprof record -q -d 500ms -o one.ctprof.zst; ctprof fleet index . && ctprof fleet sql 'SELECT count(*) AS hosts FROM captures'")
    expect(re.search(r"^ *hosts\n(-+\n)? *1$", answer, re.M), f"it says of a fleet of one:\n{answer}")
    shutil.rmtree(home)


def live_and_die(root, debs, room):
    own = without_debug(debs)
    alone = [deb for deb in own if deb.name.startswith("ctprof_")]
    fetch_duckdb(room / "wheels")
    with unchanged(root):
        root.put(alone)
        for user in (None, "guest"):
            use(root, user)
            ask_fleet(root, room / "wheels", user)
        expect((root.path / "lib/systemd/system/ctprof.service").is_file(), "the package has no unit")
        say("ctprof alone installs and works, for root and for a user")
        root.put(own)
        plugins = root.run("ctprof", "--no-pager", "plugins")
        expect(all(re.search(rf"^{name}\b", plugins, re.M) for name in ("task-iter", "off-cpu", "jemalloc-ptrace")), f"plugins are missing:\n{plugins}")
        use(root, None)
        expect("-I" in root.run("sh", "-c", "test -f /usr/include/ctprof/abi.h && echo -I"), "no headers")
        say("with plugins and headers beside it, too")
        versions = {newer(deb, room) for deb in own}
        root.put(packages_in(room))
        expect(root.run("dpkg-query", "-W", "-f", "${Version}\n", "ctprof").split() == sorted(versions), "it was not upgraded")
        use(root, None)
        say(f"upgraded to {versions.pop()}, and works")
        root.apt("purge", *(deb.name.split("_")[0] for deb in own))
        root.apt("autoremove", "--purge")
        expect("ctprof" not in root.run("dpkg-query", "-W", "-f", "${Package}\n"), "dpkg still knows a package")
    say("purged: every file is as it was")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--debs", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path)
    asked = parser.parse_args()
    expect(os.geteuid() == 0, "a root to install in needs root")
    with tempfile.TemporaryDirectory(prefix="ctprof-deb-", dir="/var/tmp") as directory:
        room = pathlib.Path(directory)
        debs = asked.debs or build_twice(room)
        ask_lintian(debs)
        (room / "root").mkdir(mode=0o755)
        (room / "newer").mkdir()
        root = Root(room / "root", TOOLS, asked.root)
        root.run("useradd", "--create-home", "guest")
        live_and_die(root, debs, room / "newer")


if __name__ == "__main__":
    sys.exit(main())
