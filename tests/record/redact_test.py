#!/usr/bin/python3
"""`export --redact` of a real recording: no name remains in the bytes, and all values remain.

Environment: CTPROF."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import recording  # noqa: E402
from recording import SUFFIX, TIMEOUT, harness, run  # noqa: E402

TEXTS = ("pcomm", "comm", "cgroup", "process.pcomm", "cgroup.path")
LONG = 6  # characters: shorter names occur in other words by chance
STACKS = os.geteuid() == 0
# The names that a redacted file has for functions without a name.
PLACEHOLDERS = {"[kernel]", "[anonymous]", "[unknown]"}
# Runs forever in memory without a file, like the code of a JIT compiler. The name of its process consists of separators.
WITHOUT_FILE = """
import ctypes, mmap, os
loop = {"x86_64": b"\\xeb\\xfe", "aarch64": b"\\0\\0\\0\\x14"}[os.uname().machine]
memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(loop)
ctypes.CDLL(None).prctl(15, b"((((")  # PR_SET_NAME
print("ready", flush=True)
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
"""


def lines_of(path):
    return recording.read_lines(path)


def bytes_of(path):
    """Returns the content of a file without the registries, which are the same in all files and have names of plugins and words of descriptions."""
    lines = lines_of(path)
    for line in lines:
        for part in (line, *line.get("entities", {}).values()):
            part.pop("registry", None)
    return json.dumps(lines, ensure_ascii=False)


def words_of_format(value):
    """Returns words of the format: keys, and names of sources. Processes may have the same names. Keys of cgroups are names, and are omitted."""
    if isinstance(value, list):
        for item in value:
            yield from words_of_format(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key in ("plugin", "source", "stage", "kind", "part", "type", "entity", "tool"):
                yield str(item)
            elif key == "cgroup_stats":
                yield from words_of_format(list(item.values()))
            else:
                yield from words_of_format(item)


class Names:
    """The private words in the lines of a recording: those that could identify the host."""

    def __init__(self, lines):
        head = lines[0]
        self.private = {head["ctprof"]["boot_id"], head["ctprof"]["hostname"], head["host"]["kernel_cmdline"]}
        for line in lines:
            for part in ("columns", "bases") if line["kind"] in ("table", "exited", "opening") else ():
                for name in TEXTS:
                    self.private.update(cell for cell in line.get(part, {}).get(name, ()) if isinstance(cell, str))
        parts = {line["part"]: line for line in lines if line["kind"] == "stacks"}
        self.kernel = set()
        if "frames" in parts:
            self.add_stacks(parts["strings"]["text"], parts["modules"], parts["frames"])
        # Separators are kept, so a name that consists of them remains.
        self.private = {name for name in self.private - PLACEHOLDERS if any(map(str.isalnum, name))}

    def left_in(self, text, value):
        """Returns the private names that remain in a text, which is JSON or anything else."""
        known = set(words_of_format(value)) | self.kernel
        return [name for name in self.private if not any(name in word for word in known) and
                (name in text if len(name) >= LONG else json.dumps(name, ensure_ascii=False) in text)]

    def add_stacks(self, texts, modules, frames):
        """Names of the kernel and the vDSO depend only on the kernel's release, which is not redacted."""
        of = [self.kernel if kind in ("kernel", "vdso") else self.private for kind in modules["type"]]
        for names, path, build_id in zip(of, modules["path"], modules["build_id"]):
            names.update((texts[path], build_id))
        for module, name in zip(frames["module"], frames["name"]):
            of[module].add(texts[name])


class RedactedFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = harness.scratch()
        cls.addClassCleanup(scratch.cleanup)
        cls.here = pathlib.Path(scratch.name)
        cls.files = [cls.here / (name + SUFFIX) for name in ("one", "two")]
        recorders = ["--recorders", "on-cpu"] if STACKS else []
        for file in cls.files:
            with harness.busy_process(), harness.background_process(sys.executable, "-c", WITHOUT_FILE, stdout=subprocess.PIPE) as process:
                process.stdout.readline()
                finished = run("-d", "600ms", "-o", file, *recorders)
            assert finished.returncode == 0, finished.stderr
        cls.key = cls.here / "key"
        cls.key.write_bytes(os.urandom(32))

    def output(self, *words):
        finished = subprocess.run([harness.CTPROF, *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return finished.stdout

    def export_redacted(self, file, name, *words):
        out = self.here / name
        self.output("export", "--no-sync", file, "--redact", "-o", out, *words)
        return out

    def test_no_name_remains(self):
        names = Names(lines_of(self.files[0]))
        self.assertIn(os.path.basename(sys.executable)[:15], names.private)
        self.assertGreater(len(names.private), 10)
        out = self.export_redacted(self.files[0], "out.zst")
        self.assertEqual(names.left_in(bytes_of(out), lines_of(out)), [])
        self.assertGreater(len(names.left_in(bytes_of(self.files[0]), lines_of(self.files[0]))), len(names.private) / 2)

    def test_no_name_remains_in_other_formats(self):
        names = Names(lines_of(self.files[0]))
        rows = subprocess.run(["zstd", "-dcq", self.export_redacted(self.files[0], "rows.zst", "--to", "ktstr")], check=True, capture_output=True).stdout
        whole = json.loads(rows)
        whole.pop("registry")
        self.assertEqual(names.left_in(json.dumps(whole, ensure_ascii=False), whole), [])
        if STACKS:
            self.assertEqual(names.left_in(self.export_redacted(self.files[0], "folded", "--to", "folded").read_text(), {}), [])

    def figures(self, *words):
        """Returns the rows of the JSON output without the names of their groups."""
        report = json.loads(self.output(*words, "--format", "json"))
        named = ("group", "busiest", "extras")
        rows = [{key: value for key, value in row.items() if not key.startswith(named)} for row in report["rows"]]
        self.assertGreater(len(rows), 50)
        return sorted(json.dumps(row, sort_keys=True) for row in rows if row["metric"] != "host.sched_ext.state")

    def test_values_of_groups_are_unchanged(self):
        other = self.export_redacted(self.files[0], "figures.zst")
        for axis in ("pcomm", "comm", "comm-exact", "cgroup", "all", "pid"):
            with self.subTest(axis):
                self.assertEqual(self.figures("show", other, "--group-by", axis), self.figures("show", self.files[0], "--group-by", axis))

    def test_files_with_the_same_key_can_be_compared(self):
        both = [self.export_redacted(file, f"keyed{i}.zst", "--redact-key", self.key) for i, file in enumerate(self.files)]
        again = self.export_redacted(self.files[0], "again.zst", "--redact-key", self.key)
        self.assertEqual(bytes_of(both[0]), bytes_of(again))
        self.assertEqual(self.figures("compare", *both), self.figures("compare", *self.files))

    def test_files_without_a_key_cannot_be_compared(self):
        files = [self.export_redacted(self.files[0], f"fresh{i}.zst") for i in range(2)]
        first, second = (Names(lines_of(file)).private for file in files)
        if STACKS:
            self.assertIn("[anonymous]", bytes_of(files[0]))
        words = {name for name in first & second if len(name) > 3 and any(c.isalpha() for c in name)}
        self.assertEqual(words, set())


if __name__ == "__main__":
    harness.main()
