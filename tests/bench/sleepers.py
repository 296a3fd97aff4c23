"""What a pass of the recorder sleepers costs in CPU time, with all threads told whole, and when nobody ran.

The figures are least of many passes: others run on the same CPUs, and what they leave of the caches is in the median."""

from crowd import crowd
from measure import ratio, run, show

CROWD = 480  # beside what a host has: some 549 in all
AT_HZ = 9


def ms(ns):
    return f"{ns / 1e6:.2f} ms"


def measured(tools, repeat, passes):
    """Of several runs the one that was cheapest."""
    runs = [run([tools.sleepers_passes, str(passes)]).json() for _ in range(repeat)]
    return {part: {figure: min(one[part][figure] for one in runs) for figure in runs[0][part]} for part in runs[0]}


def table(figures, target_whole, target_again):
    def row(name, part, figure, target=""):
        ns, threads = figures[part][figure], figures[part]["threads"]
        return (name, f"{threads:,}", ms(ns), f"{ns / threads / 1e3:.2f} us", f"{ns * AT_HZ / 1e7:.2f} %", target)

    return [
        ("", "threads", "least", "a thread", f"of a CPU at {AT_HZ} Hz", "target"),
        row("both parts, all told whole", "both", "whole_ns", target_whole),
        row("looking alone", "both", "whole_look_ns"),
        row("kernel's part alone", "kernel", "whole_ns", "below 1.27 ms of 546"),
        row("nobody ran", "kernel", "again_ns", target_again),
        row("nobody ran, looking alone", "kernel", "again_look_ns"),
    ]


def bench(tools, repeat, counts):
    """Measures with a crowd of 480 threads, and of each of `counts`. Needs root."""
    with crowd(tools.idle, "threads", CROWD):
        figures = measured(tools, repeat, 300)
    show("sleepers: a pass over a small host", table(figures, "1.5 ms of 549", "0.15 ms of 549"))
    for count in counts:
        with crowd(tools.idle, "threads", count):
            figures = measured(tools, repeat, 20)
        both = figures["both"]["again_ns"], figures["kernel"]["again_ns"]
        show(f"sleepers: a pass over {count:,} idle threads", table(figures, "", "10 % of a CPU at 10,000"))
        print(f"  nobody ran, beside the kernel's part alone: {ratio(*both)}")
