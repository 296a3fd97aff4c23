#!/usr/bin/python3
"""The crate ctprof-sdk: it agrees with the C headers, its example is a correct plugin, and no panic of a plugin reaches ctprof.

    rust_sdk_test.py CTPROF CRATE_DIR INCLUDE_DIR PYTHON_DIR

Without rustc, the test is skipped.
"""
import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import rust_compiler

CTPROF, CRATE, INCLUDE, PYTHON = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
os.environ["CTPROF"] = str(CTPROF)
sys.path.insert(0, str(PYTHON))
import ctprof_testing as testing  # noqa: E402

SKIPPED = 77
STATUS = "voluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t4\n"
TREE = testing.make_tree({(7, 7): {"status": STATUS.format(40)}, (7, 8): {"status": STATUS.format("x")}, (7, 9): {}},
                         {"proc/stat": "cpu  1 2 3\nprocs_running 3\n"})
# A plugin that fails at the place that its option `at` names.
FAILING = """
use ctprof_sdk::prelude::*;

ctprof_sdk::metric! {
    pub Value: GaugeCount, Failing, entity::Host { name: "failing_value" }
}

#[derive(Default)]
pub struct Failing(u64);

impl Rule for Failing {
    const NAME: &'static str = "failing_rule";
    const NEWTYPES: &'static str = "GaugeCount";
    const FALLBACK: &'static str = "MaxGaugeCount";
    fn add(&mut self, value: RowValue) { if value == RowValue::U64(13) { panic!("thirteen") } else { self.0 = 1 } }
    fn merge(&mut self, from: &Self) { self.0 += from.0 }
    fn number(&self) -> Option<Number> { Some(Number::U64(self.0)) }
}

/// A payload whose destructor panics.
struct Twice;
impl Drop for Twice { fn drop(&mut self) { panic!("again") } }

pub struct Test { host: Host }

fn fail(host: &Host, place: &str) -> Result<(), Failure> {
    match host.option("at") {
        at if at == format!("{place}:panic") => panic!("number {}", 5),
        at if at == format!("{place}:error") => return Err("an error\\nof two lines".into()),
        at if at == format!("{place}:twice") => std::panic::panic_any(Twice),
        at if at == format!("{place}:index") => { let none: Vec<u8> = Vec::new(); let _ = none[place.len()]; }
        _ => (),
    }
    Ok(())
}

impl Drop for Test { fn drop(&mut self) { fail(&self.host, "drop").unwrap() } }

impl Source for Test {
    type Stage = stage::WholeHost;
    const OFFERS: &'static [Offer] = &[Offer::of::<Value>()];
    fn probe(host: &Host, _: &Probe<Self>) { fail(host, "probe").unwrap() }
    fn open(host: &Host) -> Result<Self, Failure> { fail(host, "open")?; Ok(Test { host: host.clone() }) }
    fn collect(&mut self, batch: &Batch<Self>) -> Result<(), Failure> {
        fail(&self.host, "collect")?;
        let value: u64 = if self.host.option("at") == "rule" { 13 } else { 5 };
        let row = if self.host.option("at") == "row" { 1 } else { 0 };
        batch.column::<Value>().put(row, Ok(value));
        Ok(())
    }
    fn summarise(_: &Summary) { panic!("in summarise") }
}

ctprof_sdk::plugin! {
    name: "failing", version: "1", description: "Fails.",
    sources: [Test], rules: [Failing], options: [("at", "", "Where it fails.")],
}
"""


def read_layout():
    """Returns the structs of the crate: name, size, and [(field, offset)]."""
    text = (CRATE / "src/abi.rs").read_text() + (CRATE / "src/abi/record.rs").read_text()
    structs = re.findall(r"(?m)^    struct (\w+): (\d+) \{\n(.*?)^    \}", text, re.S)
    return [(name, int(size), [(field.replace("r#", ""), int(at)) for at, field in re.findall(r"(\d+) => ([\w#]+):", body)])
            for name, size, body in structs]


