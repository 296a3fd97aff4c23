"""The table metric x kernel: whether it has values, or which gap and why. Printed with values, and made into the page kernels.md.

What is here:   how the table is written.
What is not:    what is in a cell (checks_values.py).
"""

import expected
from checks_values import GROWING

ENTITIES = {"thread": "Threads", "process": "Processes", "cgroup": "Cgroups", "host": "The host"}

HEAD = """# Metrics by kernel

What each kernel can tell, as the suite in virtual machines saw it: two captures by the real tool around a workload that drives every family
(`guest/*.c`). Made by `tests/vm/run.py --all-kernels --page`; do not edit.

| kernel | package | taskstats | delay accounting, schedstats |
|---|---|---|---|
"""

LEGEND = """
**moved**: it counts up, and did between the captures. **seen**: it does not count up, and had values other than zero or nothing. **zero**: values,
all of them zero. Otherwise the gap of every cell, and why. sched_ext was seen with schedulers of the suite's own.
"""

FOUND = """
## Found on the way

- Reclaim: Debian's kernels from 6.12 on have the multi-generational LRU switched on. The suite switches it off, so that all
  kernels reclaim alike.
- `slice_max` is told only of threads whose queue, seen from the root, holds twice their weight: in the suite's cgroups it stayed 0.
- Wake-ups with a sleep of 2 ms around them are told as sync, local and remote as pushed; without, most partners have not fallen asleep
  yet, and nothing is counted.
- 5.10 has the balancer's idea of a warm cache in `kernel.sched_migration_cost_ns`, later ones in debugfs. With -1, refusals (`hot`, `running`) and
  moves by force are counted on all of them.
- Direct compaction and thrashing can be provoked on every kernel that counts them: free memory in single pages, then 2 MiB pages; two halves of a file of
  which a cgroup holds one and a half.
- Under emulation and load, a thread of some milliseconds was seen with a run time of 0, although it had asked for its CPU clock.
- With `psi=0`, /proc/pressure is missing whole: what interrupts take, only the kernel's types (BTF) tell then.
- A rejected thread of policy SCHED_EXT becomes SCHED_OTHER for good; one whose scheduler was thrown out for stalling keeps its policy.
- arm64 tells what x86 tells: with the same version (7.2.12) every cell of the table was the same. jemalloc's counters stand behind the thread
  pointer there, not before it, and what `show` and `compare` print of a file was the same to the byte on both.
- One pass by BPF (task-iter) said all that /proc and netlink say of threads on every kernel from 6.1 on, schedstats and BPF schedulers included;
  5.10 does not take the program, and the files fill all. A thread older than kernel.task_delayacct=1 has no delays at all: task-iter tells
  so (PredatesSwitch), netlink shows zeros.
"""


def value_text(value):
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def state(cell):
    """The cell on the page."""
    if cell.largest is not None:
        return "moved" if cell.metric["newtype"] in GROWING else "seen"
    if cell.values:
        return "zero"
    reason = f": {cell.expected[1]}" if cell.expected else ""
    return "/".join(sorted(cell.gaps)) + reason


def line(cell):
    """The cell in the log."""
    gaps = ", ".join(f"{count} {gap}" for gap, count in sorted(cell.gaps.items()))
    if not cell.values:
        return f"{gaps}{': ' + cell.expected[1] if cell.expected else ''}"
    largest = value_text(cell.largest) if cell.largest is not None else "nothing but zero"
    return f"{cell.values} of {cell.rows} have a value, up to {largest}" + (f"; {gaps}" if gaps else "")


def log(left, cells):
    """Lines of one kernel."""
    return [f"{left.kernel.version}\t{cell.metric['name']}\t{line(cell)}" for cell in cells]


def kernel_row(left, words):
    switches = [name for name in ("delayacct", "schedstats=enable") if name in words.split()]
    how = f"on the command line: {', '.join(switches)}" if switches else "switched on at run time"
    return f"| {left.kernel.name} | {left.kernel.package} | v{left.taskstats_version} | {how} |"


def rows_of(entity, columns):
    """`columns`: cells of each kernel, all in the vocabulary's order."""
    for cells in zip(*columns):
        if cells[0].metric["entity"] == entity:
            yield f"| {cells[0].metric['name']} | {' | '.join(state(cell) for cell in cells)} |"


def named_lists(columns):
    """Metrics that no kernel moved, by why."""
    still = [cells[0] for cells in zip(*columns) if all(cell.largest is None for cell in cells)]
    constructed = [cell.metric["name"] for cell in still if cell.is_constructed]
    zero = [cell.metric["name"] for cell in still if cell.metric["name"] in expected.ALWAYS_ZERO]
    tried = [cell.metric["name"] for cell in still if cell.metric["name"] not in constructed + zero]
    yield "## Never seen to move\n"
    yield f"Constructed, for no kernel of Debian has CONFIG_SCHED_CORE or CONFIG_IRQ_TIME_ACCOUNTING: {', '.join(constructed) or 'none'}.\n"
    yield f"Zero by the kernel's definition: {', '.join(zero) or 'none'}.\n"
    yield "Tried and not provoked: " + (", ".join(f"{name} ({expected.NOT_PROVOKED.get(name, 'without a word why')})" for name in tried) or "none") + ".\n"


def page(lefts, columns, words):
    """The whole text. `words`: what each kernel was started with."""
    text = HEAD + "\n".join(kernel_row(*pair) for pair in zip(lefts, words)) + "\n" + LEGEND
    names = [left.kernel.name for left in lefts]
    for entity, title in ENTITIES.items():
        text += f"\n## {title}\n\n| metric | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n" + "\n".join(rows_of(entity, columns)) + "\n"
    return text + "\n" + "\n".join(named_lists(columns)) + FOUND
