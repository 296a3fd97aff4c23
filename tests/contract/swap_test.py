#!/usr/bin/python3
"""A ctprof that has capabilities from its file, in trees that its user may change: nobody's code runs with those capabilities.

The stranger is a plugin of the user's, which reads a file that root alone may read.

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
SECRET = b"root's alone\n"


def bad(name):
    return os.path.join(os.environ["BAD_PLUGINS"], f"{name}.so")


def may_have_capabilities():
    """Whether a file's capabilities come to anything here."""
    if not harness.can_become_user() or not shutil.which("setcap"):
        return False
    with harness.closed_scratch() as place:
        program = shutil.copy("/bin/cat", place)
        given = subprocess.run(["setcap", CAPABILITIES, program], capture_output=True, check=False)
        ran = subprocess.run([*harness.USER, program, "/proc/self/status"], capture_output=True, check=False, text=True)
        effective = [line.split()[1] for line in ran.stdout.splitlines() if line.startswith("CapEff")]
        return given.returncode == 0 and bool(effective) and int(effective[0], 16) != 0


@unittest.skipUnless(may_have_capabilities(), "needs root, setcap, and a place where capabilities of files count")
class Privileged(unittest.TestCase):
    longMessage = False

    def setUp(self):
        self.scratch = harness.closed_scratch()
        self.addCleanup(self.scratch.cleanup)
        self.work = self.path("work")  # where the stranger finds the secret and leaves the loot
        os.mkdir(self.work)
        os.chmod(self.work, 0o777)
        with open(os.path.join(self.work, "secret"), "wb") as file:
            file.write(SECRET)
        os.chmod(file.name, 0o600)

    def path(self, *names):
        return os.path.join(self.scratch.name, *names)

    def product(self, *names):
        """The program with capabilities, in a tree of that name."""
        os.makedirs(self.path(*names), exist_ok=True)
        program = product_copy(harness.CTPROF, self.path(*names))
        subprocess.run(["setcap", CAPABILITIES, program], check=True)
        return program

    def ran(self, program, *words, prefix=(), **options):
        return subprocess.run([*prefix, *harness.USER, program, *words], cwd=self.work, capture_output=True, timeout=harness.TIMEOUT, check=False,
                              text=True, **options)

    def captured(self, program):
        """A capture of this process alone: with capabilities it takes no other root."""
        return self.ran(program, "-q", "capture", "-p", str(os.getpid()), "-o", "out")

    def loot(self):
        try:
            with open(os.path.join(self.work, "loot"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def assert_loads_nothing(self, program, words, **options):
        """Neither by itself nor by doctor's leave."""
        done = self.ran(program, "-q", "capture", "-o", "out", **options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(words, done.stderr)
        self.assertIn("no plugin is loaded\n", self.ran(program, "doctor", **options).stdout)
        self.assertIsNone(self.loot())


class Placed(Privileged):
    def test_the_stranger_takes_what_he_gets(self):
        """Or nothing would be shown by the loot that is missing elsewhere."""
        program = self.product("root", "ours")
        subprocess.run([program, "--plugin-path", os.path.dirname(bad("stranger")), "-q", "plugins"], cwd=self.work, check=True, capture_output=True)
        self.assertEqual(self.loot(), SECRET)

    def test_in_a_tree_of_roots_alone_it_loads_all(self):
        program = self.product("root")
        ours = json.loads(self.ran(program, "plugins", "--format", "json").stdout)
        plain = json.loads(self.ran(harness.reachable()[1], "plugins", "--format", "json").stdout)
        self.assertEqual([plugin["name"] for plugin in ours["plugins"]], [plugin["name"] for plugin in plain["plugins"]])
        self.assertEqual(ours["refused"], [])
        done = self.captured(program)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("/proc/self/fd", self.ran(program, "plugins").stdout)

    def test_a_plugin_that_is_loaded_twice_is_not_taken_for_another(self):
        """The layout is, for a file that says nothing of itself; libraries go by the names of descriptors, which would be given again."""
        program = self.product("root")
        self.captured(program)
        text = subprocess.run(["zstd", "-qdc", os.path.join(self.work, "out")], capture_output=True, check=True).stdout
        document = {key: value for key, value in json.loads(text).items() if key not in ("ctprof", "registry")}
        path = os.path.join(self.work, "foreign.ctprof.zst")
        subprocess.run(["zstd", "-qo", path], input=json.dumps(document).encode(), check=True)
        done = self.ran(program, "show", path, "--format", "csv")
        self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if "refused" in line]), (0, []))
        self.assertEqual(done.stdout, self.ran(harness.reachable()[1], "show", path, "--format", "csv").stdout)

    def test_messages_name_the_file_itself(self):
        program = self.product("root")
        for name in ("undefined_symbol", "peak_summed", "another_abi"):
            shutil.copy(bad(name), self.path("root", "plugins"))
        said = self.ran(program, "metric-list").stderr
        self.assertNotIn("/proc/", said)
        for name, words in (("undefined_symbol", "function_of_nobody"), ("peak_summed", "a peak does not"), ("another_abi", "it speaks ABI")):
            self.assertIn(f"refused: {self.path('root', 'plugins', name)}.so: ", said)
            self.assertIn(words, said)

    def test_below_a_directory_that_others_may_change_it_loads_nothing(self):
        program = self.product("above", "root")
        above = self.path("above")
        for change, words in ((lambda: os.chown(above, USER, USER), f"'{above}' belongs to user {USER}"),
                              (lambda: os.chmod(above, 0o1777), f"'{above}' is writable by others (mode 1777)"),
                              (lambda: os.chmod(above, 0o775), f"'{above}' is writable by others (mode 775)")):
            change()
            self.assert_loads_nothing(program, words)
            os.chown(above, 0, 0)
            os.chmod(above, 0o755)
        self.assertEqual(self.captured(program).returncode, 0)

    def test_where_the_program_can_be_exchanged_it_loads_nothing(self):
        program = self.product("root")
        os.chown(os.path.dirname(program), USER, USER)
        self.assert_loads_nothing(program, f"belongs to user {USER}")

    def test_a_hard_link_of_the_users_loads_nothing(self):
        """Where the system lets users make them."""
        program = self.product("root")
        theirs = self.path("theirs", "tools", "ctprof")
        os.makedirs(theirs)
        shutil.copytree(self.path("root", "plugins"), self.path("theirs", "plugins"))
        shutil.copy(bad("stranger"), self.path("theirs", "plugins", "psi.so"))
        shutil.copy(self.path("root", "build.ninja"), self.path("theirs"))
        os.link(program, os.path.join(theirs, "ctprof"))
        for directory in (self.path("theirs"), self.path("theirs", "plugins")):
            os.chown(directory, USER, USER)
        self.assert_loads_nothing(os.path.join(theirs, "ctprof"), f"'{self.path('theirs')}' belongs to user {USER}")

    def test_a_link_on_the_way_is_not_followed(self):
        program = self.product("root")
        plugins = self.path("root", "plugins")
        os.rename(plugins, self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), plugins)
        self.assert_loads_nothing(program, f"'{plugins}' is a symbolic link")

    def test_a_mount_that_users_may_make_is_not_trusted(self):
        options = ["-m"]
        harness.needs_namespaces(self, options)
        program = self.product("root")
        plugins = self.path("root", "plugins")
        mount = f'cp "$0"/*.so {self.path()} && mount -t tmpfs -o nosuid,mode=755 none "$0" && cp {self.path()}/*.so "$0" && exec "$@"'
        prefix = ["unshare", *options, "sh", "-c", mount, plugins]
        self.assert_loads_nothing(program, f"'{plugins}' is on a filesystem that is mounted nosuid", prefix=prefix)

    def test_one_file_of_anothers_is_one_that_is_refused(self):
        program = self.product("root")
        for name in ("sound", "searches_elsewhere"):
            shutil.copy(bad(name), self.path("root", "plugins"))
        os.symlink(bad("stranger"), self.path("root", "plugins", "stranger.so"))
        os.chown(self.path("root", "plugins", "sound.so"), USER, USER)
        done = self.ran(program, "metric-list")
        self.assertEqual(done.returncode, 0)
        for name, words in (("sound", f"it belongs to user {USER}"), ("stranger", "it is a symbolic link"),
                            ("searches_elsewhere", "it looks for libraries in '/tmp', and '/tmp' is writable by others (mode 1777)")):
            lines = [line for line in done.stderr.splitlines() if f"/{name}.so" in line]
            self.assertEqual(len(lines), 1, done.stderr)
            self.assertIn(f"{words}; a ctprof with file capabilities loads only plugins that only root can change", lines[0])
        self.assertIsNone(self.loot())
        self.assertIn("run_time_ns", done.stdout)
        by_root = subprocess.run([program, "metric-list"], cwd=self.scratch.name, capture_output=True, check=True, text=True)
        self.assertIn("searches_elsewhere_value", by_root.stdout)

    def test_a_library_by_a_path_would_come_from_the_current_directory(self):
        program = self.product("root")
        with open(bad("stranger"), "rb") as file:
            text = file.read()
        with open(self.path("root", "plugins", "linked.so"), "wb") as file:
            file.write(text.replace(b"libc.so.6\0", b"./bc.so.6\0"))
        shutil.copy(bad("stranger"), os.path.join(self.work, "bc.so.6"))
        self.assertIn("linked.so: it needs the library './bc.so.6' by a path", self.ran(program, "metric-list").stderr)
        self.assertIsNone(self.loot())

    def test_without_proc_it_says_so(self):
        options = ["-m"]
        harness.needs_namespaces(self, options)
        program = self.product("root")
        prefix = ["unshare", *options, "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"']
        for words in (["plugins"], ["metric-list"]):
            done = self.ran(program, *words, prefix=prefix)
            # A sanitizer looks for leaks in /proc, and complains in lines of its own.
            said = [line for line in done.stderr.splitlines() if line.startswith("ctprof: ")]
            self.assertEqual((done.stdout, len(said)), ("", 1), done.stderr)
            self.assertTrue(done.returncode == 2 or "LeakSanitizer" in done.stderr, done.stderr)
            self.assertIn("/proc", said[0])

    def test_what_its_user_says_counts_for_nothing(self):
        program = self.product("root")
        theirs = self.path("theirs")
        os.mkdir(theirs)
        shutil.copy(bad("stranger"), theirs)
        done = self.ran(program, "--plugin-path", theirs, "plugins")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
        self.assertIn("--plugin-path is ignored", done.stderr)
        variables = ["env", f"CTPROF_PLUGIN_PATH={theirs}", "CTPROF_JOBS=none"]
        done = self.ran(program, "plugins", prefix=variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIsNone(self.loot())


if __name__ == "__main__":
    harness.main()
