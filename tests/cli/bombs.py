#!/usr/bin/python3
"""Writes a small file that causes much work or output: bombs.py KIND FILE.

The kinds are the functions below that take a side or no argument. They return a text, or lines of a columns file.
"""

import json
import subprocess
import sys

WIDE = 4080  # metrics, close to the limit of a file
ROWS = 1_000_000
SECOND = 10**9


def metric(name, **more):
    made = {"name": name, "entity": "thread", "storage": "u64", "newtype": "MonotonicCount", "rule": "SumCount", "unit": "count"}
    return made | {"family": "cumulative", "section": "primary", "file_path": "threads[]." + name} | more


def identity():
    key = {"rule": "Key", "family": "identity"}
    numbers = [metric(name, newtype="IdU32", unit="none", **key) for name in ("tid", "tgid")]
    texts = [metric(name, storage="string", newtype="IdText", unit="text", **key) for name in ("comm", "pcomm", "cgroup")]
    return numbers + texts


def letters(number):
    """Returns a name without a digit, so that it has a separate pattern."""
    return "".join(chr(ord("g") + int(digit)) for digit in str(number))


def threads(count, **more):
    return ",".join(json.dumps({"tid": i, "tgid": 1, "pcomm": letters(i)} | more) for i in range(1, count + 1))


def document(rows, sections="", metrics=(), derived=(), placeholders=()):
    registry = {"metrics": identity() + list(metrics), "derived": list(derived), "placeholders": list(placeholders)}
    return '{"registry":' + json.dumps(registry) + sections + ',"threads":[' + rows + "]}"


def gaps(names, runs):
    return ',"gaps":{"thread":[{"columns":[' + ",".join(names) + '],"runs":[' + runs + "]}]}"


def same_rows():
    return '{"tid":1,"tgid":1}' + ',{"tid":1,"tgid":1}' * (ROWS - 1)


def empty_runs():
    return document(threads(300), gaps(['"a"'] * 5000, "0,300" + ",1,0" * 5_000_000), [metric("a")])


def names_again():
    return document(same_rows(), gaps(['"a"'] * 400_000, f"1,{ROWS}"), [metric("a")])


def raw_again():
    return document(same_rows(), ',"raw":{"thread":{"comm":[{"hex":"ff","rows":[' + ",".join([f"0,{ROWS}"] * 100_000) + "]}]}}")


def raw_names():
    names = ",".join(['"a":[]'] * 8_000_000)
    return document(threads(10), ',"raw":{"thread":{' + names + "}}", [metric(f"m{i}") for i in range(WIDE)])


def spellings():
    return document(threads(10), metrics=[metric("a", file_aliases=",".join(f"z{i}" for i in range(100_000)))])


def placeholders():
    return document(threads(10), placeholders=[f"threads[].p{i}" for i in range(40_000)])


def derived():
    inputs = "+".join(f"a{i}" for i in range(800))[:4000].rpartition("+")[0]
    made = {"entity": "thread", "expression": inputs, "unit": "count", "family": "cumulative", "section": "primary"}
    return document(threads(700, a=1), metrics=[metric(f"b{i}") for i in range(4000)],
                    derived=[made | {"name": f"d{i}"} for i in range(4000)])


def costly():
    expression = "+".join(["a"] * 2000)
    made = {"entity": "thread", "expression": expression, "unit": "count", "family": "cumulative", "section": "primary"}
    return document(threads(7000, a=1), metrics=[metric("a")], derived=[made | {"name": f"d{i}"} for i in range(1000)])


def long_name():
    names = [f"m{i}" for i in range(WIDE)]
    row = json.dumps({"tid": 1, "tgid": 1, "pcomm": "x" * 1_000_000} | dict.fromkeys(names, 1))
    return document(row, metrics=[metric(name) for name in names])


def wide():
    """As many groups as metrics; only the first group has values."""
    row = json.dumps({"tid": 1, "tgid": 1, "pcomm": letters(9999)} | dict.fromkeys((f"m{i}" for i in range(WIDE)), 1))
    return document(row + "," + threads(4090), metrics=[metric(f"m{i}") for i in range(WIDE)])


def separators():
    """Names that are split into as many parts as they have bytes."""
    return '{"threads":[' + ",".join(json.dumps({"tid": i, "tgid": 1, "pcomm": "-a1" * (4000 - i)}) for i in range(1, 3000)) + "]}"


def host(side):
    leaves = ",".join(f'"{i}":{side}' for i in range(3000))
    key = '{"' + "k" * 60_000 + '":'
    return '{"host":' + key * 28 + "{" + leaves + "}" + "}" * 28 + ',"threads":[{"tid":1,"tgid":1,"pcomm":"x"}]}'


def alike(side):
    """Many cgroups that are nearly the same on both sides."""

    def row(i):
        comm = letters(i % 10) if i % 10 < 9 else f"u{side}{letters(i)}"
        return f'{{"tid":{i + 1},"tgid":1,"cgroup":"/{side}{letters(i // 20)}","comm":"q{comm}{letters(i // 20) if i % 20 else side}","pcomm":"x"}}'

    return '{"threads":[' + ",".join(row(i) for i in range(200_000)) + "]}"


