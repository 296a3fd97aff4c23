"""Stacks of programs as Debian has them, and of some compilers', walked by the unwinder and by libdwfl: stacks_programs.py BUILD [NAME...].

Each runs in a directory of its own, with work to do; servers get theirs from here. All of its threads are stopped until there are 1,000 stacks
(CTPROF_STACKS), at any instruction. Prints a row of a table for each (core/stacks/README.md), and ends with status 1 if a stack that
has no guess in it is not the same in both, so far as it goes. What is not installed is named and left out. Wants root, to stop servers that it did not fork itself.
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
NOBODY = 65534
PATH = os.environ["PATH"] + ":/usr/sbin:" + ":".join(glob.glob("/usr/lib/postgresql/*/bin"))
LINE = re.compile(r"(?P<stacks>\d+) stacks, (?P<frames>\d+) frames, (?P<roots>\d+) to the root, (?P<guessed>\d+) guessed, (?P<unequal>\d+) unequal")

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


class Missing(Exception):
    """What is not installed."""


def found(name):
    path = shutil.which(name, path=PATH)
    if not path:
        raise Missing(name)
    return path


def build(room, source, text, *command):
    found(command[0])
    with open(os.path.join(room, source), "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(command, cwd=room, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def children(pid):
    return [int(child) for child in open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()]


def until(ready):
    deadline = time.monotonic() + 60
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError("it does not start")
        time.sleep(0.05)


@contextlib.contextmanager
def running(room, *command, end=signal.SIGTERM, **options):
    process = subprocess.Popen(command, cwd=room, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
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
def load(step):
    """Calls it again and again, in a thread."""
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


def plain(*command):
    @contextlib.contextmanager
    def program(room):
        with running(room, found(command[0]), *command[1:]) as pid:
            yield [pid]
    return program


@contextlib.contextmanager
def redis(room):
    path = os.path.join(room, "socket")
    server = shutil.which("redis-server") or found("redis-check-rdb")  # one program, which goes by its name
    words = ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--io-threads", "2"]

    def ask():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            for i in range(100):
                client.sendall(b"ZADD z %d m%d\r\nZRANGE z 0 -1\r\n" % (i * 7919 % 1000, i) * 20)
                client.recv(1 << 20)

    with running(room, *words, executable=server) as pid:
        until(lambda: os.path.exists(path))
        with load(ask):
            yield [pid]


@contextlib.contextmanager
def nginx(room):
    path = os.path.join(room, "socket")
    with open(os.path.join(room, "conf"), "w", encoding="utf-8") as file:
        file.write(f"daemon off; worker_processes 2; error_log {room}/errors; pid {room}/pid; events {{}}\n"
                   f"http {{ access_log off; gzip on; gzip_types *; gzip_min_length 1; root {room};\n" +
                   "".join(f"{kind}_temp_path {room}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")) +
                   f"server {{ listen unix:{path}; }} }}\n")
    with open(os.path.join(room, "page"), "w", encoding="utf-8") as file:
        file.write("a page that is packed again and again\n" * 10000)

    def ask():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b"GET /page HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
            while client.recv(1 << 20):
                pass

    with running(room, found("nginx"), "-p", room, "-c", os.path.join(room, "conf")) as pid:
        until(lambda: os.path.exists(path))
        with load(ask):
            yield [pid, *children(pid)]


@contextlib.contextmanager
def postgres(room, jit="off"):
    os.chown(room, NOBODY, NOBODY)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    data = os.path.join(room, "data")
    subprocess.run([found("initdb"), "-D", data, "-A", "trust", "-U", "someone", "-N"], check=True, cwd=room, stdout=subprocess.DEVNULL, **as_nobody)
    with running(room, found("postgres"), "-D", data, "-k", room, "-h", "", "-c", f"jit={jit}", end=signal.SIGINT, **as_nobody) as pid:
        until(lambda: glob.glob(room + "/.s.PGSQL.*"))
        time.sleep(1)
        psql = [found("psql"), "-h", room, "-U", "someone", "postgres", "-qAtc"]
        query = "SELECT count(*), sum(length(md5(i::text))) FROM generate_series(1, 100000000) i GROUP BY i % 10 ORDER BY 1"
        with running(room, *psql, query), running(room, *psql, "SELECT pg_sleep(1000)"):
            yield [pid, *children(pid)]


@contextlib.contextmanager
def git(room):
    top = os.path.join(room, "repository")
    run = lambda *words: subprocess.run([found("git"), "-c", "user.name=x", "-c", "user.email=x", *words], cwd=top, check=True, stdout=subprocess.DEVNULL)
    os.mkdir(top)
    run("init", "-q")
    for round_ in range(40):
        for name in range(20):
            with open(os.path.join(top, str(name)), "w", encoding="utf-8") as file:
                file.writelines(f"{round_ * line % 977} {name}\n" for line in range(4000))
        run("add", ".")
        run("commit", "-qm", str(round_))
    with running(top, found("git"), "repack", "-adfq", "--window=800", "--depth=50", "--threads=2") as pid, running(top, "git", "cat-file", "--batch") as idle:
        yield [*children(pid), idle]


@contextlib.contextmanager
def rust(room):
    build(room, "work.rs", RUST, "rustc", "-O", "-Cstrip=symbols", "work.rs")
    with running(room, "./work") as pid:
        yield [pid]


@contextlib.contextmanager
def go(room):
    build(room, "work.go", GO, "go", "build", "-o", "work", "work.go")
    with running(room, "./work") as pid:
        yield [pid]


@contextlib.contextmanager
def java(room):
    build(room, "Work.java", JAVA, "javac", "Work.java")
    with running(room, found("java"), "-cp", room, "Work") as pid:
        yield [pid]


PYTHON = "import json, re\nwhile True: re.sub('a|b', 'c', json.dumps(list(range(99))))"
SQLITE = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(length(printf('%f', x))) FROM c"
PERL = "while (1) { my @a = sort { $a <=> $b } map { rand } 1..99 }"

PROGRAMS = {
    "redis-server, with clients": redis,
    "nginx, packing pages": nginx,
    "postgresql, a query and a sleeper": postgres,
    "postgresql, a query that LLVM compiles": lambda room: postgres(room, "on"),
    "python3, waiting": plain("/usr/bin/python3", "-c", "input()"),
    "python3, running": plain("/usr/bin/python3", "-c", PYTHON),
    "sqlite3, waiting": plain("sqlite3"),
    "sqlite3, running": plain("sqlite3", ":memory:", SQLITE),
    "perl, running": plain("perl", "-e", PERL),
    "git, repacking and waiting": git,
    "openssl, hashing": plain("openssl", "speed", "-seconds", "100", "sha256"),
    "openssl, signing": plain("openssl", "speed", "-seconds", "100", "rsa2048"),
    "C++: exceptions, callbacks, signals": None,
    "Rust, stripped": rust,
    "Go": go,
    "Java": java,
    "Node": plain("node", "-e", NODE),
}

# Go's trampoline for signals has call frame information that leads astray; libdwfl knows it by its code.
WRONG_BY_THEMSELVES = ("Go",)


def measured(test, pids):
    """The sums for processes, until there are enough stacks; threads may end meanwhile, with their process."""
    sums = dict.fromkeys(LINE.groupindex, 0)
    while sums["stacks"] < STACKS:
        threads = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids)
        rounds = min(200, (STACKS - sums["stacks"]) // threads + 1)
        environment = os.environ | {"CTPROF_STACKS_IN": " ".join(map(str, pids)), "TEST_ROUNDS": str(rounds)}
        output = subprocess.run([test, "-t", "stacks_live_test/specified_processes_have_equal_stacks", "-l", "message"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", check=False).stdout
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
    PROGRAMS["C++: exceptions, callbacks, signals"] = plain(os.path.abspath(os.path.join(build_directory, "tests/unit/stacks_target")))
    differing = 0
    print("| program | stacks | frames | to the root | with guesses | differing |\n|---|---|---|---|---|---|")
    for name, program in PROGRAMS.items():
        if wanted and name not in wanted and name.split(",")[0] not in wanted:
            continue
        try:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as room, program(room) as pids:
                sums = measured(test, pids)
        except Missing as missing:
            print(f"skipped: {name}: {missing} is not installed", file=sys.stderr)
            continue
        print("|", name, "|", " | ".join(f"{number:,}" for number in sums.values()), "|", flush=True)
        differing += 0 if name in WRONG_BY_THEMSELVES else sums["unequal"]
    return differing != 0


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: wants root")
        sys.exit(77)
    sys.exit(main(*sys.argv[1:]))
