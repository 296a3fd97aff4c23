"""Compiles plugins in Rust for tests: with rustc of Debian if it is installed, otherwise with that in the path."""
import os
import pathlib
import shutil
import subprocess

# The directories in which the compiler is searched: Debian's first, because the SDK must compile with it.
SEARCH_PATH = os.pathsep.join([*filter(None, [os.environ.get("CTPROF_RUST_DIR")]), "/usr/bin", os.environ.get("PATH", "")])
RUSTC = shutil.which("rustc", path=SEARCH_PATH)
RUSTDOC = shutil.which("rustdoc", path=SEARCH_PATH)
CARGO = shutil.which("cargo", path=SEARCH_PATH)
TIMEOUT = 600  # seconds; a compiler that takes longer hangs


def run(*words, **more):
    environment = os.environ | {"PATH": SEARCH_PATH, "CARGO_NET_OFFLINE": "true"} | more.pop("env", {})
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, check=False,
                          env=environment, **more)


def compile_crate(crate, directory):
    """Compiles the SDK to a library in a directory, and returns its path. Raises AssertionError if the compiler prints anything."""
    library = directory / "libctprof_sdk.rlib"
    finished = run(RUSTC, "--edition", "2021", "--crate-name", "ctprof_sdk", "--crate-type", "rlib", "-o", library, crate / "src" / "lib.rs")
    if finished.returncode != 0 or finished.stderr:
        raise AssertionError(finished.stderr)
    return library


def compile_plugin(source, library, target, *options):
    """Compiles one source file to a plugin."""
    return run(RUSTC, "--edition", "2021", "--crate-name", pathlib.Path(source).stem, "--crate-type", "cdylib",
               "--extern", f"ctprof_sdk={library}", "-o", target, *options, source)
