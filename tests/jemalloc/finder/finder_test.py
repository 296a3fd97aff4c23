"""Tests the finder of jemalloc's counters on real processes, which print the places of their counters.

PRINT_COUNTERS is the program that runs the finder, SOURCES this directory, CC the compiler with its prefix and options. Each case builds its programs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PRINT_COUNTERS, SOURCES, CC = os.environ["PRINT_COUNTERS"], os.environ["SOURCES"], os.environ.get("CC", "cc").split()
ARCHIVE = ["-Wl,-Bstatic", "-ljemalloc", "-Wl,-Bdynamic", "-lstdc++", "-lm"]
WHOLE_ARCHIVE = ["-static", "-ljemalloc", "-lstdc++", "-lm"]
PUBLIC_SYMBOLS = ["malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc", "malloc_usable_size",
                  "mallctl", "mallocx", "rallocx", "sdallocx", "dallocx"]
ALLOCATING = ["malloc", "mallocx", "calloc"]
FREEING = ["free", "sdallocx", "dallocx", "realloc"]


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def library(name):
    """Returns the file that the linker would use for -l<name>, or None."""
    path = subprocess.run([*CC, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    return path if os.path.isabs(path) else None


def find_counters(*pids):
    out = subprocess.run([PRINT_COUNTERS, *map(str, pids)], capture_output=True, text=True, check=True).stdout
    return [line.split() for line in out.splitlines()]


class RunningProgram:
    """A process that has printed its own distances and sleeps."""

    def __init__(self, *command, **environment):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.own = self.process.stdout.readline().split()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class FinderCase(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = directory.name

    def path(self, name):
        return os.path.join(self.dir, name)

    def build(self, source, *options, name="program", compiler=CC):
        run(*compiler, "-O1", os.path.join(SOURCES, source), "-o", self.path(name), *options)
        return self.path(name)

    def check(self, *command, **environment):
        with RunningProgram(*command, **environment) as running:
            self.assertNotIn("0", running.own)
            self.assertEqual(find_counters(running.process.pid), [["found", *running.own, "0"]])


class Jemalloc(FinderCase):
    def setUp(self):
        super().setUp()
        if not library("libjemalloc.a"):
            self.skipTest("needs libjemalloc-dev")

    def check_unstripped_and_stripped(self, program):
        self.check(program)
        run("strip", program)
        self.check(program)

    def test_preloaded(self):
        self.check(self.build("where.c", "-DPRELOADED"), LD_PRELOAD="libjemalloc.so.2")

    def test_linked(self):
        self.check_unstripped_and_stripped(self.build("where.c", "-ljemalloc"))

    def test_archive(self):
        self.check_unstripped_and_stripped(self.build("where.c", *ARCHIVE))

    def test_archive_at_a_fixed_address(self):
        self.check_unstripped_and_stripped(self.build("where.c", "-no-pie", *ARCHIVE))

    def test_static(self):
        self.check_unstripped_and_stripped(self.build("where.c", *WHOLE_ARCHIVE))

    def test_static_pie(self):
        self.check_unstripped_and_stripped(self.build("where.c", "-static-pie", "-ljemalloc_pic", "-lstdc++", "-lm"))

    def test_with_other_thread_local_data(self):
        with open(self.path("more.c"), "w") as more:
            more.write("_Thread_local long a[100] = {1}; _Thread_local char b[300] __attribute__((aligned(64)));\n")
        self.check_unstripped_and_stripped(self.build("where.c", self.path("more.c"), *ARCHIVE))

    def build_prefixed(self, prefix, *options):
        names = [option for name in PUBLIC_SYMBOLS for option in ("--redefine-sym", f"{name}={prefix}{name}")]
        run("objcopy", *names, library("libjemalloc.a"), self.path("prefixed.a"))
        return self.build("where.c", f"-DMALLCTL={prefix}mallctl", *options, self.path("prefixed.a"), "-lstdc++", "-lm")

    def remove_symbols(self, program, *names):
        run("strip", *(word for name in names for word in ("-N", f"_rjem_{name}")), "-N", "je_tsd_tls", "-N", "tsd_tls", program)

    def test_prefixes(self):
        for prefix in ("je_", "_rjem_"):
            self.check_unstripped_and_stripped(self.build_prefixed(prefix))

    def test_functions_removed_by_the_linker(self):
        """As in a Rust program. The other symbols are removed, because Debian's archive has one member, which a linker links completely."""
        for kept in FREEING:
            with self.subTest(kept):
                program = self.build_prefixed("_rjem_")
                self.set_unknown_version(program)
                self.remove_symbols(program, *(set(FREEING) - {kept}))
                self.check(program)
        for kept in ALLOCATING:
            with self.subTest(kept):
                program = self.build_prefixed("_rjem_")
                self.set_unknown_version(program)
                self.remove_symbols(program, *(set(ALLOCATING) - {kept}))
                self.check(program)

    def test_many_other_functions_named_free(self):
        with open(self.path("more.c"), "w") as more:
            more.writelines(f"void a{number}_free(void) {{}}\n" for number in range(1500))
        program = self.build_prefixed("_rjem_", self.path("more.c"))
        self.set_unknown_version(program)
        self.check(program)

    def set_unknown_version(self, program):
        """Changes the version, so that the table of versions does not apply."""
        with open(program, "r+b") as file:
            content = file.read()
            self.assertIn(b"5.3.0-0-g", content)
            file.seek(0)
            file.write(content.replace(b"5.3.0-0-g", b"9.9.9-9-g"))

    def test_stripped_program_of_unknown_version(self):
        for options in (["-no-pie", *ARCHIVE], ARCHIVE, ["-static-pie", "-ljemalloc_pic", "-lstdc++", "-lm"]):
            with self.subTest(options):
                program = self.build("where.c", *options)
                self.set_unknown_version(program)
                run("strip", program)
                self.check(program)

    def test_two_allocators_in_one_process(self):
        with RunningProgram(self.build_prefixed("_rjem_"), LD_PRELOAD="libjemalloc.so.2") as running:
            (answer,) = find_counters(running.process.pid)
        self.assertEqual(answer[0], "found")
        pairs = [answer[1:3], answer[3:5]]
        self.assertIn(running.own, pairs)
        self.assertNotEqual(*pairs)

    def test_too_many_allocators(self):
        for copies, expected in ((4, "found"), (5, "too-many-allocators")):
            with self.subTest(copies):
                paths = [shutil.copy(library("libjemalloc.so.2"), self.path(f"{number}.so")) for number in range(copies)]
                with RunningProgram(self.build("where.c", "-DPRELOADED"), LD_PRELOAD=":".join(paths),
                                    GLIBC_TUNABLES="glibc.rtld.optional_static_tls=32768") as running:
                    (answer,) = find_counters(running.process.pid)
                self.assertEqual(answer[0], expected)
                if expected == "found":
                    self.assertIn(running.own, [answer[at:at + 2] for at in range(1, 2 * copies, 2)])

    def test_one_of_two_allocators_unreadable(self):
        """The values of the other allocator would be only a part of the total, so there is no value."""
        with RunningProgram(self.build("described.c"), LD_PRELOAD="libjemalloc.so.2") as running:
            self.assertEqual(find_counters(running.process.pid), [["dwarf-parse-failure", "0", "0", "0"]])

    def test_deleted_library(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to open a deleted file through its mapping")
        copy = shutil.copy(library("libjemalloc.so.2"), self.path("a b\nc.so"))
        with RunningProgram(self.build("where.c", "-DPRELOADED"), copy, GLIBC_TUNABLES="glibc.rtld.optional_static_tls=8192") as running:
            os.unlink(copy)
            self.assertNotIn("0", running.own)
            self.assertEqual(find_counters(running.process.pid), [["found", *running.own, "0"]])

    def test_own_processes_without_privileges(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to become another user")
        os.chmod(self.dir, 0o755)
        unprivileged = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"]
        program_copy = shutil.copy(PRINT_COUNTERS, self.dir)
        for options in (["-ljemalloc"], WHOLE_ARCHIVE):
            with self.subTest(options), RunningProgram(*unprivileged, self.build("where.c", *options)) as running:
                out = subprocess.run([*unprivileged, program_copy, str(running.process.pid)], capture_output=True, text=True, check=True).stdout
                self.assertEqual(out.split(), ["found", *running.own, "0"])

    def test_several_processes(self):
        program = self.build("where.c", "-ljemalloc")
        with RunningProgram(program) as one, RunningProgram(program) as other, RunningProgram("sh", "-c", "echo; exec sleep 60") as none:
            answers = find_counters(one.process.pid, other.process.pid, none.process.pid)
        self.assertEqual(answers, [["found", *one.own, "0"], ["found", *other.own, "0"], ["jemalloc-not-found", "0", "0", "0"]])

    def test_process_with_another_root(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        program = self.build("where.c", *WHOLE_ARCHIVE)
        with RunningProgram("chroot", self.dir, "/program") as running:
            self.assertEqual(find_counters(running.process.pid), [["found", *running.own, "0"]])


class DebugInformation(FinderCase):
    """Programs in which only debug information describes the counters."""

    def strip_debug(self, program, *options):
        run("objcopy", "--strip-debug", *options, program)

    def test_debug_information_inside(self):
        for options in (["-g"], ["-g", "-gdwarf-4"], ["-g", "-gz"], ["-g", "-no-pie"], ["-g", "-static"]):
            with self.subTest(options):
                self.check(self.build("described.c", *options))

    def test_no_debug_information(self):
        with RunningProgram(self.build("described.c")) as running:
            self.assertEqual(find_counters(running.process.pid), [["dwarf-parse-failure", "0", "0", "0"]])

    def test_debug_file_next_to_program(self):
        for ending in (".debug", ".debuginfo"):
            with self.subTest(ending):
                program = self.build("described.c", "-g", "-Wl,--build-id")
                run("objcopy", "--only-keep-debug", program, program + ending)
                self.strip_debug(program)
                self.check(program)
                os.unlink(program + ending)

    def test_debug_file_of_another_program(self):
        program = self.build("described.c", "-g", "-Wl,--build-id")
        shutil.copy(self.build("described.c", "-g", "-Wl,--build-id=0x0123", name="another"), program + ".debug")
        self.strip_debug(program)
        with RunningProgram(program) as running:
            self.assertEqual(find_counters(running.process.pid), [["dwarf-parse-failure", "0", "0", "0"]])

    def build_with_debug_link(self, directory):
        program = self.build("described.c", "-g")
        os.makedirs(self.path(directory), exist_ok=True)
        debug = os.path.join(self.path(directory), "facts")
        run("objcopy", "--only-keep-debug", program, debug)
        self.strip_debug(program, f"--add-gnu-debuglink={debug}")
        return program, debug

    def test_debug_file_by_link(self):
        for directory in (".", ".debug"):
            with self.subTest(directory):
                program, debug = self.build_with_debug_link(directory)
                self.check(program)
                with open(debug, "ab") as changed:
                    changed.write(b"x")
                with RunningProgram(program) as running:  # the checksum differs now
                    self.assertEqual(find_counters(running.process.pid)[0][0], "dwarf-parse-failure")
                os.unlink(debug)

    def test_debug_file_by_build_id_below_process_root(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        program = self.build("described.c", "-g", "-static", "-Wl,--build-id=0xabcdef0123456789")
        os.makedirs(self.path("usr/lib/debug/.build-id/ab"))
        run("objcopy", "--only-keep-debug", program, self.path("usr/lib/debug/.build-id/ab/cdef0123456789.debug"))
        self.strip_debug(program)
        with RunningProgram("chroot", self.dir, "/program") as running:
            self.assertEqual(find_counters(running.process.pid), [["found", *running.own, "0"]])

    def test_debug_package_of_two_units(self):
        source = os.path.join(SOURCES, "described.c")
        for version, packer in (("-gdwarf-4", "dwp"), ("-gdwarf-5", "llvm-dwp")):  # dwp 2.40 of GNU binutils crashes with version 5
            with self.subTest(version):
                packer = shutil.which(packer) or shutil.which(packer + "-14")  # the name in Debian
                if not packer:
                    self.skipTest("needs dwp and llvm-dwp")
                for part in ("MAIN", "LIBRARY"):
                    run(*CC, "-O1", "-g", version, "-gsplit-dwarf", "-c", f"-D{part}", source, "-o", self.path(part + ".o"))
                program = self.path("program")
                run(*CC, self.path("MAIN.o"), self.path("LIBRARY.o"), "-o", program)
                run(packer, "-e", program, "-o", program + ".dwp")
                for name in os.listdir(self.dir):
                    if name.endswith(".dwo"):
                        os.unlink(self.path(name))
                self.check(program)
                os.unlink(program + ".dwp")

    def test_counters_in_a_library(self):
        for model, expected in (("initial-exec", "found"), ("global-dynamic", "dynamic-tls")):
            with self.subTest(model):
                run(*CC, "-g", "-DLIBRARY", "-shared", "-fPIC", f"-ftls-model={model}", os.path.join(SOURCES, "described.c"), "-o", self.path("libd.so"))
                with RunningProgram(self.build("described.c", "-DMAIN", f"-L{self.dir}", "-ld", f"-Wl,-rpath,{self.dir}")) as running:
                    answer = find_counters(running.process.pid)[0]
                self.assertEqual(answer[0], expected)
                if expected == "found":
                    self.assertEqual(answer[1:3], running.own)


class StrippedPrograms(FinderCase):
    """Before jemalloc 5.3, only the code and the first word of its variable identify it."""

    def find_in_stripped(self, *options, without=(), compiler=CC):
        program = self.build("stripped.c", "-O2", *options, compiler=compiler)
        run("strip", *(word for section in without for word in ("-R", section)), program)
        with RunningProgram(program) as running:
            return find_counters(running.process.pid)[0], running.own

    def test_code_and_state(self):
        for options in ([], ["-no-pie"], ["-static"], ["-static-pie"]):
            with self.subTest(options):
                answer, own = self.find_in_stripped("-DSTATE=6", *options)
                self.assertEqual(answer, ["found", *own, "0"])

    def test_another_c_library(self):
        if not shutil.which("musl-gcc"):
            self.skipTest("needs musl-gcc")
        for options in ([], ["-static"], ["-static-pie"]):
            with self.subTest(options):
                answer, own = self.find_in_stripped("-DSTATE=6", *options, compiler=["musl-gcc"])
                self.assertEqual(answer, ["found", *own, "0"])

    def test_pair_of_counters_of_another_allocator(self):
        self.assertEqual(self.find_in_stripped("-DSTATE=7")[0], ["jemalloc-not-found", "0", "0", "0"])

    def test_no_sorted_table_of_functions(self):
        answer, own = self.find_in_stripped("-DSTATE=6", "-Wl,--no-eh-frame-hdr")
        self.assertEqual(answer, ["found", *own, "0"])

    def test_no_table_of_functions(self):
        answer, _ = self.find_in_stripped("-DSTATE=6", "-Wl,--no-eh-frame-hdr", without=[".eh_frame"])
        self.assertEqual(answer, ["dwarf-parse-failure", "0", "0", "0"])


class UnreadableProcesses(unittest.TestCase):
    def test_processes_without_program(self):
        exited = subprocess.Popen(["true"])
        exited.wait()
        zombie = subprocess.Popen(["true"])
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        self.assertEqual([answer[0] for answer in find_counters(exited.pid, zombie.pid, 2)], ["pid-missing", "readlink-failure", "readlink-failure"])
        zombie.wait()

    def test_denied_processes(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            program_copy = shutil.copy(PRINT_COUNTERS, directory)
            command = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", program_copy, str(os.getpid())]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.assertEqual(out, "maps-read-failure 0 0 13\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
