"""Makes small fleets from recorded windows, and runs `ctprof fleet` on them."""

import csv
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CTPROF = os.environ.get("CTPROF", "ctprof")
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "fleet"
INDEX = ".ctprof-fleet"


def need_duckdb():
    if subprocess.run([sys.executable, "-c", "import duckdb"], capture_output=True, check=False).returncode != 0:
        print("skipped: no duckdb for Python")
        sys.exit(77)


def unpack_seeds(place):
    """Unpacks recorded windows of a host under some load."""
    sys.path.insert(0, str(pathlib.Path(os.environ["RECORDED"]).parent))
    import recorded
    with tempfile.TemporaryDirectory(prefix="fleet-seeds-") as unpacked:
        recorded.unpack(pathlib.Path(os.environ["RECORDED"]) / "equal.tar.xz", pathlib.Path(unpacked))
        found = []
        for file in sorted(pathlib.Path(unpacked).glob("a/*"))[:3]:
            found.append(place / f"seed-{file.name}")
            shutil.copy(file, found[-1])
    return found


def make(into, hosts, *, threads="40:120", kernels=None, shift=None, seed=1, made_of=None):
    """Writes files of simulated hosts. `shift` is METRIC=FACTOR@KERNEL[:GROUP]."""
    with tempfile.TemporaryDirectory(prefix="fleet-seeds-") as place:
        seed_files = made_of or unpack_seeds(pathlib.Path(place))
        words = [str(word) for name, share in (kernels or {"6.1.0": 0.8, "6.12.0": 0.2}).items() for word in ("--kernel", f"{name}={share}")]
        subprocess.run([os.environ["MAKE_FLEET"], *map(str, seed_files), "--hosts", str(hosts), "--threads", threads, *words,
                        *(["--shift", shift] if shift else []), "--seed", str(seed), "-o", str(into)], check=True)


CACHE = tempfile.TemporaryDirectory(prefix="fleet-cache-")


def environment(**more):
    return {**os.environ, "CTPROF_PAGER": "", "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": CACHE.name, **more}


class Fleet(unittest.TestCase):
    """A directory with a fleet, made once for each class that sets `hosts`."""

    hosts = 0
    options = {}

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory(prefix="fleet-")
        cls.addClassCleanup(cls.made.cleanup)
        cls.top = pathlib.Path(cls.made.name)
        if cls.hosts:
            make(cls.top, cls.hosts, **cls.options)

    def start(self, *words, **more):
        return subprocess.Popen([CTPROF, "fleet", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.top,
                                env=environment(), **more)

    def run_fleet(self, *words, status=0, env=None, **more):
        finished = subprocess.run([CTPROF, "fleet", *map(str, words)], capture_output=True, text=True, cwd=more.pop("cwd", self.top),
                                  env=env or environment(), check=False, timeout=300, **more)
        self.assertEqual(finished.returncode, status, finished.stdout + finished.stderr)
        self.assertNotIn("Traceback", finished.stderr)
        return finished

    def run_json(self, *words, **more):
        return json.loads(self.run_fleet(*words, "--format", "json", **more).stdout)

    def index(self, *words):
        return self.run_json("index", *(words or ["."]))

    def sql(self, query):
        return [tuple(row) for row in self.run_json("sql", query)["rows"]]

    def table(self):
        """Returns a digest of each row of the index, so that differences are readable."""
        found = self.run_fleet("sql", "SELECT * FROM stored ORDER BY row, file, capture, registry", "--format", "csv").stdout
        rows = list(csv.reader(io.StringIO(found)))
        self.assertGreater(len(rows), 3)
        return [(*row[:2], hashlib.sha256(repr(row).encode()).hexdigest()[:16]) for row in rows]

    def remove_index(self):
        shutil.rmtree(self.top / INDEX, ignore_errors=True)
