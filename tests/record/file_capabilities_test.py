#!/usr/bin/python3
"""Attacks on a ctprof with file capabilities by a user who tries to read data that only root may read: all must fail.

Each case is an attack. The names of functions of the program `hidden` must be visible only to users who may read its file.

Environment: CTPROF; HIDDEN, the program."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import harness  # noqa: E402
import recording  # noqa: E402
from product_copy import product_copy  # noqa: E402

CAPABILITIES = "cap_bpf,cap_checkpoint_restore,cap_dac_read_search,cap_ipc_lock,cap_perfmon,cap_sys_admin,cap_sys_ptrace,cap_syslog+ep"
# Without the capabilities for /proc/PID/map_files, so files are opened by path.
WITHOUT_MAPPINGS = "cap_bpf,cap_dac_read_search,cap_perfmon,cap_sys_ptrace+ep"
USER = 1000
SECRET = "secret_function"
ATTACKER = str(pathlib.Path(__file__).parent / "attacker.py")
RECORDERS = "on-cpu,off-cpu,sleepers"
HIGHEST_OFFSET = 1 << 32  # of any file; addresses of the kernel and of libraries are higher
OFFSET_WITHOUT_STACK = (1 << 64) - 1   # the offset of a weight without stack
CANNOT_PREPARE = 77
CODE = 0x10000000         # an address without other mappings


class Stacks:
    """The call stacks of a file: its strings, and the offsets of its frames."""

    def __init__(self, path):
        lines = recording.read_lines(path)
        parts = [line for line in lines if line["kind"] == "stacks"]
        self.texts = {text for part in parts if part["part"] == "strings" for text in part["text"]}
        self.kinds = [kind for part in parts if part["part"] == "modules" for kind in part["type"]]
        self.offsets = [offset for part in parts if part["part"] == "frames" for offset in part["offset"] if offset != OFFSET_WITHOUT_STACK]

    def has(self, word):
        return any(word in text for text in self.texts)


@unittest.skipUnless(harness.can_become_user() and shutil.which("setcap") and shutil.which("strip"), "needs root, setcap and strip")
class FileCapabilities(unittest.TestCase):
    def setUp(self):
        scratch = harness.root_only_scratch()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name  # owned by root
        self.program = product_copy(os.environ["CTPROF"], self.root)
        subprocess.run(["setcap", CAPABILITIES, self.program], check=True)
        self.work = os.path.join(self.root, "work")  # owned by the user
        os.mkdir(self.work)
        os.chown(self.work, USER, USER)

    # --- targets and tools

    def copy_hidden_program(self, name="hidden", mode=0o711):
        """Creates a copy of the program that root owns."""
        path = os.path.join(self.root, name)
        shutil.copy(os.environ["HIDDEN"], path)
        os.chmod(path, mode)
        return path

    def start(self, *command, user=True):
        """Starts a process of the user, or of root, for the duration of the test. Skips the test if the process cannot prepare the attack."""
        process = subprocess.Popen([*(harness.USER if user else ()), *map(str, command)], stdout=subprocess.PIPE, text=True, cwd=self.work)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        first_line = process.stdout.readline()
        if first_line != "ready\n":
            self.assertEqual(process.wait(60), CANNOT_PREPARE, first_line)
            self.skipTest(first_line.strip())
        return process

    def record(self, *words, user=True, before=(), duration="700ms", **more):
        """Records as the user, or as root, and returns the stacks."""
        path = os.path.join(self.work, "window.ctprof.zst")
        finished = subprocess.run([*before, *(harness.USER if user else ()), self.program, "record", "-q", "-d", duration, "-o", path, *words], check=False,
                                  capture_output=True, text=True, timeout=harness.TIMEOUT, cwd=self.work, **more)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return Stacks(path)

    def assert_hidden(self, *words, **more):
        stacks = self.record("--recorders", RECORDERS, *words, **more)
        self.assertFalse(stacks.has(SECRET), stacks.texts)
        self.assertEqual([offset for offset in stacks.offsets if offset >= HIGHEST_OFFSET], [])
        return stacks

    # --- control: the user's own processes are visible

    def test_own_processes_have_names(self):
        path = self.copy_hidden_program(mode=0o755)
        self.start(path, "spin")
        self.start(path, "wait")
        stacks = self.assert_shown("--recorders", RECORDERS)
        self.assertEqual([offset for offset in stacks.offsets if offset >= HIGHEST_OFFSET], [])
        for recorder in RECORDERS.split(","):
            self.assert_shown("--recorders", recorder)

    def assert_shown(self, *words, **more):
        stacks = self.record(*words, **more)
        self.assertTrue(stacks.has(SECRET), stacks.texts)
        return stacks

    # --- attacks with files

    def test_an_executable_without_read_permission(self):
        self.start(self.copy_hidden_program(), "spin")
        self.assert_hidden()

    def test_a_file_with_the_inode_number_of_another(self):
        place = os.path.join(self.root, "small")
        os.mkdir(place)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", place], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=True)
        secret = self.copy_hidden_program("small/hidden")
        symbols = subprocess.run(["nm", secret], check=True, capture_output=True, text=True).stdout
        offset = re.search(r"^0*([0-9a-f]+) T secret_function_that_computes$", symbols, re.M)[1]
        subprocess.run(["setcap", WITHOUT_MAPPINGS, self.program], check=True)
        self.start(sys.executable, ATTACKER, "namesake", secret, offset)
        self.assert_hidden()

    def test_a_path_that_became_a_link_to_another_file(self):
        secret = self.copy_hidden_program()
        path = os.path.join(self.work, "program")
        shutil.copy("/usr/bin/yes", path)
        process = subprocess.Popen([*harness.USER, path], stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.rename(path, path + ".away")
        os.symlink(secret, path)
        self.assert_hidden()

    def test_root_opens_no_path_with_its_own_rights(self):
        """The same attack on root: root may read the file, but ctprof must not open it through the path of the attacker."""
        place = os.path.join(self.root, "small")
        os.mkdir(place)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", place], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=True)
        secret = self.copy_hidden_program("small/hidden", 0o700)
        symbols = subprocess.run(["nm", secret], check=True, capture_output=True, text=True).stdout
        offset = re.search(r"^0*([0-9a-f]+) T secret_function_that_computes$", symbols, re.M)[1]
        self.start(sys.executable, ATTACKER, "namesake", secret, offset)
        self.assertFalse(self.record("--recorders", "on-cpu", user=False).has(SECRET))

    # --- attacks with perf maps

    def map_file(self, mode=0o600):
        """Creates a file of root that looks like a perf map."""
        path = os.path.join(self.root, "lines")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{CODE:x} 1000 {SECRET}_line\n")
        os.chmod(path, mode)
        return path

    def test_a_file_mounted_over_a_perf_map(self):
        for user in (True, False):
            process = self.start(sys.executable, ATTACKER, "perf-map", self.map_file(), f"{CODE:x}")
            self.addCleanup(pathlib.Path(f"/tmp/perf-{process.pid}.map").unlink, missing_ok=True)
            self.assertFalse(self.record("--recorders", "on-cpu", user=user).has(SECRET))

    def test_a_perf_map_that_is_another_file(self):
        process = self.start(self.copy_hidden_program("other", 0o755), "spin")
        path = f"/tmp/perf-{process.pid}.map"
        self.addCleanup(pathlib.Path(path).unlink, missing_ok=True)
        lines = self.map_file()
        for make in (lambda: os.symlink(lines, path), lambda: os.mkfifo(path), lambda: shutil.copy(lines, path)):
            make()
            os.lchown(path, USER if os.path.islink(path) else 0, 0)
            stacks = self.record("--recorders", "on-cpu")
            self.assertFalse(stacks.has(SECRET + "_line"), stacks.texts)
            os.unlink(path)

    # --- attacks with debug files

    def test_debug_files_that_only_root_may_read(self):
        program = os.path.join(self.work, "stripped")
        shutil.copy(os.environ["HIDDEN"], program)
        notes = subprocess.run(["readelf", "-n", program], check=True, capture_output=True, text=True).stdout
        found = re.search(r"Build ID: ([0-9a-f]+)", notes)
        if not found:
            self.skipTest("the program has no build id")
        subprocess.run(["strip", "--strip-all", program], check=True)
        directory = os.path.join(self.root, "debug")
        debug = pathlib.Path(directory, ".build-id", found[1][:2], found[1][2:] + ".debug")
        debug.parent.mkdir(parents=True)
        shutil.copy(os.environ["HIDDEN"], debug)
        self.start(program, "spin")
        inside = ["unshare", "--mount", "sh", "-c", f'mount --bind {directory} /usr/lib/debug && exec "$@"', "sh"]
        debug.chmod(0o644)
        self.assert_shown("--recorders", "on-cpu", before=inside)
        debug.chmod(0o600)
        self.assertFalse(self.record("--recorders", "on-cpu", before=inside).has(SECRET))
        self.assertFalse(self.record("--recorders", "on-cpu", "--debug-dir", directory).has(SECRET))

    def test_debuginfod_is_not_used(self):
        self.start(self.copy_hidden_program(mode=0o755), "spin")
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.setblocking(False)
            address = f"http://127.0.0.1:{server.getsockname()[1]}"
            self.record("--recorders", "on-cpu", "--inlines", env=os.environ | {"DEBUGINFOD_URLS": address, "DEBUGINFOD_VERBOSE": "1"})
            self.assertRaises(BlockingIOError, server.accept)

    # --- attacks with processes

    def test_processes_of_root(self):
        path = self.copy_hidden_program(mode=0o755)
        for how in ("spin", "wait"):
            self.start(path, how, user=False)
        self.assert_hidden()
        self.assert_hidden("--offcpu-stacks", "every")
        self.assert_hidden("--unwind", "fp")

    def test_processes_of_root_that_exit_before_the_end(self):
        """After the exit the owner cannot be determined."""
        path = self.copy_hidden_program(mode=0o755)
        for how in ("spin", "wait"):
            self.start("timeout", "0.6", path, how, user=False)
        self.assert_hidden()

    def start_in_root_namespace(self, *command):
        """Starts a process whose ids are those of the user, but which the user may not trace."""
        self.start(sys.executable, ATTACKER, "root-namespace", USER, *command, user=False)

    def test_processes_in_a_user_namespace_of_root(self):
        path = self.copy_hidden_program(mode=0o755)
        for how in ("spin", "wait"):
            self.start_in_root_namespace(path, how)
        self.assert_hidden()
        self.assert_hidden("--offcpu-stacks", "every")
        self.assert_hidden("--unwind", "fp")

    def test_processes_in_a_user_namespace_of_root_that_exit_before_the_end(self):
        path = self.copy_hidden_program(mode=0o755)
        for how in ("spin", "wait"):
            self.start_in_root_namespace("/usr/bin/timeout", "3", path, how)
        self.assert_hidden(duration="4s")

    def test_processes_in_an_own_user_namespace_inside_of_one_of_root(self):
        path = self.copy_hidden_program(mode=0o755)
        for how in ("spin", "wait"):
            self.start_in_root_namespace(sys.executable, ATTACKER, "own-namespace", "/usr/bin/timeout", "3", path, how)
        self.assert_hidden(duration="4s")

    def test_processes_in_own_user_namespaces_have_names(self):
        path = self.copy_hidden_program(mode=0o755)
        for how in ("spin", "wait"):
            self.start(sys.executable, ATTACKER, "own-namespace", path, how)
        for recorder in RECORDERS.split(","):
            self.assert_shown("--recorders", recorder)

    def test_processes_in_nested_own_user_namespaces_have_names(self):
        path = self.copy_hidden_program(mode=0o755)
        self.start(sys.executable, ATTACKER, "own-namespace", sys.executable, ATTACKER, "own-namespace", path, "spin")
        self.assert_shown("--recorders", "on-cpu")

    def test_own_processes_that_exit_before_the_end_have_names(self):
        path = self.copy_hidden_program(mode=0o755)
        for how, recorder in (("spin", "on-cpu"), ("wait", "off-cpu"), ("wait", "sleepers")):
            with self.subTest(recorder):
                self.assert_shown("--recorders", recorder, "--", "sh", "-c", f"timeout 0.6 {path} {how} || true", duration="60s")

    def test_a_capture_of_processes_of_root(self):
        self.start(self.copy_hidden_program(mode=0o755), "wait", user=False)
        path = os.path.join(self.work, "look.ctprof.zst")
        finished = subprocess.run([*harness.USER, self.program, "capture", "-q", "--stacks", "-o", path], check=False, capture_output=True, text=True,
                                  timeout=harness.TIMEOUT)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        stacks = Stacks(path)
        self.assertFalse(stacks.has(SECRET))
        self.assertEqual([offset for offset in stacks.offsets if offset >= HIGHEST_OFFSET], [])

    def test_a_setuid_program(self):
        path = self.copy_hidden_program(mode=0o4755)
        for how in ("spin", "wait"):
            self.start(path, how)
        self.assert_hidden()

    def test_a_program_with_a_group(self):
        path = self.copy_hidden_program()
        os.chown(path, 0, 4)
        os.chmod(path, 0o2755)
        for how in ("spin", "wait"):
            self.start(path, how)
        self.assert_hidden()

    def test_a_program_with_capabilities(self):
        path = self.copy_hidden_program(mode=0o755)
        subprocess.run(["setcap", "cap_net_raw+ep", path], check=True)
        for how in ("spin", "wait"):
            self.start(path, how)
        self.assert_hidden()

    def test_a_service_of_the_same_user_with_capabilities(self):
        self.start("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=+net_raw", "--ambient-caps=+net_raw",
                  self.copy_hidden_program(mode=0o755), "spin", user=False)
        self.assert_hidden()

    def test_an_undumpable_process(self):
        self.start(self.copy_hidden_program(mode=0o755), "undumpable")
        self.assert_hidden()

    def test_a_process_of_another_group(self):
        self.start("setpriv", f"--reuid={USER}", "--regid=4", "--clear-groups", self.copy_hidden_program(mode=0o755), "spin", user=False)
        self.assert_hidden()

    def test_a_process_that_becomes_root_while_it_is_recorded(self):
        """The first program is stripped; the program that it executes has names."""
        first = os.path.join(self.work, "first")
        shutil.copy(os.environ["HIDDEN"], first)
        subprocess.run(["strip", "--strip-all", first], check=True)
        self.start(first, "spin", self.copy_hidden_program(mode=0o4755), "spin")
        self.assert_hidden()

    # --- window files of root

    def test_files_of_root_are_not_read(self):
        path = os.path.join(self.root, "roots.ctprof.zst")
        self.start(self.copy_hidden_program(mode=0o755), "spin", user=False)
        subprocess.run([os.environ["CTPROF"], "record", "-q", "-d", "300ms", "--recorders", "on-cpu", "-o", path], check=True)
        os.chmod(path, 0o600)
        for words in (("show", path), ("symbolize", path, "-o", "out"), ("flame", path, "-o", "out.html"), ("export", path, "--to", "folded", "-o", "out")):
            finished = subprocess.run([*harness.USER, self.program, *words], check=False, capture_output=True, text=True, timeout=harness.TIMEOUT, cwd=self.work)
            self.assertEqual(finished.returncode, 2, words)
            self.assertIn("Permission denied", finished.stderr)

    def test_redacted_files_of_root_have_no_addresses(self):
        self.start(self.copy_hidden_program(mode=0o755), "wait", user=False)
        path, public = (os.path.join(self.root, name) for name in ("roots.ctprof.zst", "public.ctprof.zst"))
        subprocess.run([os.environ["CTPROF"], "record", "-q", "-d", "300ms", "--recorders", RECORDERS, "-o", path], check=True)
        self.assertTrue(any(offset > HIGHEST_OFFSET for offset in Stacks(path).offsets))
        subprocess.run([os.environ["CTPROF"], "export", "-q", "--redact", path, "-o", public], check=True)
        stacks = Stacks(public)
        self.assertGreater(len(stacks.offsets), 10)
        self.assertEqual([offset for offset in stacks.offsets if offset >= HIGHEST_OFFSET], [])
        self.assertFalse(stacks.has(SECRET))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
