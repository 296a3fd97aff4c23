"""Compares stacks of Debian's programs, walked by the unwinder and by libdwfl.

    stacks_programs.py BUILD [NAME...]
    CTPROF_STACKS_WITHOUT_CFI='libc.so.6 bash ...' stacks_programs.py BUILD [NAME...]

Each program runs in a temporary directory under load; servers get their requests from this script.
All threads are stopped repeatedly, at any instruction, until there are 1,000 stacks
(CTPROF_STACKS). The script prints a table row per program (core/stacks/README.md). It exits with
status 1 if a stack without guessed frames differs between the two walks, as far as it goes.
With CTPROF_STACKS_WITHOUT_CFI the unwinder does not see the call frame information of files with
these names, and the last two columns show how many of the frames that it guesses are right; fewer
than 99 % are a failure.
Programs that are not installed are reported and skipped. Needs root, to stop servers that it did
not fork.
"""

import contextlib
import glob
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

STACKS = int(os.environ.get("CTPROF_STACKS", "1000"))
HIDES_CFI = "CTPROF_STACKS_WITHOUT_CFI" in os.environ
MIN_RIGHT_GUESSES = 0.99
NOBODY = 65534
PATH = os.environ["PATH"] + ":/usr/sbin:" + ":".join(glob.glob("/usr/lib/postgresql/*/bin"))
LINE = re.compile(r"(?P<stacks>\d+) stacks, (?P<frames>\d+) frames, (?P<roots>\d+) to the root, (?P<guessed>\d+) guessed, (?P<unequal>\d+) unequal, "
                  r"(?P<right>\d+) of (?P<checked>\d+) guessed frames right")

RUST = """
use std::collections::BTreeMap;
fn work(map: &mut BTreeMap<u64, String>, seed: u64) {
    for i in 0..1000 { map.insert((i * seed) % 997, format!("{}", i)); }
    map.retain(|k, v| k % 3 == 0 || v.len() > 1);
}
fn main() {
    let busy: Vec<_> = (1..3).map(|n| std::thread::spawn(move || { let mut m = BTreeMap::new(); loop { work(&mut m, n); } })).collect();
    for thread in busy { thread.join().unwrap(); }
}
"""
C = "#include <stdlib.h>\n#include <string.h>\nstatic int by(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }\n" \
    "int main(void) { int v[999]; for (;;) { for (int i = 0; i < 999; ++i) v[i] = rand(); qsort(v, 999, sizeof *v, by); free(malloc(v[9] % 9999)); } }"
GO = """
package main
import ("sort"; "time")
func work(n int) int { v := make([]int, n); for i := range v { v[i] = (i * 7919) % n }; sort.Ints(v); return v[n/2] }
func main() { go func() { for { work(1000) } }(); for { work(10); time.Sleep(time.Millisecond) } }
"""
JAVA = """
public class Work {
  static long step(long x) { return Long.toString(x * 31).hashCode(); }
  public static void main(String[] args) { for (long x = 1;; x = step(x)); }
}
"""
NODE = "let x = 1; for (;;) x = JSON.parse(JSON.stringify([x, 'text'])).length + [3, 2, x].sort()[0];"


class MissingProgram(Exception):
    """A program is not installed."""


def find_program(name):
    path = shutil.which(name, path=PATH)
    if not path:
        raise MissingProgram(name)
    return path


