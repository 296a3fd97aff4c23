#!/usr/bin/python3
"""Tests a ctprof with file capabilities in trees that a user can change: no code of the user runs with those capabilities.

The secret_reader is a plugin of the user; it reads a file that only root may read.

Environment: CTPROF; BAD_PLUGINS, a directory of shared objects.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402
from product_copy import product_copy  # noqa: E402

CAPABILITIES = "cap_dac_read_search,cap_net_admin,cap_sys_ptrace+ep"
USER = 1000
SECRET = b"only for root\n"


def bad_plugin(name):
    return os.path.join(os.environ["BAD_PLUGINS"], f"{name}.so")


def supports_file_capabilities():
    """Returns whether file capabilities take effect on this host."""
    if not harness.can_become_user() or not shutil.which("setcap"):
        return False
    with harness.root_only_scratch() as place:
        program = shutil.copy("/bin/cat", place)
        granted = subprocess.run(["setcap", CAPABILITIES, program], capture_output=True, check=False)
        ran = subprocess.run([*harness.USER, program, "/proc/self/status"], capture_output=True, check=False, text=True)
        effective = [line.split()[1] for line in ran.stdout.splitlines() if line.startswith("CapEff")]
        return granted.returncode == 0 and bool(effective) and int(effective[0], 16) != 0


@unittest.skipUnless(supports_file_capabilities(), "needs root, setcap, and a file system on which file capabilities take effect")
class PrivilegedLoading(unittest.TestCase):
    longMessage = False

    def setUp(self):
        self.scratch = harness.root_only_scratch()
        self.addCleanup(self.scratch.cleanup)
        self.work = self.path("work")  # contains the file `secret`; secret_reader writes the file `loot` here
        os.mkdir(self.work)
        os.chmod(self.work, 0o777)
        with open(os.path.join(self.work, "secret"), "wb") as file:
            file.write(SECRET)
        os.chmod(file.name, 0o600)

    def path(self, *names):
        return os.path.join(self.scratch.name, *names)

    def install_product(self, *names):
        """Installs the program with capabilities in a tree of that name."""
        os.makedirs(self.path(*names), exist_ok=True)
        program = product_copy(harness.CTPROF, self.path(*names))
        subprocess.run(["setcap", CAPABILITIES, program], check=True)
        return program

    def run_program(self, program, *words, prefix=(), **options):
        return subprocess.run([*prefix, *harness.USER, program, *words], cwd=self.work, capture_output=True, timeout=harness.TIMEOUT, check=False,
                              text=True, **options)

    def capture_this_process(self, program):
        """Captures this process; a program with capabilities accepts no --rootfs."""
        return self.run_program(program, "-q", "capture", "-p", str(os.getpid()), "-o", "out")

    def loot(self):
        try:
            with open(os.path.join(self.work, "loot"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def assert_loads_nothing(self, program, words, **options):
        """Checks that neither capture nor doctor loads a plugin."""
        finished = self.run_program(program, "-q", "capture", "-o", "out", **options)
        self.assertEqual((finished.returncode, finished.stdout), (2, ""), finished.stderr)
        self.assertIn(words, finished.stderr)
        self.assertIn("no plugin is loaded\n", self.run_program(program, "doctor", **options).stdout)
        self.assertIsNone(self.loot())


class TrustedPaths(PrivilegedLoading):
    def test_secret_reader_copies_the_secret(self):
        """Verifies that the plugin works, because the other tests rely on a missing file `loot`."""
        program = self.install_product("root", "ours")
        subprocess.run([program, "--plugin-path", os.path.dirname(bad_plugin("secret_reader")), "-q", "plugins"], cwd=self.work, check=True,
                       capture_output=True)
        self.assertEqual(self.loot(), SECRET)

    def test_record_tree_copies_no_files(self):
        """The copies would be readable for the user, who may not read the originals."""
        program = self.install_product("root")
        finished = self.run_program(program, "record-tree", "tree")
        self.assertEqual((finished.returncode, finished.stdout), (2, ""))
        self.assertIn("recording 'tree': ctprof has file capabilities", finished.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.work, "tree")))

    def test_loads_all_plugins_from_tree_of_root(self):
        program = self.install_product("root")
        ours = json.loads(self.run_program(program, "plugins", "--format", "json").stdout)
        plain = json.loads(self.run_program(harness.reachable_copy()[1], "plugins", "--format", "json").stdout)
        self.assertEqual([plugin["name"] for plugin in ours["plugins"]], [plugin["name"] for plugin in plain["plugins"]])
        self.assertEqual(ours["refused"], [])
        finished = self.capture_this_process(program)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        self.assertNotIn("/proc/self/fd", self.run_program(program, "plugins").stdout)

    def test_loads_a_plugin_twice(self):
        """For a file without metric definitions, `show` loads the plugins a second time. dlopen gets /proc/self/fd/N, so the
        descriptor of the first load must stay open: with a reused N, dlopen would return the first library again."""
        program = self.install_product("root")
        self.capture_this_process(program)
        text = subprocess.run(["zstd", "-qdc", os.path.join(self.work, "out")], capture_output=True, check=True).stdout
        document = {key: value for key, value in json.loads(text).items() if key not in ("ctprof", "registry")}
        path = os.path.join(self.work, "foreign.ctprof.zst")
        subprocess.run(["zstd", "-qo", path], input=json.dumps(document).encode(), check=True)
        finished = self.run_program(program, "show", path, "--format", "csv")
        self.assertEqual((finished.returncode, [line for line in finished.stderr.splitlines() if "refused" in line]), (0, []))
        self.assertEqual(finished.stdout, self.run_program(harness.reachable_copy()[1], "show", path, "--format", "csv").stdout)

    def test_messages_contain_path_of_file(self):
        program = self.install_product("root")
        for name in ("undefined_symbol", "peak_summed", "another_abi"):
            shutil.copy(bad_plugin(name), self.path("root", "plugins"))
        messages = self.run_program(program, "metric-list").stderr
        self.assertNotIn("/proc/", messages)
        for name, words in (("undefined_symbol", "undefined_function"), ("peak_summed", "a peak does not"), ("another_abi", "it uses ABI")):
            self.assertIn(f"refused: {self.path('root', 'plugins', name)}.so: ", messages)
            self.assertIn(words, messages)

    def test_loads_nothing_below_writable_directory(self):
        program = self.install_product("above", "root")
        above = self.path("above")
        for change, words in ((lambda: os.chown(above, USER, USER), f"'{above}' belongs to user {USER}"),
                              (lambda: os.chmod(above, 0o1777), f"'{above}' is writable by others (mode 1777)"),
                              (lambda: os.chmod(above, 0o775), f"'{above}' is writable by others (mode 775)")):
            change()
            self.assert_loads_nothing(program, words)
            os.chown(above, 0, 0)
            os.chmod(above, 0o755)
        self.assertEqual(self.capture_this_process(program).returncode, 0)

    def test_loads_nothing_if_program_is_replaceable(self):
        program = self.install_product("root")
        os.chown(os.path.dirname(program), USER, USER)
        self.assert_loads_nothing(program, f"belongs to user {USER}")

    def test_loads_nothing_through_hard_link_of_user(self):
        """For systems that permit users to create such links."""
        program = self.install_product("root")
        theirs = self.path("theirs", "tools", "ctprof")
        os.makedirs(theirs)
        shutil.copytree(self.path("root", "plugins"), self.path("theirs", "plugins"))
        shutil.copy(bad_plugin("secret_reader"), self.path("theirs", "plugins", "psi.so"))
        shutil.copy(self.path("root", "build.ninja"), self.path("theirs"))
        os.link(program, os.path.join(theirs, "ctprof"))
        for directory in (self.path("theirs"), self.path("theirs", "plugins")):
            os.chown(directory, USER, USER)
        self.assert_loads_nothing(os.path.join(theirs, "ctprof"), f"'{self.path('theirs')}' belongs to user {USER}")

    def test_rejects_symbolic_link_in_path(self):
        program = self.install_product("root")
        plugins = self.path("root", "plugins")
        os.rename(plugins, self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), plugins)
        self.assert_loads_nothing(program, f"'{plugins}' is a symbolic link")

    def test_rejects_nosuid_mount(self):
        options = ["-m"]
        harness.needs_namespaces(self, options)
        program = self.install_product("root")
        plugins = self.path("root", "plugins")
        mount = f'cp "$0"/*.so {self.path()} && mount -t tmpfs -o nosuid,mode=755 none "$0" && cp {self.path()}/*.so "$0" && exec "$@"'
        prefix = ["unshare", *options, "sh", "-c", mount, plugins]
        self.assert_loads_nothing(program, f"'{plugins}' is on a filesystem that is mounted nosuid", prefix=prefix)

    def test_refuses_single_files_of_other_users(self):
        program = self.install_product("root")
        for name in ("sound", "searches_tmp"):
            shutil.copy(bad_plugin(name), self.path("root", "plugins"))
        os.symlink(bad_plugin("secret_reader"), self.path("root", "plugins", "secret_reader.so"))
        os.chown(self.path("root", "plugins", "sound.so"), USER, USER)
        finished = self.run_program(program, "metric-list")
        self.assertEqual(finished.returncode, 0)
        for name, words in (("sound", f"it belongs to user {USER}"), ("secret_reader", "it is a symbolic link"),
                            ("searches_tmp", "its library search path contains '/tmp', and '/tmp' is writable by others (mode 1777)")):
            lines = [line for line in finished.stderr.splitlines() if f"/{name}.so" in line]
            self.assertEqual(len(lines), 1, finished.stderr)
            self.assertIn(f"{words}; a ctprof with file capabilities loads only plugins that only root can change", lines[0])
        self.assertIsNone(self.loot())
        self.assertIn("run_time_ns", finished.stdout)
        by_root = subprocess.run([program, "metric-list"], cwd=self.scratch.name, capture_output=True, check=True, text=True)
        self.assertIn("searches_tmp_value", by_root.stdout)

    def test_refuses_library_with_relative_path(self):
        program = self.install_product("root")
        with open(bad_plugin("secret_reader"), "rb") as file:
            text = file.read()
        with open(self.path("root", "plugins", "linked.so"), "wb") as file:
            file.write(text.replace(b"libc.so.6\0", b"./bc.so.6\0"))
        shutil.copy(bad_plugin("secret_reader"), os.path.join(self.work, "bc.so.6"))
        self.assertIn("linked.so: it needs the library './bc.so.6' by a path instead of a name", self.run_program(program, "metric-list").stderr)
        self.assertIsNone(self.loot())

    def test_reports_missing_proc(self):
        options = ["-m"]
        harness.needs_namespaces(self, options)
        program = self.install_product("root")
        prefix = ["unshare", *options, "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"']
        for words in (["plugins"], ["metric-list"]):
            finished = self.run_program(program, *words, prefix=prefix)
            # A sanitizer needs /proc to find leaks, and prints lines of its own.
            messages = [line for line in finished.stderr.splitlines() if line.startswith("ctprof: ")]
            self.assertEqual((finished.stdout, len(messages)), ("", 1), finished.stderr)
            self.assertTrue(finished.returncode == 2 or "LeakSanitizer" in finished.stderr, finished.stderr)
            self.assertIn("/proc", messages[0])

    def test_ignores_plugin_paths_of_user(self):
        program = self.install_product("root")
        theirs = self.path("theirs")
        os.mkdir(theirs)
        shutil.copy(bad_plugin("secret_reader"), theirs)
        finished = self.run_program(program, "--plugin-path", theirs, "plugins")
        self.assertEqual((finished.returncode, finished.stderr.count("\n")), (0, 1), finished.stderr)
        self.assertIn("--plugin-path is ignored", finished.stderr)
        variables = ["env", f"CTPROF_PLUGIN_PATH={theirs}", "CTPROF_JOBS=none"]
        finished = self.run_program(program, "plugins", prefix=variables)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        self.assertIsNone(self.loot())


if __name__ == "__main__":
    harness.main()
