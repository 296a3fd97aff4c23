#!/usr/bin/python3
"""Checks that the output of ctprof is plain text, regardless of the names in the system, in files or on the command line: valid UTF-8, no control
character but the newline, no character that changes the direction of text, separates lines or is invisible.

The files are one recorded tree and two constructed files in which every text is hostile, including those that only the author of a
plugin or the administrator of the host chooses.
"""

import csv
import io
import itertools
import json
import os
import subprocess
import tempfile
import unittest

import harness

AXES = ["pcomm", "cgroup", "comm", "comm-exact", "all"]
FORMATS = ["text", "json", "csv"]

CONTROLS = [*range(0x20), *range(0x7f, 0xa0)]
HIDDEN = [0xad, 0x61c, 0x180e, *range(0x200b, 0x2010), *range(0x2028, 0x202f), *range(0x2060, 0x2070), 0xfeff, *range(0xfff9, 0xfffc), 0xe0001]
NOT_PLAIN = {chr(point) for point in CONTROLS + HIDDEN} - {"\n"}

# A thread's name may contain any bytes but NUL, up to fifteen. A cgroup's name may not contain '/'.
BYTES = [b"\x1b[31mred\x1b[0m", b"\x1b]0;title\x07", b"two\nlines", b"cr\rover", b"tab\there", b"bs\x08\x08\x7f", b"c1\xc2\x9b31m", b"nel\xc2\x85x",
         "rl\u202eo".encode(), "iso\u2066x\u2069".encode(), "lrm\u200e\u200f".encode(), "alm\u061cx".encode(), "zw\u200bj\u200d".encode(),
         "ls\u2028ps\u2029".encode(), "bom\ufeff".encode(), b"bad\xff\xfe", b"cut\xe2\x82", b"sur\xed\xa0\x80", b"over\xc0\x80", b'q",\'\\', b"=1+1", b"{N}", b" lead", b"trail ", b"\r\r\r", b"\t"]
# Used as arguments and file names. Several names are combined, because messages quote a whole argument.
WORDS = [b" ".join(BYTES[at::3]).decode(errors="surrogateescape") for at in range(3)]


def find_unsafe_text(output):
    """Returns which bytes of the output are not plain text."""
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        return f"{output[max(0, error.start - 40):error.end + 10]!r} is not UTF-8"
    found = next((at for at, letter in enumerate(text) if letter in NOT_PLAIN), None)
    return None if found is None else f"U+{ord(text[found]):04x} in {text[max(0, found - 60):found + 20]!r}"


def hostile(number):
    """Returns all characters that are not plain text, in pieces of eight. The pieces differ in the text before and after them."""
    letters = sorted(NOT_PLAIN | {"\n"})
    pieces = ["".join(letters[at:at + 8]) for at in range(0, len(letters), 8)]
    return f"<{pieces[number % len(pieces)]}>"


def made_document(side):
    """Returns a constructed file in the reference's layout with all its texts. `side`, 0 or 1, changes all values."""
    count = len(NOT_PLAIN) // 8 + 2
    long_path = "".join(f"/{hostile(level)}{'x' * 200}" for level in range(19))
    assert len(long_path.encode()) > 4096

    def cgroup(number):
        return {"cpu": {"usage_usec": number + side, "weight": 100 + side}, "memory": {"current": 5, "stat": {hostile(number): 7 + side}, "events": {hostile(number): side}}}

    threads = [{"tid": number + 1, "tgid": number + 1, "pcomm": hostile(number) + "p", "comm": hostile(number) + "c", "state": hostile(number)[1],
                "cgroup": long_path if number == 0 else "/" + hostile(number), "policy": hostile(number + side), "run_time_ns": 5 + side * number,
                "smaps_rollup_kib": {hostile(number): 3 + side}} for number in range(count)]
    threads += [threads[0] | {"tid": 1000 + side, "tgid": 1000 + side, "pcomm": f"{hostile(1)}only{side}", "cgroup": f"/{hostile(2)}only{side}"}]
    paths = {"/" + hostile(number): cgroup(number) for number in range(count)} | {long_path: cgroup(0)}
    host = {"kernel_cmdline": hostile(3) + str(side), "cpu_model": hostile(4) + str(side), "sched_tunables": {hostile(5): str(side), "a": hostile(side)}}
    return {"captured_at_unix_ns": 1790000000000000000, "host": host, "threads": threads, "cgroup_stats": paths,
            "sched_ext": {"state": hostile(6 + side), "switch_all": side, "nr_rejected": 0, "hotplug_seq": 0, "enable_seq": 0}}


