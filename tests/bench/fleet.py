"""Reading the files of a fleet, as an index does, compared with zstd on the same bytes; then twice as many files."""

import os
import subprocess

from measure import alternate, mib, ms, ratio, run, show

HOSTS = 500


def bench(tools, repeat, room):
    seed = os.path.join(room, "seed.ctprof.zst")
    run([tools.ctprof, "record", "-q", "--no-sync", "-d", "2s", "-o", seed])
    directory = os.path.join(room, "fleet")
    run([tools.make_fleet, seed, "--hosts", str(2 * HOSTS), "--threads", "500:5000", "-o", directory])
    every = [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
    for files in (every[:HOSTS], every):
        paths = "".join(f"{path}\0" for path in files).encode()

        def unpacked():
            done = run(["zstd", "-q", "-dc", *files], keep_output=False)
            return {"ns": done.wall_ns, "cpu": done.cpu_ns, "peak": done.peak_bytes}

        def read():
            done = run([tools.ctprof, "fleet", "read"], keep_output=False, given=paths)
            return {"ns": done.wall_ns, "cpu": done.cpu_ns, "peak": done.peak_bytes}

        figures = alternate(repeat, {"zstd -dc": unpacked, "fleet read": read})
        floor = figures["zstd -dc"]["ns"]
        show(f"{len(files)} hosts of 500 to 5,000 threads, {repeat} rounds", [
            ("", "median", "minimum", "CPU time", "ratio", "target", "peak memory"),
            *((name, ms(one["ns"]), ms(one["ns min"]), ms(one["cpu"]), f"{ratio(one['ns'], floor)} of zstd -dc", "at most 3", mib(one["peak"]))
              for name, one in figures.items())])
    subprocess.run(["rm", "-r", directory], check=True)