def build(directory, source, text, *command):
    find_program(command[0])
    with open(os.path.join(directory, source), "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def children(pid):
    return [int(child) for child in open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()]


def wait_until(ready):
    deadline = time.monotonic() + 60
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError("the program does not start")
        time.sleep(0.05)


@contextlib.contextmanager
def run_program(directory, *command, end=signal.SIGTERM, **options):
    process = subprocess.Popen(command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        time.sleep(0.5)
        yield process.pid
    finally:
        process.send_signal(end)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def repeat(step):
    """Calls `step` repeatedly in a thread."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                step()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def simple_program(*command):
    @contextlib.contextmanager
    def program(directory):
        with run_program(directory, find_program(command[0]), *command[1:]) as pid:
            yield [pid]
    return program


@contextlib.contextmanager
def redis(directory):
    path = os.path.join(directory, "socket")
    server = shutil.which("redis-server") or find_program("redis-check-rdb")  # one program, whose name selects its function
    words = ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--io-threads", "2"]

    def send_requests():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            for i in range(100):
                client.sendall(b"ZADD z %d m%d\r\nZRANGE z 0 -1\r\n" % (i * 7919 % 1000, i) * 20)
                client.recv(1 << 20)

    with run_program(directory, *words, executable=server) as pid:
        wait_until(lambda: os.path.exists(path))
        with repeat(send_requests):
            yield [pid]


@contextlib.contextmanager
def nginx(directory):
    path = os.path.join(directory, "socket")
    with open(os.path.join(directory, "conf"), "w", encoding="utf-8") as file:
        file.write(f"daemon off; worker_processes 2; error_log {directory}/errors; pid {directory}/pid; events {{}}\n"
                   f"http {{ access_log off; gzip on; gzip_types *; gzip_min_length 1; root {directory};\n" +
                   "".join(f"{kind}_temp_path {directory}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")) +
                   f"server {{ listen unix:{path}; }} }}\n")
    with open(os.path.join(directory, "page"), "w", encoding="utf-8") as file:
        file.write("a page that is packed again and again\n" * 10000)

    def send_requests():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b"GET /page HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
            while client.recv(1 << 20):
                pass

    with run_program(directory, find_program("nginx"), "-p", directory, "-c", os.path.join(directory, "conf")) as pid:
        wait_until(lambda: os.path.exists(path))
        with repeat(send_requests):
            yield [pid, *children(pid)]


@contextlib.contextmanager
def postgres(directory, jit="off"):
    os.chown(directory, NOBODY, NOBODY)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    data = os.path.join(directory, "data")
    subprocess.run([find_program("initdb"), "-D", data, "-A", "trust", "-U", "someone", "-N"],
                   check=True, cwd=directory, stdout=subprocess.DEVNULL, **as_nobody)
    with run_program(directory, find_program("postgres"), "-D", data, "-k", directory, "-h", "", "-c", f"jit={jit}", end=signal.SIGINT, **as_nobody) as pid:
        wait_until(lambda: glob.glob(directory + "/.s.PGSQL.*"))
        time.sleep(1)
        psql = [find_program("psql"), "-h", directory, "-U", "someone", "postgres", "-qAtc"]
        query = "SELECT count(*), sum(length(md5(i::text))) FROM generate_series(1, 100000000) i GROUP BY i % 10 ORDER BY 1"
        with run_program(directory, *psql, query), run_program(directory, *psql, "SELECT pg_sleep(1000)"):
            yield [pid, *children(pid)]


@contextlib.contextmanager
def git(directory):
    top = os.path.join(directory, "repository")
    run = lambda *words: subprocess.run([find_program("git"), "-c", "user.name=x", "-c", "user.email=x", *words],
                                        cwd=top, check=True, stdout=subprocess.DEVNULL)
    os.mkdir(top)
    run("init", "-q")
    for round_ in range(40):
        for name in range(20):
            with open(os.path.join(top, str(name)), "w", encoding="utf-8") as file:
                file.writelines(f"{round_ * line % 977} {name}\n" for line in range(4000))
        run("add", ".")
        run("commit", "-qm", str(round_))
    repack = (find_program("git"), "repack", "-adfq", "--window=800", "--depth=50", "--threads=2")
    with run_program(top, *repack) as pid, run_program(top, "git", "cat-file", "--batch") as idle:
        yield [*children(pid), idle]


@contextlib.contextmanager
def rust(directory):
    build(directory, "work.rs", RUST, "rustc", "-O", "-Cstrip=symbols", "work.rs")
    with run_program(directory, "./work") as pid:
        yield [pid]


@contextlib.contextmanager
def musl(directory):
    build(directory, "work.c", C, "musl-gcc", "-O2", "-static", "work.c", "-o", "work")
    with run_program(directory, "./work") as pid:
        yield [pid]


@contextlib.contextmanager
def compiler(directory):
    """Compiles a long file."""
    with open(os.path.join(directory, "long.cc"), "w", encoding="utf-8") as file:
        file.write("#include <map>\n#include <string>\n" + "".join(
            f"int f{i}(std::map<std::string, int>& m) {{ return m[std::to_string({i})] += m.size(); }}\n" for i in range(8000)))
    command = (find_program("g++"), "-O2", "-S", "-o", "/dev/null", "long.cc")
    with run_program(directory, *command) as pid:
        wait_until(lambda: children(pid))
        yield children(pid)


@contextlib.contextmanager
def go(directory):
    build(directory, "work.go", GO, "go", "build", "-o", "work", "work.go")
    with run_program(directory, "./work") as pid:
        yield [pid]


@contextlib.contextmanager
def java(directory):
    build(directory, "Work.java", JAVA, "javac", "Work.java")
    with run_program(directory, find_program("java"), "-cp", directory, "Work") as pid:
        yield [pid]


PYTHON = "import json, re\nwhile True: re.sub('a|b', 'c', json.dumps(list(range(99))))"
SQLITE = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(length(printf('%f', x))) FROM c"
BASH = "f() { local i; for i in {1..99}; do : ${i/1/2}; done; }; g() { f; }; while :; do g; : $(f); done"
AWK = "BEGIN { while (1) { split(\"c b a d e f\", v); s = s v[1 + i++ % 6]; gsub(/[abc]+/, \"x\", s); if (length(s) > 99) s = \"\" } }"
PERL = "while (1) { my @a = sort { $a <=> $b } map { rand } 1..99 }"

PROGRAMS = {
    "redis-server, with clients": redis,
    "nginx, packing pages": nginx,
    "postgresql, a query and a sleeper": postgres,
    "postgresql, a query that LLVM compiles": lambda directory: postgres(directory, "on"),
    "python3, waiting": simple_program("/usr/bin/python3", "-c", "input()"),
    "python3, running": simple_program("/usr/bin/python3", "-c", PYTHON),
    "sqlite3, waiting": simple_program("sqlite3"),
    "sqlite3, running": simple_program("sqlite3", ":memory:", SQLITE),
    "perl, running": simple_program("perl", "-e", PERL),
    "git, repacking and waiting": git,
    "bash, running": simple_program("bash", "-c", BASH),
    "dash, running": simple_program("dash", "-c", "f() { eval 'i=$((i + 1))'; }; while :; do f; done"),
    "awk, running": simple_program("awk", AWK),
    "xz, packing": simple_program("sh", "-c", "exec xz -9e -c </dev/urandom"),
    "zstd, packing": simple_program("sh", "-c", "exec zstd -15 -T2 -c </dev/urandom"),
    "gcc, compiling": compiler,
    "C, musl, static": musl,
    "openssl, hashing": simple_program("openssl", "speed", "-seconds", "100", "sha256"),
    "openssl, signing": simple_program("openssl", "speed", "-seconds", "100", "rsa2048"),
    "C++: exceptions, callbacks, signals": None,
    "Rust, stripped": rust,
    "Go": go,
    "Java": java,
    "Node": simple_program("node", "-e", NODE),
}

# Go's signal trampoline has wrong call frame information; libdwfl recognizes it by its code.
WITH_WRONG_CFI = ("Go",)


def measure(test, pids):
    """Returns the sums for processes, repeated until there are enough stacks. Threads and processes may exit meanwhile."""
    sums = dict.fromkeys(LINE.groupindex, 0)
    while sums["stacks"] < STACKS:
        threads = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids)
        rounds = min(200, (STACKS - sums["stacks"]) // threads + 1)
        environment = os.environ | {"CTPROF_STACKS_IN": " ".join(map(str, pids)), "TEST_ROUNDS": str(rounds)}
        output = subprocess.run([test, "-t", "stacks_live_test/specified_processes_have_equal_stacks", "-l", "message"], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False).stdout
        lines = list(LINE.finditer(output))
        if not lines:
            raise RuntimeError(output)
        if any(int(line["unequal"]) for line in lines):
            print(output, file=sys.stderr)
        for line in lines:
            for name in sums:
                sums[name] += int(line[name])
    return sums


def main(build_directory, *wanted):
    test = os.path.join(build_directory, "tests/unit/unit-live")
    PROGRAMS["C++: exceptions, callbacks, signals"] = simple_program(os.path.abspath(os.path.join(build_directory, "tests/unit/stacks_target")))
    differing = 0
    print("| program | stacks | frames | to the root | with guesses | differing | right guesses | guessed frames |\n|---|---|---|---|---|---|---|---|")
    for name, program in PROGRAMS.items():
        if wanted and name not in wanted and name.split(",")[0] not in wanted:
            continue
        try:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory, program(directory) as pids:
                sums = measure(test, pids)
        except MissingProgram as missing:
            print(f"skipped: {name}: {missing} is not installed", file=sys.stderr)
            continue
        print("|", name, "|", " | ".join(f"{number:,}" for number in sums.values()), "|", flush=True)
        differing += 0 if name in WITH_WRONG_CFI else sums["unequal"]
        differing += HIDES_CFI and sums["right"] < MIN_RIGHT_GUESSES * sums["checked"]
    return differing != 0


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)
    sys.exit(main(*sys.argv[1:]))