def add_hostile_registry(document, side):
    """Returns a file of ctprof in which a third party's metric has a hostile name, rule, unit, section and so on, and so has every key of ctprof."""
    metric = next(metric for metric in document["registry"]["metrics"] if metric["name"] == "run_time_ns")
    texts = {key: hostile(number) for number, key in enumerate(sorted(key for key, value in metric.items() if isinstance(value, str)))}
    kept = ("storage", "entity", "newtype", "rule", "unit", "family")
    document["registry"]["metrics"].append(metric | texts | {key: metric[key] for key in kept} | {"name": hostile(7) + "m", "file_path": f"threads[].{hostile(8)}"})
    document["registry"]["metrics"].append(metric | texts | {"storage": "u64", "entity": "thread", "name": hostile(9) + "r", "file_path": "threads[].own"})
    for row in document["threads"]:
        row[hostile(8)], row["own"] = 5 + side * row["tid"], 5 + side
    document["ctprof"] = {key: hostile(10 + number) if isinstance(value, str) else value for number, (key, value) in enumerate(document["ctprof"].items())}
    return document


def pack(path, document):
    text = json.dumps(document, ensure_ascii=False).encode(errors="surrogatepass")
    with open(path, "wb") as file:
        subprocess.run(["zstd", "-q"], input=text, stdout=file, check=True)


def unpack(path):
    return json.loads(subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout)


class Case(unittest.TestCase):
    longMessage = False

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="ctprof-test-")
        cls.addClassCleanup(cls.scratch.cleanup)

    def path(self, name):
        return os.path.join(self.scratch.name, name)

    def checked_output(self, *words):
        """Returns the standard output after a check that it and standard error are plain text."""
        finished = subprocess.run([harness.CTPROF, *words], capture_output=True, timeout=harness.TIMEOUT, check=False)
        self.assertIn(finished.returncode, (0, 1, 2), finished.stderr)
        for output in (finished.stdout, finished.stderr):
            self.assertIsNone(find_unsafe_text(output), f"{words}: {find_unsafe_text(output)}")
        return finished.stdout.decode()

    def check_format(self, output, words):
        """Checks that programs can read the output: JSON is one value, and every line of CSV has as many fields as its header."""
        self.assertTrue(output, words)
        if "json" in words:
            json.loads(output)
        elif "csv" in words:
            self.assertEqual(len({len(row) for row in csv.reader(io.StringIO(output), strict=True)}), 1, words)

    def check_reports(self, a, b):
        for axis, form in itertools.product(AXES, FORMATS):
            options = ["--group-by", axis, "--format", form, "--limit", "0"]
            with self.subTest(axis=axis, form=form):
                self.check_format(self.checked_output("show", a, "--no-thread-normalize", "--no-cg-normalize", *options), options)
                self.check_format(self.checked_output("compare", "--lifetime", a, b, "--fail-on", "thread_count.candidate > 0", *options), options)
        self.checked_output("compare", "--lifetime", a, b, "--display-format", "full", "--rate", "--sort-by", "thread_count", "--limit", "3")


