#!/usr/bin/python3
"""Tests Rust programs with each crate that contains jemalloc: a capture has the values that the programs count themselves.

The linker removes `free` from these programs. Needs cargo, its toolchain, and the registry of crates; CARGO_TARGET keeps the builds. Each crate
takes a minute to build, so only one is tested unless ALL_CRATES is set, as in `tools/dev soak jemalloc_rust`.
"""

import os
import shutil
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "parity"))
import file_json
import harness

SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "rust")
TARGET = os.environ["CARGO_TARGET"]
THREADS = 20
TIMED_OUT = 124  # exit status of timeout(1), which also kills the compilers
TIMEOUT_S = 300  # per crate, in seconds; an idle machine needs 40
HOST = "x86_64-unknown-linux-gnu"
MUSL = "x86_64-unknown-linux-musl"
STATIC = "-C target-feature=+crt-static -C relocation-model=pie"

MANIFEST = """[package]
name = "rust_heap"
version = "0.0.0"
edition = "2021"
[[bin]]
name = "rust_heap"
path = "{main}"
[dependencies]
jemalloc = {{ package = "{package}", version = "={version}" }}
[workspace]
"""


def cargo(directory, *words, **environment):
    settings = {**os.environ, "CARGO_TARGET_DIR": os.path.join(directory, "target"), "CARGO_NET_RETRY": "0", "CARGO_HTTP_TIMEOUT": "20", **environment}
    return subprocess.run(["timeout", str(TIMEOUT_S), "cargo", *words], cwd=directory, env=settings, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)


slow_crate = unittest.skipUnless("ALL_CRATES" in os.environ, "takes a minute to compile; set ALL_CRATES to run it")


class Crates(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        if not shutil.which("cargo"):
            self.skipTest("needs cargo")
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)

    def build(self, package, version, target="", **environment):
        """Builds the program and returns its path. `target` is needed for other targets than the compiler's, and for other flags."""
        directory = os.path.join(TARGET, f"{package}-{version}")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "Cargo.toml"), "w", encoding="utf-8") as manifest:
            manifest.write(MANIFEST.format(main=os.path.join(SOURCES, "main.rs"), package=package, version=version))
        fetched = cargo(directory, "fetch")
        if fetched.returncode != 0:
            self.skipTest(f"needs {package} {version} from a registry of crates: {fetched.stderr.splitlines()[-1:]}")
        built = cargo(directory, "build", "--release", *(["--target", target] if target else []), **environment)
        if built.returncode == TIMED_OUT:
            self.skipTest(f"needs cargo to build {package} {version} within {TIMEOUT_S} s")
        self.assertEqual(built.returncode, 0, built.stderr)
        return os.path.join(directory, "target", target, "release", "rust_heap")

    def check(self, program):
        path = os.path.join(self.scratch.name, "heap.ctprof.zst")
        with harness.Process([program, str(THREADS)], None) as heap:
            harness.capture(path, before=("--plugins=jemalloc-ptrace",))
            lines = heap.finish().splitlines()
        own = {int(tid): (int(allocated), int(freed)) for tid, allocated, freed in map(str.split, lines)}
        rows = file_json.load(path).threads.items()
        ours = {tid: (row["allocated_bytes"], row["deallocated_bytes"]) for (tgid, tid), row in rows if tgid == heap.pid}
        self.assertEqual(len(own), THREADS + 1)
        self.assertEqual(ours, own)

    def check_both(self, program):
        with self.subTest("unstripped"):
            self.check(program)
        with self.subTest("stripped"):
            stripped = os.path.join(self.scratch.name, "stripped")
            subprocess.run(["strip", "-o", stripped, program], check=True)
            self.check(stripped)

    def test_tikv_jemallocator_0_6(self):
        self.check_both(self.build("tikv-jemallocator", "0.6.0"))

    @slow_crate
    def test_tikv_jemallocator_0_6_in_a_static_pie(self):
        self.check_both(self.build("tikv-jemallocator", "0.6.0", HOST, RUSTFLAGS=STATIC))

    @slow_crate
    def test_tikv_jemallocator_0_6_on_musl(self):
        installed = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=False).stdout.strip()
        if not os.path.isdir(os.path.join(installed, "lib", "rustlib", MUSL)) or not shutil.which("musl-gcc"):
            self.skipTest(f"needs musl-gcc, and Rust's standard library for {MUSL}")
        self.check_both(self.build("tikv-jemallocator", "0.6.0", MUSL))

    @slow_crate
    def test_tikv_jemallocator_0_4(self):
        self.check_both(self.build("tikv-jemallocator", "0.4.3"))

    @slow_crate
    def test_jemallocator_0_3(self):
        self.check_both(self.build("jemallocator", "0.3.2"))

    @slow_crate
    def test_jemallocator_0_1(self):
        self.check_both(self.build("jemallocator", "0.1.9"))


if __name__ == "__main__":
    harness.main()