class Tables(unittest.TestCase):
    def test_structs_have_the_offsets_of_the_c_headers(self):
        """A struct of the crate may be shorter than that of C, which grows at its end, and the crate need not have the newest structs."""
        structs = read_layout()
        self.assertGreaterEqual(len(structs), 31)
        lines = ['#include <stddef.h>\n#include "ctprof/abi.h"']
        for name, size, fields in structs:
            self.assertGreater(len(fields), 0)
            lines.append(f'_Static_assert(sizeof(struct {name}) >= {size}, "{name}");')
            lines += [f'_Static_assert(offsetof(struct {name}, {"u64" if field == "bits" and name == "ctprof_number" else field}) == {at}, '
                      f'"{name}.{field}");' for field, at in fields]
        finished = subprocess.run(["gcc", "-std=c11", "-fsyntax-only", "-I", INCLUDE, "-x", "c", "-"], input="\n".join(lines), text=True,
                                  capture_output=True)
        self.assertEqual(finished.stderr, "")

    def test_newtypes_and_rules_are_those_of_the_headers(self):
        header, crate = (INCLUDE / "ctprof/newtypes.hpp").read_text(), (CRATE / "src/newtypes.rs").read_text()
        names = {"Text": "STRING", "Bits": "BITSET"}
        ours = {(name, names.get(storage, storage.upper()), *rest)
                for name, storage, *rest in re.findall(r'(?m)^    (\w+), (\w+), "(\w+)", "(\w+)", "([\w,]+)";', crate)}
        theirs = set(re.findall(r'NewtypeInfo\{"(\w+)", CTPROF_(\w+), "(\w+)", "(\w+)",\s*"([\w,]+)"\}', header))
        self.assertGreater(len(ours), 30)
        self.assertLessEqual(ours, theirs)
        rules = set(re.findall(r'RuleInfo\{"(\w+)", Reduction::(\w+), "(\w*)"\}', header))
        ours = set(re.findall(r'(?m)^    (\w+), (\w+), "(\w*)";', crate))
        self.assertGreater(len(ours), 30)
        self.assertLessEqual(ours, rules)


