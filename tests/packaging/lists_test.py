#!/usr/bin/env python3
"""Every file that Meson installs is in the list of exactly one package, every line of a list matches a file, and the versions are equal."""

import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import unittest

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
DEBIAN = SOURCE / "tools" / "packaging" / "debian"


def meson(what):
    return json.loads(subprocess.run(["meson", "introspect", what, str(BUILD)], check=True, capture_output=True, text=True).stdout)


def list_installed():
    """Returns installed paths, with "usr" as the prefix. A directory that is installed as a whole is one path."""
    prefix = next(pathlib.Path(option["value"]) for option in meson("--buildoptions") if option["name"] == "prefix")
    triplet = re.compile(r"^usr/lib(?:/[^/]*-linux-gnu[^/]*|64)?/(?=ctprof/|cmake/|pkgconfig/)")
    paths = ("usr" / pathlib.Path(path).relative_to(prefix) for path in meson("--installed").values())
    return sorted(triplet.sub("usr/lib/TRIPLET/", str(path)) for path in paths)


def read_lists():
    """Returns (package, pattern) for every line of the lists."""
    return [(path.stem, line.strip()) for path in sorted(DEBIAN.glob("*.install")) for line in path.read_text().splitlines() if line.strip()]


def matches(pattern, path):
    """Returns whether dh_install matches the path: a directory matches everything below it, and * matches no slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(fnmatch.fnmatchcase(part, expected) for part, expected in zip(parts, wanted))


class PackageLists(unittest.TestCase):
    def test_each_file_is_in_one_package(self):
        files = list_installed()
        self.assertGreater(len(files), 20)
        for path in files:
            having = [package for package, pattern in read_lists() if matches(pattern, path)]
            self.assertEqual(len(having), 1, f"{path} is in {having or 'no package'} (tools/packaging/debian/*.install)")

    def test_each_line_matches_a_file(self):
        """Ignores plugins, because a build without their libraries omits them."""
        files = list_installed()
        for package, pattern in read_lists():
            if "/plugins/" not in pattern:
                self.assertTrue(any(matches(pattern, path) for path in files), f"{package}: no installed file matches {pattern}")

    def test_versions_are_equal(self):
        version = meson("--projectinfo")["version"]
        changelog = (DEBIAN / "changelog").read_text()
        self.assertTrue(changelog.startswith(f"ctprof ({version})"), f"the version in debian/changelog is not {version}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
