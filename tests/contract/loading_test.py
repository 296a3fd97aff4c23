#!/usr/bin/python3
"""Tests which plugins are loaded: damaged files, files that are not plugins, missing directories, commands without plugins.

Environment: CTPROF, FIXTURES; BAD_PLUGINS and FROZEN_PLUGIN, directories of shared objects.
"""

import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402

KERNEL = "6.12"


def bad_plugin(name):
    return os.path.join(os.environ["BAD_PLUGINS"], f"{name}.so")


def run_program(*words, program=None, **options):
    finished = subprocess.run([program or harness.CTPROF, *words], capture_output=True, timeout=harness.TIMEOUT, check=False, text=True, **options)
    finished.stderr = harness.remove_slowness(finished.stderr)
    return finished


class Loading(unittest.TestCase):
    longMessage = False

    def setUp(self):
        self.scratch = harness.scratch()
        self.addCleanup(self.scratch.cleanup)
        self.place = self.path("plugins")
        os.mkdir(self.place)

    def path(self, *names):
        return os.path.join(self.scratch.name, *names)

    def write_file(self, name, data):
        with open(os.path.join(self.place, name), "wb") as file:
            file.write(data)

    def snapshot(self, *before):
        path = self.path("snapshot.ctprof.zst")
        harness.capture(path, before=("--rootfs", harness.fixture(KERNEL), *before))
        return path

    def assert_refused(self, name, words):
        finished = run_program("--plugin-path", self.place, "metric-list", cwd=self.scratch.name)
        self.assertEqual(finished.returncode, 0, f"{name}: status {finished.returncode}, {finished.stderr}")
        lines = [line for line in finished.stderr.splitlines() if f"/{name}" in line]
        self.assertEqual(len(lines), 1, f"{name}: {finished.stderr}")
        self.assertIn(words, lines[0])