class Plugins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.place = pathlib.Path(cls.directory.name)
        os.chmod(cls.place, 0o755)  # `plugin check` reads plugins as nobody
        cls.library = rust_compiler.compile_crate(CRATE, cls.place)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def compile(self, name, text):
        """Compiles a plugin in a directory of its own, and returns the directory."""
        plugins = self.place / name
        plugins.mkdir()
        (self.place / f"{name}.rs").write_text(text)
        finished = rust_compiler.compile_plugin(self.place / f"{name}.rs", self.library, plugins / f"{name}.so")
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        return plugins

    def value_of_group(self, tree, plugins, name, metric, *options):
        """Returns the value of a metric that `show` prints for the only group; None: no value."""
        file = self.place / f"{name}.ctprof.zst"
        testing.run("--rootfs", tree.path, "--plugin-path", plugins, *options, "--plugins", name, "capture", "-q", "-o", file)
        text = testing.run("--plugin-path", plugins, "show", file, "--metrics", metric, "--format", "csv")
        file.unlink()
        value = next(row["value"] for row in csv.DictReader(text.splitlines()) if row["metric"] == metric)
        return float(value) if value else None

    def test_example_is_a_correct_plugin(self):
        plugins = self.compile("threads", (CRATE / "examples/threads.rs").read_text())
        with testing.Tree(TREE) as tree:
            self.assertEqual(testing.check(plugins / "threads.so", tree).faults, [])
            done = testing.capture(tree, plugins, "threads")
            no_file = testing.capture(tree, plugins, "threads", settings=["threads.file=nosuch"])
        self.assertEqual(done.rows("threads_switches"), {"7/7": 40, "7/8": testing.Gap("Malformed"), "7/9": testing.Gap("ThreadGone")})
        self.assertEqual(done.rows("threads_preempted"), {"7/7": 4, "7/8": 4, "7/9": testing.Gap("ThreadGone")})
        self.assertEqual(done.rows("threads_name_length"), {"7/7": 4, "7/8": 4, "7/9": 4})
        self.assertEqual(done.rows("threads_running"), {"host": 3})
        self.assertEqual(no_file.rows("threads_running"), {"host": testing.Gap("Unsupported")})

    def test_rule_and_formula_have_values(self):
        plugins = self.place / "threads-rule"
        plugins.mkdir()
        finished = rust_compiler.compile_plugin(CRATE / "examples/threads.rs", self.library, plugins / "threads.so")
        self.assertEqual(finished.stderr, "")
        with testing.Tree(TREE) as tree:
            tree.write("proc/7/task/8/stat", testing.STAT.format(tgid=7, tid=8).replace("work", "longer"))
            self.assertAlmostEqual(self.value_of_group(tree, plugins, "threads", "threads_name_length"), 14 / 3)
            self.assertAlmostEqual(self.value_of_group(tree, plugins, "threads", "threads_voluntary"), 40 / (40 + 8))

    def test_exports_one_symbol(self):
        plugins = self.compile("symbols", (CRATE / "examples/threads.rs").read_text())
        finished = subprocess.run(["nm", "-D", "--defined-only", plugins / "symbols.so"], capture_output=True, text=True, check=True)
        self.assertEqual([line.split()[-1] for line in finished.stdout.splitlines()], ["ctprof_plugin"])

    def test_panics_and_errors_are_failures_of_the_source(self):
        plugins = self.compile("failing", FAILING)
        expected = {
            "collect:panic": "panicked: number 5, ",
            "collect:index": "panicked: index out of bounds: ",
            "collect:twice": "panicked twice: a value that is no text",
            "collect:error": "an error of two lines",
            "open:panic": "panicked: number 5, ",
            "open:error": "an error of two lines",
            "row": "row 1 of a batch of 1 rows",
            "probe:panic": "panicked: number 5, ",
            "probe:error": 'panicked: called `Result::unwrap()`',
        }
        with testing.Tree(TREE) as tree:
            for at, words in expected.items():
                with self.subTest(at):
                    finished = subprocess.run([CTPROF, "--rootfs", tree.path, "--plugin-path", plugins, "--set", f"failing.at={at}", "--plugins",
                                               "failing", "capture", "-o", self.place / "failing.ctprof.zst"], capture_output=True, text=True)
                    self.assertEqual(finished.returncode, 0, finished.stderr)
                    messages = finished.stderr + testing.run("--rootfs", tree.path, "--plugin-path", plugins, "--set", f"failing.at={at}", "plugins")
                    self.assertIn(words, messages)
                    self.assertNotIn("thread '", messages)  # the hook of Rust prints nothing
                    done = testing.capture(tree, plugins, "failing", settings=[f"failing.at={at}"])
                    self.assertEqual(done.rows("failing_value"), {"host": testing.Gap("SourceFailed")})

    def test_panics_in_destructors_rules_and_summaries_are_contained(self):
        plugins = self.compile("contained", FAILING.replace('"failing', '"contained'))
        with testing.Tree(TREE) as tree:
            for at, value in {"": 1, "drop:panic": 1, "rule": None}.items():
                with self.subTest(at):
                    setting = f"contained.at={at}"
                    done = testing.capture(tree, plugins, "contained", settings=[setting])
                    self.assertEqual(done.rows("contained_value"), {"host": 13 if at == "rule" else 5})
                    self.assertEqual(self.value_of_group(tree, plugins, "contained", "contained_value", "--set", setting), value)

    def test_abort_on_panic_does_not_compile(self):
        finished = rust_compiler.run(rust_compiler.RUSTC, "--edition", "2021", "--crate-type", "rlib", "-Cpanic=abort", "-o",
                                     self.place / "abort.rlib", CRATE / "src" / "lib.rs")
        self.assertIn("a plugin must unwind", finished.stderr)

    def test_examples_of_the_documentation_compile(self):
        if not rust_compiler.RUSTDOC:
            self.skipTest("needs rustdoc")
        finished = rust_compiler.run(rust_compiler.RUSTDOC, "--test", "--edition", "2021", "--crate-name", "ctprof_sdk", "--extern",
                                     f"ctprof_sdk={self.library}", CRATE / "src" / "lib.rs")
        self.assertEqual(finished.returncode, 0, finished.stdout)
        self.assertRegex(finished.stdout, r"[5-9] passed; 0 failed; 0 ignored")

    def test_cargo_builds_example_without_a_network(self):
        if not rust_compiler.CARGO:
            self.skipTest("needs cargo")
        crate = self.place / "crate"
        shutil.copytree(CRATE, crate)
        finished = rust_compiler.run(rust_compiler.CARGO, "build", "--offline", "--quiet", "--example", "threads", cwd=crate)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        self.assertTrue((crate / "target/debug/examples/libthreads.so").exists())


if __name__ == "__main__":
    if not rust_compiler.RUSTC:
        print("SKIP: rustc is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
