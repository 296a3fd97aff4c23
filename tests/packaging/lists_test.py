#!/usr/bin/env python3
"""Every file that Meson installs is in exactly one package's list, and no line of a list is for nothing; nor do the versions differ."""

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


def installed():
    """Paths below the prefix, with "usr" for it; of a directory that is installed whole the directory."""
    prefix = next(pathlib.Path(option["value"]) for option in meson("--buildoptions") if option["name"] == "prefix")
    triplet = re.compile(r"^usr/lib(?:/[^/]*-linux-gnu[^/]*|64)?/(?=ctprof/|cmake/|pkgconfig/)")
    paths = ("usr" / pathlib.Path(path).relative_to(prefix) for path in meson("--installed").values())
    return sorted(triplet.sub("usr/lib/TRIPLET/", str(path)) for path in paths)


def lists():
    """(package, pattern) of every line."""
    return [(path.stem, line.strip()) for path in sorted(DEBIAN.glob("*.install")) for line in path.read_text().splitlines() if line.strip()]


def takes(pattern, path):
    """As dh_install does: a directory takes what is below it, and * no slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(fnmatch.fnmatchcase(part, want) for part, want in zip(parts, wanted))


class Lists(unittest.TestCase):
    def test_each_file_is_in_one_package(self):
        files = installed()
        self.assertGreater(len(files), 20)
        for path in files:
            having = [package for package, pattern in lists() if takes(pattern, path)]
            self.assertEqual(len(having), 1, f"{path} is in {having or 'no package'} (tools/packaging/debian/*.install)")

    def test_no_line_is_for_nothing(self):
        """Plugins that this build had to leave out are not missed."""
        files = installed()
        for package, pattern in lists():
            if "/plugins/" not in pattern:
                self.assertTrue(any(takes(pattern, path) for path in files), f"{package}: nothing is {pattern}")

    def test_versions_are_one(self):
        version = meson("--projectinfo")["version"]
        changelog = (DEBIAN / "changelog").read_text()
        self.assertTrue(changelog.startswith(f"ctprof ({version})"), f"debian/changelog is not of {version}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
