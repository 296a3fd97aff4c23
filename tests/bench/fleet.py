"""Reading the files of a fleet, as an index does, compared with zstd on the same bytes; then twice as many files."""

import os
import subprocess

from measure import alternate, mib, ms, ratio, run, show

HOSTS = 500


def bench(tools, repeat, directory):
    seed = os.path.join(directory, "seed.ctprof.zst")
    run([tools.ctprof, "record", "-q", "--no-sync", "-d", "2s", "-o", seed])
    fleet_directory = os.path.join(directory, "fleet")
    run([tools.make_fleet, seed, "--hosts", str(2 * HOSTS), "--threads", "500:5000", "-o", fleet_directory])
    all_files = [os.path.join(fleet_directory, name) for name in sorted(os.listdir(fleet_directory))]
    for files in (all_files[:HOSTS], all_files):
        paths = "".join(f"{path}\0" for path in files).encode()

        def unpack():
            finished = run(["zstd", "-q", "-dc", *files], keep_output=False)
            return {"ns": finished.wall_ns, "cpu": finished.cpu_ns, "peak": finished.peak_bytes}

        def read_fleet():
            finished = run([tools.ctprof, "fleet", "read"], keep_output=False, input_bytes=paths)
            return {"ns": finished.wall_ns, "cpu": finished.cpu_ns, "peak": finished.peak_bytes}

        results = alternate(repeat, {"zstd -dc": unpack, "fleet read": read_fleet})
        floor = results["zstd -dc"]["ns"]
        show(f"{len(files)} hosts of 500 to 5,000 threads, {repeat} rounds", [
            ("", "median", "minimum", "CPU time", "ratio", "target", "peak memory"),
            *((name, ms(result["ns"]), ms(result["ns min"]), ms(result["cpu"]), f"{ratio(result['ns'], floor)} of zstd -dc", "at most 3", mib(result["peak"]))
              for name, result in results.items())])
    subprocess.run(["rm", "-r", fleet_directory], check=True)
