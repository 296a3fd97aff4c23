"""Records captures around the programs of load.py, for recorded.tar.xz of the short test and for the soak test.

    recordings.py DIRECTORY      as root, on a kernel with BPF: records the captures of the short test, and packs them
"""

import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import product

sys.path.append(str(pathlib.Path(__file__).parents[1] / "parity"))
import cgroups_test  # noqa: E402

LOAD = pathlib.Path(__file__).with_name("load.py")
ARCHIVE = pathlib.Path(__file__).with_name("recorded.tar.xz")
WITHOUT_BPF = "procfs-sched,taskstats,cgroup,psi,host"
# Process names that recorded files keep, in addition to kernel threads.
NAMES = {"pool", "pool_worker", "exec_thread", "hog", "tuned", "churn", "true", "sh", "sleep", "ctprof"}


class LoadProgram:
    """One program of load.py; it is killed with its children at the end of the block."""

    def __init__(self, directory, kind, cgroup=None):
        self.ready = os.path.join(directory, f"{kind}.{time.monotonic_ns()}")
        join_cgroup = (lambda: cgroups_test.join(cgroup)) if cgroup else None
        self.process = subprocess.Popen([sys.executable, str(LOAD), kind, self.ready], start_new_session=True, preexec_fn=join_cgroup)
        self.wait_for(self.ready)

    def wait_for(self, path):
        while not os.path.exists(path):
            assert self.process.poll() is None, f"{path}: the program exited"
            time.sleep(0.01)

    def trigger(self):
        self.process.send_signal(signal.SIGUSR1)
        self.wait_for(self.ready + ".done")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def start_programs(directory, *kinds):
    """Starts programs, each in its own cgroup if cgroups can be created."""
    with contextlib.ExitStack() as started:
        top = started.enter_context(cgroups_test.cgroup()) if cgroups_test.may_make_cgroups() else None
        directories = [os.path.join(top, f"job-{number}.service".encode()) for number in range(len(kinds))] if top else [None] * len(kinds)
        for cgroup_of_kind in filter(None, directories):
            os.mkdir(cgroup_of_kind)
        yield [started.enter_context(LoadProgram(directory, kind, cgroup_of_kind)) for kind, cgroup_of_kind in zip(kinds, directories)]


def record(path, *words):
    product.run("record", "-q", "-o", path, *words)


def capture(path, *words):
    product.run("capture", "-q", "--layout", "columns", "-o", path, *words)


@contextlib.contextmanager
def recording(path, *words):
    """Records a window while the block runs."""
    process = subprocess.Popen([product.CTPROF, "record", "-v", "-o", path, *words], env=product.ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    try:
        yield
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    finally:
        process.kill()


def record_around(directory, make_window, *kinds):
    """Starts each program before the window and triggers its action inside the window."""
    with start_programs(directory, *kinds, "churn") as started, make_window:
        for part in started[:-1]:
            part.trigger()


@contextlib.contextmanager
def pair(before, after, *words):
    capture(before, *words)
    yield
    capture(after, *words)


def make_all(directory):
    """Records all captures of the short test. Returns a map name -> path."""
    path_of = lambda name: os.path.join(directory, name)
    with tempfile.TemporaryDirectory(prefix="load-") as ready:
        record_around(ready, recording(path_of("window.ctprof.zst")), "pool", "exec", "tune")
        record_around(ready, recording(path_of("full.ctprof.zst"), "--level", "full"), "pool", "exec", "tune")
        record_around(ready, recording(path_of("without-bpf.ctprof.zst"), "--plugins", WITHOUT_BPF), "pool", "exec", "tune")
        record_around(ready, pair(path_of("before.ctprof.zst"), path_of("after.ctprof.zst"), "--level", "full"), "pool", "exec", "tune")
        with start_programs(ready, "hog", "churn"):
            capture(path_of("hog.ctprof.zst"), "--level", "fast")
            record(path_of("runs"), "--repeat", "6", "-d", "300ms")
            record(path_of("archive"), "--every", "1s", "-d", "4s")
            record(path_of("stacks.ctprof.zst"), "-d", "500ms", "--recorders", "on-cpu,off-cpu,sleepers", "--freq", "49")


# ---- the packed format -----------------------------------------------------------------------------------------------------------

def remove_host_details(lines):
    """Removes the kernel command line, the host name, and the names of other programs."""
    kept = set(NAMES)
    for line in lines:
        columns = line.get("columns", {})
        kept |= {name for name, is_kernel in zip(columns.get("comm", ()), columns.get("kernel_thread", ())) if is_kernel}
    for line in lines:
        line.get("host", {}).pop("kernel_cmdline", None)
        if line["kind"] == "header":
            line["ctprof"]["hostname"] = "recorded"
        for column in ("pcomm", "comm", "process.pcomm"):
            if column in line.get("columns", {}):
                line["columns"][column] = [name if name in kept else "other" for name in line["columns"][column]]
        if line["kind"] == "stacks" and line["part"] == "strings":
            line["text"] = [text if "/" not in text else "/" + text.rpartition("/")[2] for text in line["text"]]
    return lines


def blocks_of(lines):
    found = []
    for line in lines:
        if line["kind"] == "header":
            found.append([])
        found[-1].append(line)
    return found


def pack(directory, into=ARCHIVE):
    with tarfile.open(into, "w:xz", preset=9) as archive:
        for path in sorted(pathlib.Path(directory).rglob("*.zst")):
            text = b"".join(product.frames_to_text(remove_host_details(block)) for block in blocks_of(product.read_lines(path)))
            member = tarfile.TarInfo(str(path.relative_to(directory)).replace(".zst", ""))
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def unpack(directory, archive=ARCHIVE):
    with tarfile.open(archive, "r:xz") as members:
        for member in members:
            path = pathlib.Path(directory) / (member.name + ".zst")
            path.parent.mkdir(parents=True, exist_ok=True)
            with members.extractfile(member) as text:
                product.write_frames(text.read(), path)


if __name__ == "__main__":
    make_all(sys.argv[1])
    pack(sys.argv[1])