# ---- in columns ----


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def header(tables, metrics=(), derived=()):
    registry = {"metrics": identity() + list(metrics), "derived": list(derived), "placeholders": []}
    return compact({"kind": "header", "format": 2, "ctprof": {}, "registry": registry, "tables": tables})


def table(rows, columns, more=""):
    return '{"kind":"table","entity":"thread","first_row":0,"columns":' + columns + more + "}"


def lines(*begins):
    """A complete block with a valid end."""
    made = [line + "\n" for line in (*begins, '{"kind":"summary","ctprof":{}}')]
    return made + [compact({"kind": "end", "lines": len(made) + 1, "bytes": sum(map(len, made))}) + "\n"]


def column(value, count=ROWS):
    return "[" + ",".join([value] * count) + "]"


def ids():
    return '"tid":' + column("1") + ',"tgid":' + column("1")


def blank_line():
    return [header({"thread": [1]}) + " " * (60 << 20), *lines(" " * (60 << 20))]


def rows_without_columns():
    return lines(header({"thread": [4_000_000]}, [metric(f"m{i}") for i in range(WIDE)]), table(4_000_000, "{}"))


def rows_of_blanks():
    return lines(header({"thread": [4_000_000]}, [metric("a")]), table(4_000_000, "{}" + " " * (10 << 20)))


def unknown_columns():
    cells = column("1")
    return lines(header({"thread": [ROWS]}), table(ROWS, "{" + ids() + "".join(f',"x{i}":{cells}' for i in range(8)) + "}"))


def column_names_again():
    pattern = '{"columns":[' + ",".join(['"a"'] * 4000) + f'],"runs":[1,{ROWS}]}}'
    return lines(header({"thread": [ROWS]}, [metric("a")]), table(ROWS, "{" + ids() + "}", ',"gaps":[' + ",".join([pattern] * 500) + "]"))


def column_runs():
    """Runs of zero rows, for the maximum number of columns."""
    names = [f"m{i}" for i in range(WIDE)]
    pattern = '{"columns":' + json.dumps(names) + ',"runs":[' + ",".join(["1,0"] * 5_000_000) + "]}"
    return lines(header({"thread": [1]}, map(metric, names)), table(1, '{"tid":[1],"tgid":[1]}', ',"gaps":[' + pattern + "]"))


def column_raw():
    raw = ',"raw":{"comm":[' + ",".join(['[0,"ff"]'] * 4_000_000) + "]}"
    return lines(header({"thread": [1]}), table(1, '{"tid":[1],"tgid":[1]}', raw))


def column_wide():
    """Definitions for the maximum number of columns, and rows without any of them."""
    names = [f"m{i}" for i in range(WIDE)]
    return lines(header({"thread": [20_000]}, map(metric, names)), table(20_000, '{"tid":' + column("1", 20_000) + ',"tgid":' + column("1", 20_000) + "}"))


def column_header():
    return lines(header({"thread": [1]}).replace('"placeholders"', '"newer":' + column("1", 30_000_000) + ',"placeholders"'))


def column_plan():
    return lines(header({"thread": [1] * 4_000_000}))


def moment(seconds):
    return {"wall_unix_ns": 1790000000 * SECOND + seconds * SECOND, "monotonic_ns": seconds * SECOND, "boottime_ns": seconds * SECOND}


def notes():
    """Consecutive windows, each with many notes of its own."""
    made = []
    for begin in range(1, 101):
        words = ",".join(f'"{begin}.{i}"' for i in range(4000))
        about = {"boot_id": "b", "hostname": "made", "start": moment(begin + 1)}
        opened = compact({"kind": "window", "opened": moment(begin), "living": 1, "bases": []})[:-1]
        made += lines(header({"thread": [1]}).replace('"ctprof":{}', f'"ctprof":{compact(about)},"window":true,"exited":[]'),
                      opened + ',"notes":[' + words + "]}", table(1, '{"tid":[1],"tgid":[1]}'))
    return made


def leaders(second):
    """A snapshot, `second` seconds after boot, of processes that have none of the counters that it defines."""
    about = {"boot_id": "b", "hostname": "made", "start": moment(int(second))}
    rows, numbers = 6000, ",".join(map(str, range(2, 6002)))
    counters = [metric(f"m{i}", newtype="MonotonicCount", rule="SumCount") for i in range(3000)]
    return lines(header({"thread": [rows]}, counters).replace('"ctprof":{}', f'"ctprof":{compact(about)}'),
                 table(rows, f'{{"tid":[{numbers}],"tgid":[{numbers}]}}'))


def blocks():
    """Thousands of captures. ctprof reads only the first one."""
    return lines(header({"thread": [1]}), table(1, '{"tid":[1],"tgid":[1]}')) * 20_000


def zstd(text):
    return subprocess.run(["zstd", "-q", f"--stream-size={len(text)}"], input=text.encode(), capture_output=True, check=True).stdout


def main():
    kind, *side, path = sys.argv[1:]
    made = globals()[kind](*side)
    frames = {line: zstd(line) for line in set(made)} if isinstance(made, list) else {made: zstd(made)}
    with open(path, "wb") as file:
        file.writelines(frames[line] for line in (made if isinstance(made, list) else [made]))


if __name__ == "__main__":
    main()