class HostileNames(Case):
    def test_constructed_files(self):
        for side in (0, 1):
            pack(self.path(f"made{side}"), made_document(side))
        self.assertIn("\\x1b", self.checked_output("show", self.path("made0"), "--limit", "0"))
        self.check_reports(self.path("made0"), self.path("made1"))

    def test_on_a_terminal(self):
        """Shortening and wrapping of cells does not cut an escape sequence."""
        for side in (0, 1):
            pack(self.path(f"made{side}"), made_document(side))
        files = [self.path("made0"), self.path("made1")]
        for columns, wrap, axis in itertools.product((40, 133), ([], ["--wrap"]), ("all", "comm")):
            for words in (["show", files[0]], ["compare", "--lifetime", *files]):
                output = harness.on_a_terminal((50, columns), *words, *wrap, "--group-by", axis, "--color", "never", "--limit", "40")
                self.assertTrue(b"## primary" in output, words)
                self.assertIsNone(find_unsafe_text(output), f"{words} {wrap}: {find_unsafe_text(output)}")

    def test_texts_of_plugins_and_the_host(self):
        for side, kernel in enumerate(("6.12", "6.18")):
            harness.capture_tree(kernel, self.path("tree"))
            pack(self.path(f"ours{side}"), add_hostile_registry(unpack(self.path("tree")), side))
        self.assertIn("m\"", self.checked_output("show", self.path("ours0"), "--format", "json").replace("\\u0000", ""))
        self.check_reports(self.path("ours0"), self.path("ours1"))

    def export_columns(self, name):
        """Returns the same capture in the columns layout."""
        columns = self.path(f"{name}-columns")
        self.checked_output("export", self.path(name), "--to", "columns", "-o", columns)
        return columns

    def test_in_columns(self):
        harness.capture_tree("6.12", self.path("tree"))
        for side in (0, 1):
            pack(self.path(f"made{side}"), made_document(side))
            pack(self.path(f"ours{side}"), add_hostile_registry(unpack(self.path("tree")), side))
        for name in ("made", "ours"):
            for words in (["--format", "json"], ["--format", "csv", "--group-by", "comm-exact"], ["--format", "csv", "--group-by", "cgroup"]):
                rows, columns = (self.checked_output("show", path, "--limit", "0", *words) for path in (self.path(f"{name}0"), self.export_columns(f"{name}0")))
                self.assertEqual(rows.replace(self.path(f"{name}0"), "FILE"), columns.replace(self.path(f"{name}0-columns"), "FILE"))
            self.checked_output("compare", "--lifetime", self.export_columns(f"{name}0"), self.export_columns(f"{name}1"), "--group-by", "all", "--limit", "0")

    def test_malformed_columns(self):
        """A message that quotes the contents of a file is plain text."""
        harness.capture_tree("6.12", self.path("tree"))
        lines = subprocess.run(["zstd", "-dcq", self.export_columns("tree")], capture_output=True, check=True).stdout.splitlines(keepends=True)
        name = json.dumps(hostile(3)).encode()
        for line, what, instead in ((1, b'"columns":{', b'"columns":{' + name + b":[" + b"1," * 5000 + b"1],"),
                                    (0, b'"tables":{', b'"tables":{' + name + b":[1],"),
                                    (0, b'"name":"tid"', b'"name":' + name),
                                    (0, b'"kind":"header",', b'"kind":"header",' + name + b":1," + name + b":2,"),
                                    (len(lines) - 2, b'"kind":"summary"', b'"kind":' + name)):
            changed = [text.replace(what, instead, 1) if number == line else text for number, text in enumerate(lines)]
            with open(self.path("wrong"), "wb") as file:
                for text in changed:
                    file.write(subprocess.run(["zstd", "-q", f"--stream-size={len(text)}"], input=text, capture_output=True, check=True).stdout)
            self.assertEqual(self.checked_output("show", self.path("wrong")), "")

    def test_arguments(self):
        good = self.path("good")
        harness.capture_tree("6.12", good)
        for word in WORDS:
            for option in ("--group-by", "--sort-by", "--metrics", "--sections", "--plugins", "--columns", "--cgroup-flatten", "--where", "--derive", "--format",
                           "--color", "--limit", "--plugin-path"):
                self.checked_output("show", good, option, word)
            for option in ("--display-format", "--fail-on"):
                self.checked_output("compare", "--lifetime", good, good, option, word)
            self.checked_output("compare", "--lifetime", good, good, "--where", f'group =~ "{word}"', "--derive", f"{word} = run_time_ns", "--fail-on", f'group == "{word}"')
            for words in ([word], ["--" + word], ["show", word], ["help", word], ["capture", "-o", self.path(word.replace("/", "_")), "-p", word],
                          ["--rootfs", word, "capture", "-o", good + "2"], ["capture", "--jobs", word], ["capture", "-o", f"/nonexistent/{word}"]):
                self.checked_output(*words)

    def test_names_of_files(self):
        for word in WORDS:
            path = self.path(word.replace("/", "_"))
            harness.capture_tree("6.12", path)
            for form in FORMATS:
                self.checked_output("show", path, "--limit", "1", "--format", form)
                self.checked_output("compare", "--lifetime", path, path, "--limit", "1", "--format", form)

    def test_lists(self):
        for form in ("text", "json"):
            self.checked_output("metric-list", "--format", form)
            self.checked_output("plugins", "--format", form)

    def test_the_text_checker(self):
        for letter in NOT_PLAIN:
            self.assertIsNotNone(find_unsafe_text(f"a{letter}b".encode()))
        for text in (b"a\xffb", b"cut\xe2\x82", b"\xed\xa0\x80", b"\xc0\x80"):
            self.assertIsNotNone(find_unsafe_text(text))
        self.assertIsNone(find_unsafe_text("plain, µs → ü\n".encode()))


if __name__ == "__main__":
    harness.main()
