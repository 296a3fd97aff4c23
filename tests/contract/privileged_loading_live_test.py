#!/usr/bin/python3
"""Tests a ctprof with file capabilities whose tree a user exchanges during its start: no code of the user runs with those capabilities.

The user owns a directory above the program and exchanges the program's tree with one of his own, whose plugins are all the secret_reader of
privileged_loading_test.py: TEST_ROUNDS times (default: 100).

Environment: CTPROF; BAD_PLUGINS, a directory of shared objects.
"""

import ctypes
import os
import pathlib
import random
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402
import privileged_loading_test  # noqa: E402
from privileged_loading_test import USER, bad_plugin  # noqa: E402

ROUNDS = int(os.environ.get("TEST_ROUNDS", "100"))
RENAME_EXCHANGE = 2
AT_FDCWD = -100


def change_owner(path, user=USER):
    for directory, _, files in os.walk(path):
        for name in [directory, *(os.path.join(directory, file) for file in files)]:
            os.chown(name, user, user)


def exchange_repeatedly(one, other, seed):
    """Exchanges two directories at random times as the user. Some exchanges follow each other directly, to defeat a check that only
    examines the right tree."""
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
    libc, moments = ctypes.CDLL(None), random.Random(seed)
    one, other = one.encode(), other.encode()
    while True:
        libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
        time.sleep(moments.choice((0, 0, 1e-4, 1e-3, 1e-2)) * moments.random())


class Exchanger:
    def __init__(self, one, other, seed):
        self.arguments = (one, other, seed)

    def __enter__(self):
        self.pid = os.fork()
        if self.pid == 0:
            try:
                exchange_repeatedly(*self.arguments)
            finally:
                os._exit(1)
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class ExchangedTree(privileged_loading_test.PrivilegedLoading):
    def make_tree_of_user(self, template):
        """Makes a tree of the same structure whose plugins are all copies of secret_reader."""
        tree = self.path("user", "theirs")
        for name in os.listdir(os.path.join(template, "plugins")):
            os.makedirs(os.path.join(tree, "plugins"), exist_ok=True)
            shutil.copy(bad_plugin("secret_reader"), os.path.join(tree, "plugins", name))
        shutil.copytree(os.path.join(template, "tools"), os.path.join(tree, "tools"))
        shutil.copy(os.path.join(template, "build.ninja"), tree)
        change_owner(tree)
        return tree

    def test_loads_no_plugin_of_user_during_exchanges(self):
        ours = self.path("user", "ours")
        program = os.open(self.install_product("user", "ours"), os.O_RDONLY)
        self.addCleanup(os.close, program)
        theirs = self.make_tree_of_user(ours)
        os.chown(self.path("user"), USER, USER)
        seed = int(os.environ.get("TEST_SEED", time.time_ns()))
        with Exchanger(ours, theirs, seed):
            for number in range(ROUNDS):
                finished = self.run_program(f"/proc/self/fd/{program}", "-q", "metric-list" if number % 8 == 7 else "plugins", pass_fds=[program])
                self.assertGreaterEqual(finished.returncode, 0, f"round {number}: was killed by signal {-finished.returncode}")
                self.assertIsNone(self.loot(), f"round {number} of {ROUNDS}, seed {seed}: the secret_reader got {self.loot()}")


if __name__ == "__main__":
    harness.main()