class DamagedPlugins(Loading):
    def test_refuses_truncated_file(self):
        """No part after the last segment is mapped, so a file that is cut there is complete."""
        with open(bad_plugin("sound"), "rb") as file:
            whole = file.read()
        end = self.end_of_segments(whole)
        for size in sorted({*range(64, end, max(1, end // 24)), end - 1}):
            self.write_file("cut.so", whole[:size])
            self.assert_refused("cut.so", "it is truncated")
        self.write_file("cut.so", whole[:end])
        self.assertEqual(run_program("--plugin-path", self.place, "metric-list").stderr, "")

    @staticmethod
    def end_of_segments(whole):
        offset, = struct.unpack_from("<Q", whole, 32)
        size, number = struct.unpack_from("<HH", whole, 54)
        segments = [struct.unpack_from("<IIQQQQ", whole, offset + size * i) for i in range(number)]
        return max(begin + length for _, _, begin, _, _, length in segments)

    def test_accepts_empty_segment_beyond_end_of_file(self):
        """The test turns PT_GNU_STACK into an empty PT_LOAD segment beyond the end. The loader maps no byte of the file for it,
        except if it begins in the middle of a page."""
        with open(bad_plugin("sound"), "rb") as file:
            whole = file.read()
        offset, = struct.unpack_from("<Q", whole, 32)
        size, number = struct.unpack_from("<HH", whole, 54)
        at, = (offset + size * i for i in range(number) if struct.unpack_from("<I", whole, offset + size * i)[0] == 0x6474E551)
        for place, refused in ((0x200000, False), (0x200800, True)):
            changed = bytearray(whole)
            struct.pack_into("<IIQQQQQQ", changed, at, 1, 6, place, place, place, 0, 0x1000, 0x1000)
            self.write_file("zeroes.so", bytes(changed))
            process = run_program("--plugin-path", self.place, "metric-list")
            self.assertEqual((process.returncode, "it is truncated" in process.stderr), (0, refused), process.stderr)
            self.assertEqual("sound_value" in process.stdout, not refused)

    def test_refuses_damaged_headers(self):
        """ctprof refuses such a file with a message and does not crash."""
        with open(bad_plugin("sound"), "rb") as file:
            whole = file.read()
        for at in (4, 5, 16, 18, 32, 33, 54, 56, 57):
            spoiled = bytearray(whole)
            spoiled[at] ^= 0xFF
            self.write_file("spoiled.so", bytes(spoiled))
            self.assert_refused("spoiled.so", "it is ")

    def test_every_command_survives_damaged_plugins(self):
        path = self.snapshot()
        with open(bad_plugin("sound"), "rb") as file:
            self.write_file("cut.so", file.read()[:8192])
        os.mkfifo(os.path.join(self.place, "pipe.so"))
        out = self.path("out")
        tree = ["--rootfs", harness.fixture(KERNEL)]
        for command in ([*tree, "capture", "-o", out], ["metric-list"], [*tree, "plugins"], [*tree, "doctor"], ["help", "nice"]):
            finished = run_program("--plugin-path", self.place, *command)
            self.assertEqual(finished.returncode, 0, f"{command}: {finished.returncode} {finished.stderr}")
        for command in (["show", path], ["compare", "--lifetime", path, path]):
            finished = run_program("--plugin-path", self.place, *command)
            self.assertEqual((finished.returncode, finished.stderr), (0, ""), command)

    def test_opens_only_regular_files(self):
        os.mkfifo(os.path.join(self.place, "pipe.so"))
        os.mkdir(os.path.join(self.place, "directory.so"))
        os.symlink("/dev/zero", os.path.join(self.place, "device.so"))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.join(self.place, "socket.so"))
            for name in ("pipe.so", "directory.so", "device.so", "socket.so"):
                self.assert_refused(name, "it is not a regular file")

    def test_follows_symbolic_link_to_plugin(self):
        os.symlink(bad_plugin("sound"), os.path.join(self.place, "sound.so"))
        finished = run_program("--plugin-path", self.place, "metric-list")
        self.assertEqual(finished.stderr, "")
        self.assertIn("sound_value", finished.stdout)

    def test_runs_no_code_of_other_libraries(self):
        """Its symbols show that it is not a plugin before it is loaded, so its constructor does not run."""
        with open(bad_plugin("secret_reader"), "rb") as file:
            self.write_file("secret_reader.so", file.read().replace(b"ctprof_plugin\0", b"other_symbols\0"))
        self.assert_refused("secret_reader.so", "it exports no symbol 'ctprof_plugin'")
        self.assertFalse(os.path.exists(self.path("loot")))

    def test_reports_many_faults_in_one_line(self):
        shutil.copy(bad_plugin("many_unprefixed"), self.place)
        self.assert_refused("many_unprefixed.so", "'value000' must begin with 'many_unprefixed_'; names without a prefix are reserved for ctprof; "
                            "and 500 more faults like it")
        report = json.loads(run_program("--plugin-path", self.place, "plugins", "--format", "json").stdout)
        self.assertEqual(len(report["refused"]), 1)


class Discovery(Loading):
    def copy_without_plugins(self, *names):
        """Copies the program without its plugins."""
        place = self.path(*names)
        os.makedirs(place)
        return shutil.copy(harness.CTPROF, place)

    def assert_lists_searched_directories(self, finished, *paths):
        self.assertEqual((finished.returncode, finished.stdout), (2, ""), finished.stderr)
        self.assertEqual(len(finished.stderr.splitlines()), 1, finished.stderr)
        for path in paths:
            self.assertIn(f"'{path}': ", finished.stderr)
        self.assertIn("--plugin-path DIR", finished.stderr)

    def test_lists_searched_directories_without_any_plugin(self):
        program = self.copy_without_plugins("prefix", "bin")
        out = self.path("out")
        for command in (["capture", "-o", out], ["plugins"], ["doctor"], ["metric-list"], ["help", "nice"]):
            finished = run_program(*command, program=program)
            self.assert_lists_searched_directories(finished)
            self.assertIn(f"'{self.path('prefix')}/lib", finished.stderr)
        self.assertFalse(os.path.exists(out))
        self.assert_lists_searched_directories(run_program("--plugin-path", self.place, "metric-list", program=program), self.place)

    def test_captures_nothing_if_all_plugins_are_refused(self):
        program = self.copy_without_plugins("prefix", "bin")
        self.write_file("odd.so", b"no library")
        finished = run_program("-q", "--plugin-path", self.place, "capture", "-o", self.path("out"), program=program)
        self.assertEqual((finished.returncode, os.path.exists(self.path("out"))), (2, False))
        self.assertIn("odd.so: it is not an ELF shared object", finished.stderr)

    def test_shows_files_without_any_plugin(self):
        path = self.snapshot()
        program = self.copy_without_plugins("prefix", "bin")
        for command in (["show", path, "--format", "json"], ["compare", "--lifetime", path, path, "--format", "json"]):
            here, there = run_program(*command), run_program(*command, program=program)
            self.assertEqual((there.returncode, there.stderr), (0, ""), command)
            self.assertEqual(json.loads(there.stdout)["rows"], json.loads(here.stdout)["rows"])

    def test_foreign_file_needs_plugins(self):
        path = self.path("foreign.ctprof.zst")
        text = subprocess.run(["zstd", "-qdc", self.snapshot()], capture_output=True, check=True).stdout
        document = {key: value for key, value in json.loads(text).items() if key not in ("ctprof", "registry")}
        subprocess.run(["zstd", "-qo", path], input=json.dumps(document).encode(), check=True)
        self.assertIn("cpu_efficiency", run_program("show", path, "--limit", "0").stdout)
        self.assert_lists_searched_directories(run_program("show", path, program=self.copy_without_plugins("prefix", "bin")))

    def test_finds_plugins_from_deleted_directory(self):
        deleted_directory = self.path("gone")
        os.mkdir(deleted_directory)
        finished = run_program("-c", 'cd "$1" && rmdir "$1" && exec "$2" metric-list --format json', "sh", deleted_directory, harness.CTPROF, program="sh")
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        self.assertIn("run_time_ns", finished.stdout)

    def test_reports_start_through_dynamic_loader(self):
        loader = subprocess.run(["sh", "-c", "ls /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.* 2>&-"], capture_output=True, check=False, text=True)
        if not loader.stdout:
            self.skipTest("needs a dynamic loader in one of the usual places")
        finished = run_program(harness.CTPROF, "capture", "-o", self.path("out"), program=loader.stdout.split()[0])
        self.assert_lists_searched_directories(finished)

    def test_missing_plugin_path_is_an_error(self):
        nowhere = self.path("nowhere")
        for words in (["metric-list"], ["capture", "-o", self.path("out")], ["show", self.snapshot()]):
            finished = run_program("--plugin-path", nowhere, *words)
            self.assertEqual((finished.returncode, finished.stdout), (2, ""), words)
            self.assertEqual(finished.stderr, f"ctprof: looking for plugins in '{nowhere}': No such file or directory\n")

    def test_reports_missing_directory_of_variable(self):
        nowhere = self.path("nowhere")
        finished = run_program("metric-list", env=os.environ | {"CTPROF_PLUGIN_PATH": f"{nowhere}:{self.place}"})
        expected_message = f"ctprof: CTPROF_PLUGIN_PATH: looking for plugins in '{nowhere}': No such file or directory\n"
        self.assertEqual((finished.returncode, finished.stderr), (0, expected_message))


class LoadedFiles(Loading):
    def list_opened_plugins(self, *words):
        """Returns the names of plugins that the dynamic loader opened."""
        log = self.path("log")
        harness.under_strace(self, ["-f", "-e", "trace=openat"], *words, log=log)
        with open(log, encoding="utf-8") as file:
            lines = [line for line in file if "openat(AT_FDCWD," in line and ".so" in line and "ENOENT" not in line]
        return sorted({os.path.basename(line.split('"')[1]) for line in lines if "/plugins/" in line})

    def test_show_and_compare_load_only_the_layout(self):
        path = self.snapshot()
        for words in (["show", path], ["compare", "--lifetime", path, path]):
            self.assertEqual(self.list_opened_plugins(*words), ["file-layout.so"])
        self.assertGreater(len(self.list_opened_plugins("metric-list")), 3)

    def test_loads_plugin_for_missing_rule(self):
        """`sound` has no rule and is not loaded; only the frozen plugin has the rule of its metric."""
        before = ("--plugin-path", self.place)
        for name, needed in ((bad_plugin("sound"), False), (os.path.join(os.environ["FROZEN_PLUGIN"], "frozen.so"), True)):
            shutil.copy(name, self.place)
            path = self.snapshot(*before)
            self.assertEqual(os.path.basename(name) in self.list_opened_plugins(*before, "show", path), needed, name)
            self.assertIn(os.path.basename(name).replace(".so", "_"), run_program(*before, "show", path, "--limit", "0").stdout)


if __name__ == "__main__":
    harness.main()
