#!/usr/bin/python3
"""Builds plugins outside the tree: ctprof is installed into a separate directory, and only ctprof-sdk.pc locates the SDK.

    out_of_tree_test.py BUILD_DIR EXAMPLE_DIR SDK_README

Runs the test of the example plugins, shows and compares their file with a ctprof that lacks them, and executes the commands of sdk/README.md.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, EXAMPLE, README = map(pathlib.Path, sys.argv[1:4])


def run(*command, **more):
    finished = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if finished.returncode != 0:
        raise AssertionError(f"{command}: status {finished.returncode}\n{finished.stdout}\n{finished.stderr}")
    return finished


class OutOfTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.home = pathlib.Path(cls.directory.name)
        stage = cls.home / "stage"
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", stage)
        cls.ctprof = next(stage.rglob("bin/ctprof"))
        cls.env = {
            "PATH": f"{cls.ctprof.parent}:/usr/bin:/bin",
            "PKG_CONFIG_PATH": str(next(stage.rglob("ctprof-sdk.pc")).parent),
            "PKG_CONFIG_SYSROOT_DIR": str(stage),
            "LC_ALL": "C.UTF-8",
        }
        for variable in ("CC", "CXX"):
            if variable in os.environ:
                cls.env[variable] = os.environ[variable]

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def build_example(self):
        source = self.home / "example"
        if not source.exists():
            shutil.copytree(EXAMPLE, source)
            run("meson", "setup", source / "build", source, env=self.env)
            run("meson", "compile", "-C", source / "build", env=self.env)
        return source / "build"

    def test_installed_headers_are_the_only_ones_used(self):
        commands = json.loads((self.build_example() / "compile_commands.json").read_text())
        for entry in commands:
            self.assertIn(str(self.home), entry["command"])
            self.assertNotIn(str(EXAMPLE.parent.parent), entry["command"])

    def test_the_example_passes_its_own_test(self):
        finished = run("meson", "test", "-t", "4", "-C", self.build_example(), env=self.env)
        self.assertRegex(finished.stdout, r"Ok:\s+1")

    def test_reads_file_without_the_plugins(self):
        file = str(self.home / "with.ctprof.zst")
        run(self.ctprof, "--plugin-path", self.build_example(), "capture", "-o", file, "-p", os.getpid(), env=self.env)
        for command in (["show", file], ["compare", "--lifetime", file, file]):
            report = json.loads(run(self.ctprof, *command, "--format", "json", env=self.env).stdout)
            metrics = {row["metric"] for row in report["rows"]}
            self.assertLessEqual({"example_wchan", "examplec_util_avg"}, metrics)
            matching_notes = [note for note in report["notes"] if "examplec_mean" in note]
            self.assertEqual(len(matching_notes), 1, report["notes"])
            self.assertIn("MaxGaugeCount", matching_notes[0])

    def test_readme_examples_work(self):
        text = README.read_text()
        place = self.home / "readme"
        place.mkdir()
        commands = re.findall(r"```sh\n(.*?)```", text, re.S)
        files = dict(re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", text, re.S))
        self.assertEqual(set(files), {"children.cc", "children_test.cc", "test_children.py", "meson.build", "CMakeLists.txt", "load.cc", "nic.cc", "packets.cc"})
        if not shutil.which("cmake", path=self.env["PATH"]):
            commands = [block for block in commands if not block.startswith("cmake")]
        write_files = "".join(f"cat > {name} <<'end of file'\n{content}end of file\n" for name, content in files.items())
        script = "set -e\necho $$ > pid\n" + commands[0] + write_files + "\n".join(commands[1:])
        finished = run("bash", "-c", script, cwd=place, env=self.env)
        self.assertRegex(finished.stdout, r"bash.*hello_children")
        self.assertRegex(finished.stdout, r"load_one.*\d")
        self.assertRegex(finished.stdout, r"nic +received\nlo +[0-9]")
        shell = int((place / "pid").read_text())
        before, after = (self.children_of(shell, place / "hello" / f"{name}.ctprof.zst") for name in ("before", "after"))
        self.assertEqual(after - before, 5)

    def test_a_new_plugin_builds_and_passes_its_test(self):
        for language, tests in {"c++": 2, "c": 1}.items():
            name = "new" + language[:1] * len(language)
            run(self.ctprof, "plugin", "new", name, "--lang", language, cwd=self.home, env=self.env)
            place = self.home / name
            run("meson", "setup", "build", cwd=place, env=self.env)
            run("meson", "compile", "-C", "build", cwd=place, env=self.env)
            finished = run("meson", "test", "-t", "4", "-C", "build", cwd=place, env=self.env)
            self.assertRegex(finished.stdout, rf"Ok:\s+{tests}\b")
            if not shutil.which("cmake", path=self.env["PATH"]):
                continue
            prefix = next((self.home / "stage").rglob("ctprof-sdk-config.cmake")).parent
            run("cmake", "-S", ".", "-B", "with-cmake", f"-Dctprof-sdk_DIR={prefix}", f"-DCTPROF={self.ctprof}", cwd=place, env=self.env)
            run("cmake", "--build", "with-cmake", cwd=place, env=self.env)
            finished = run("ctest", "--test-dir", "with-cmake", cwd=place, env=self.env)
            self.assertIn("100% tests passed", finished.stdout)

    def test_a_new_plugin_in_rust_builds_and_passes_its_test(self):
        cargo = shutil.which("cargo", path=self.env["PATH"])
        if not cargo:
            self.skipTest("needs cargo in /usr/bin")
        run(self.ctprof, "plugin", "new", "rusty", "--lang", "rust", cwd=self.home, env=self.env)
        place = self.home / "rusty"
        run(cargo, "build", "--offline", "--release", cwd=place, env=self.env)
        finished = run("python3", "test_rusty.py", "ctprof", "target/release", cwd=place, env=self.env)
        self.assertIn("Ran 2 tests", finished.stderr)

    @staticmethod
    def children_of(pid, file):
        rows = json.loads(run("zstd", "-dcq", file).stdout)["threads"]
        return next(row["hello_children"] for row in rows if row["tid"] == pid)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
