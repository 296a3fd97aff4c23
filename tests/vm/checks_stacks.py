"""Checks call stacks of a program whose functions are known, of kernel threads, of a program with threads and a library that it closes, and
while a CPU goes offline and comes back.

In scope:       checks on the windows of guest/stacks.sh.
Out of scope:   reading them (stacks_file.py); the accuracy of samples without emulation (tests/record).
"""

import functools
import os
import re

from stacks_file import KERNEL, TRUNCATED, Stacks

HEAVY, LIGHT, READER = "known_heavy", "known_light", "known_reader"
# Leaf first. Frames below the leaf of user space belong to the kernel.
CHAINS = ((HEAVY, "known_middle", "known_main", "_start"), (LIGHT, "known_main", "_start"), (READER, "known_main", "_start"))
CFI_WINDOWS = {"cfi-99": 99, "cfi-999": 999, "signed-999": 999}
FRAME_POINTER_WINDOWS = {"fp-999": 999, "signed-fp-999": 999}
ONLY_ARM64 = ("signed-999", "signed-fp-999")  # windows that need CPUs and programs with signed return addresses
PROGRAMS = {"cfi-99": "known", "cfi-999": "known", "fp-999": "known_fp", "signed-999": "known_signed", "signed-fp-999": "known_signed_fp"}
READS = "vfs_read"  # on every kernel, part of the call chain of each read
# With frame pointers, a function that has not set up its frame yet, or has removed it, hides its caller.
MAX_HIDDEN_SHARE = 0.02
MAX_TRUNCATED_SHARE = 0.1  # of kernel threads: the kernel cannot unwind some of its own code (thunks), and some threads may have few samples
FEW_NS = 3_003_003
THREAD_FUNCTION, FIRST_WITH_BPF = "ten", (5, 17)
SHARES = {"seventy": 40, "twenty": 20, THREAD_FUNCTION: 10, "around": 5}
DEFERRED_UNWIND_CONFIG = "CONFIG_HAVE_UNWIND_USER_FP"  # Linux 7.3 on x86
DEFERRED_UNWIND_FUNCTION = "process_unwind_deferred"  # the kernel function that completes deferred chains
MAX_SHARE_ERROR = 8  # percentage points; the host may stop an emulated machine at any time
# A sample weighs a whole period, wherever in it the thread started and stopped. The idle time of a CPU has a resolution of 10 ms.
RELATIVE_SLACK = 0.05
MIN_PERIOD_SHARE = 0.95  # periods vary by 4 % around the nominal length
SLACK_NS = 100_000_000


@functools.cache
def stacks_of(out, name):
    return Stacks(os.path.join(out, "stacks", f"{name}.ctprof.zst"))


def find_unrecorded(output, *names):
    """Returns an error for each of these windows that was not recorded."""
    return [f"record {name} ended with {output.notes.get(f'stacks-{name}')}: {output.text(f'stacks/{name}.log')}"
            for name in names if output.notes.get(f"stacks-{name}") != "0"]


def windows(output, of_kind):
    return [name for name in of_kind if output.kernel.arch == "arm64" or name not in ONLY_ARM64]


def find_known_thread(output, name):
    """Returns (thread, errors)."""
    found = stacks_of(output.out, name).threads_of(PROGRAMS[name])
    if len(found) != 1 or not found[0].stacks:
        return None, [f"{name}: {len(found)} threads of {PROGRAMS[name]}, without a stack"]
    return found[0], []


def user_part(frames):
    return tuple(frame.name for frame in frames if frame.module != KERNEL)


def names(frames):
    return {frame.name for frame in frames}


def kernel_part(frames):
    return [frame.name for frame in frames if frame.module == KERNEL]


def is_whole(chain):
    return any(chain and chain == known[-len(chain):] for known in CHAINS)


def lacks_one_caller(chain):
    """Returns whether the chain lacks only one function: the caller of another one."""
    return any(chain == known[at:at + 1] + known[at + 2:] for known in CHAINS for at in range(len(known) - 1))


def check_heaviest(thread, name):
    """Compares only functions that compute, because the cost of a read depends on the machine."""
    self_weights = thread.self_weights()
    return [] if self_weights[HEAVY] > self_weights[LIGHT] else [f"{name}: {HEAVY} is not the heaviest: {dict(self_weights)}"]


def check_chains(thread, name, allowed=0.0, is_fine=is_whole):
    odd = {user_part(frames): 0 for frames, _ in thread.stacks if not is_fine(user_part(frames))}
    for frames, weight in thread.stacks:
        if user_part(frames) in odd:
            odd[user_part(frames)] += weight
    if sum(odd.values()) <= allowed * thread.weight:
        return []
    return [f"{name}: {weight} of {thread.weight} ns in {chain}" for chain, weight in odd.items()]


def check_cfi(output):
    """All stacks reach the root, and no frame is guessed."""
    names = windows(output, CFI_WINDOWS)
    wrong = find_unrecorded(output, *names)
    if output.kernel.arch == "arm64" and output.notes["stacks-signs"] == "0":
        wrong.append("its CPUs do not sign return addresses")
    for name in names if not wrong else ():
        thread, errors = find_known_thread(output, name)
        wrong += errors or check_heaviest(thread, name) + check_chains(thread, name)
        if thread and any(frame.is_guessed for frames, _ in thread.stacks for frame in frames):
            wrong.append(f"{name}: frames are guessed")
    return wrong


def check_frame_pointers(output):
    """All stacks reach the root, except that a few lack a caller. All frames above the leaf are marked as guessed."""
    names = windows(output, FRAME_POINTER_WINDOWS)
    wrong = find_unrecorded(output, *names)
    for name in names if not wrong else ():
        thread, errors = find_known_thread(output, name)
        if errors:
            wrong += errors
            continue
        wrong += check_heaviest(thread, name) + check_chains(thread, name, MAX_HIDDEN_SHARE)
        wrong += check_chains(thread, name, 0.0, lambda chain: is_whole(chain) or lacks_one_caller(chain) or chain == (TRUNCATED,))
        callers = [frame for frames, _ in thread.stacks for frame in [each for each in frames if each.module != KERNEL][1:]]
        if not all(frame.is_guessed for frame in callers):
            wrong.append(f"{name}: callers are not marked as guessed")
    return wrong


def check_kernel_part(output):
    """Reads have named frames of the kernel and the user part below them. At 99 Hz there may be no such sample."""
    names = [name for name in windows(output, CFI_WINDOWS | FRAME_POINTER_WINDOWS) if name != "cfi-99"]
    wrong = find_unrecorded(output, *names)
    for name in names if not wrong else ():
        thread, errors = find_known_thread(output, name)
        wrong += errors
        parts = [(kernel_part(frames), user_part(frames)) for frames, _ in thread.stacks] if thread else []
        if any(None in kernel for kernel, _ in parts):
            wrong.append(f"{name}: frames of the kernel have no name")
        readers = {user[:1] for kernel, user in parts if READS in kernel and user != (TRUNCATED,)}
        if readers != {(READER,)}:
            wrong.append(f"{name}: {READS} is called by {sorted(map(str, readers))}")
    return wrong


def check_deferred(output):
    """If the kernel defers the user part of a chain until the thread returns to user space, samples must still have it. Exceptions are the last
    samples of a thread that was then stopped, and samples of the deferred work itself, whose user part may already be written."""
    accepted, samples, chains = map(int, output.notes["stacks-defers"].split())
    if output.kernel.has(DEFERRED_UNWIND_CONFIG) != bool(accepted and samples and chains):
        return [f"deferred chains: the kernel returned {accepted}, with {samples} samples and {chains} chains"]
    wrong = find_unrecorded(output, "fp-999")
    thread, errors = (None, []) if wrong else find_known_thread(output, "fp-999")
    without = [(frames, weight) for frames, weight in thread.stacks
               if user_part(frames) in ((), (TRUNCATED,)) and DEFERRED_UNWIND_FUNCTION not in names(frames)] if thread else []
    is_much = sum(weight for _, weight in without) > (FEW_NS if samples else 0)
    return wrong + errors + ([f"{len(without)} of {len(thread.stacks)} stacks have no user part: {without[:3]}"] if is_much else [])


def count_missing(stacks):
    """Returns the number of samples that were lost or missed."""
    report_line = next(note for note in stacks.notes if re.match(r"on-cpu: \d+ stacks?[,;]", note))
    return sum(int(number) for number in re.findall(r"(\d+) (?:lost|missed)", report_line))


def check_weight(output, name, frequency):
    thread, errors = find_known_thread(output, name)
    if errors:
        return errors
    period = 1_000_000_000 // frequency
    slack = RELATIVE_SLACK * thread.run_time_ns + SLACK_NS
    wrong = [f"{name}: {weight} ns is less than a period of {period}" for _, weight in thread.stacks if weight < MIN_PERIOD_SHARE * period]
    if thread.weight > thread.run_time_ns + slack:
        wrong.append(f"{name}: samples weigh {thread.weight} ns, and it ran {thread.run_time_ns}")
    reported = thread.weight + count_missing(stacks_of(output.out, name)) * period
    if reported < thread.run_time_ns - slack:
        wrong.append(f"{name}: samples weigh {thread.weight} ns, {reported} with those that are missing, and it ran {thread.run_time_ns}")
    return wrong


def check_weights(output):
    """The weight of the samples equals the run time, except for samples that are reported missing: the host stops the machine, and ticks are late."""
    names = windows(output, CFI_WINDOWS | FRAME_POINTER_WINDOWS)
    return find_unrecorded(output, *names) or [line for name in names for line in check_weight(output, name, (CFI_WINDOWS | FRAME_POINTER_WINDOWS)[name])]


def check_kernel_threads(output):
    """Kernel threads have only kernel frames, down to the function that starts them."""
    wrong = find_unrecorded(output, "cfi-999")
    if wrong:
        return wrong
    pids = set(map(int, output.text("stacks/of-kernel").split()))
    stacks = [stack for thread in stacks_of(output.out, "cfi-999").threads if thread.tgid in pids for stack in thread.stacks]
    everything = sum(weight for _, weight in stacks)
    if not everything:
        return ["no thread of the kernel has a stack"]
    for frames, _ in stacks:
        if not frames or any(frame.module != KERNEL or not frame.name for frame in frames):
            wrong.append(f"not only of the kernel, or without names: {frames}")
    rooted = sum(weight for frames, weight in stacks if frames and (frames[-1].name or "").startswith("ret_from_fork"))
    return wrong if everything - rooted <= MAX_TRUNCATED_SHARE * everything + FEW_NS else [*wrong, f"only {rooted} of {everything} ns reach their root"]


def expected_shares(output):
    """Before 5.17 the process of an exited thread is unknown: its stacks belong to no row, and a note must say so."""
    return {name: points for name, points in SHARES.items() if name != THREAD_FUNCTION or output.kernel.number >= FIRST_WITH_BPF}


def shares(output):
    if "stacks-shares" not in output.notes:
        return []  # a build with a sanitizer does not have the program
    wrong = find_unrecorded(output, "shares")
    if wrong:
        return wrong
    stacks, expected = stacks_of(output.out, "shares"), expected_shares(output)
    threads = stacks.threads_of("shares")
    own = {name: sum(thread.self_weights()[name] for thread in threads) for name in expected}
    if not sum(own.values()):
        return ["none of its functions has a stack"]
    for name, points in expected.items():
        wanted, found = 100 * points / sum(expected.values()), 100 * own[name] / sum(own.values())
        if abs(found - wanted) > MAX_SHARE_ERROR:
            wrong.append(f"{name} has {found:.1f} % rather than {wanted:.1f}")
    if THREAD_FUNCTION not in expected and not any("in no row" in note for note in stacks.notes):
        wrong.append("not reported that stacks are in no row")
    cut = [frames for thread in threads for frames, _ in thread.stacks if SHARES.keys() & names(frames) and TRUNCATED in names(frames)]
    return wrong + [f"without its root: {frames}" for frames in cut]


def offline_periods(output):
    """Returns (CPU, ns, start in ns) for each reported offline period."""
    report_line = output.text("stacks/cpu.log")
    return [(int(cpu), float(ms) * 1e6, float(at) * 1e9) for cpu, ms, at in re.findall(r"offline on CPU (\d+) for ([\d.]+) ms at ([\d.]+) s", report_line)]


def cpu_back(output):
    """The offline period is reported with its CPU and time. Stacks are correct before, during and after it, also of programs on that CPU."""
    wrong = find_unrecorded(output, "cpu")
    if wrong:
        return wrong
    went, came = ([float(time) * 1e9 for time in output.notes[f"stacks-cpu-{what}"].split()] for what in ("went", "came"))
    reported, stacks = offline_periods(output), stacks_of(output.out, "cpu")
    if len(reported) != 1 or reported[0][0] != 1:
        return [f"not reported that CPU 1, and no other, was offline: {output.text('stacks/cpu.log')}"]
    _, length_ns, from_ns = reported[0]
    if not stacks.opened_ns <= from_ns <= went[1] or not came[0] <= from_ns + length_ns <= stacks.closed_ns:
        wrong.append(f"offline at {from_ns} for {length_ns} ns; CPU 1 went offline in {went} and came back in {came}")
    for name in ("known", "known-back"):
        threads = [thread for thread in stacks.threads_of(name) if thread.weight_of("known_main")]
        if len(threads) != 1:
            return [*wrong, f"{len(threads)} threads of {name} have stacks"]
        thread = threads[0]
        thread.stacks = [(frames, weight) for frames, weight in thread.stacks if "known_main" in user_part(frames)]
        wrong += check_heaviest(thread, name) + check_chains(thread, name)
    return wrong


def find_sleeper(output, recorder):
    """Returns (stacks, weight of the sleeping thread, errors)."""
    wrong = find_unrecorded(output, recorder)
    if wrong:
        return None, 0, wrong
    stacks, sleeper = stacks_of(output.out, recorder), int(output.text("stacks/sleeper"))
    found = [thread for thread in stacks.threads if thread.tid == sleeper]
    if len(found) != 1:
        return None, 0, [f"{recorder}: {len(found)} rows are of thread {sleeper}"]
    others = {kernel_part(frames)[:3] and tuple(kernel_part(frames)[:3]) for frames, _ in found[0].stacks
              if not any(name and "nanosleep" in name for name in kernel_part(frames))}
    return stacks, found[0].weight, [f"{recorder}: sleeps elsewhere: {other}" for other in others]


def waits(output):
    """The sleeping thread waits at least the two requested seconds, at most as long as ctprof ran, and in the sleep call. The times of every
    thread add up. A window is longer than requested if reading the host takes time."""
    stacks, weight, wrong = find_sleeper(output, "off-cpu")
    if stacks is None:
        return wrong
    before, after = (float(time) * 1e9 for time in output.notes["stacks-off-cpu-took"].split())
    if not 2e9 <= weight <= after - before + 2e7:
        wrong.append(f"waited {weight} ns, recorded in {after - before} ns")
    report_line = re.search(r"add up .* for (\d+) of (\d+) threads", output.text("stacks/off-cpu.log"))
    if not report_line or int(report_line[1]) < 1 or report_line[1] != report_line[2]:
        wrong.append(f"running and waiting do not add up: {output.text('stacks/off-cpu.log')}")
    return wrong


def sleepers(output):
    """Most of the nine samples per second find the sleeping thread. The machine may be late for some."""
    stacks, weight, wrong = find_sleeper(output, "sleepers")
    if stacks is None:
        return wrong
    before, after = map(float, output.notes["stacks-sleepers-took"].split())
    expected_samples = 9 * (after - before)
    return wrong + ([] if 2 <= weight <= expected_samples + 2 else [f"{weight} samples where {expected_samples:.0f} were due"])


CHECKS = {"call stacks by call frame information": check_cfi, "call stacks by frame pointers": check_frame_pointers,
          "call stacks contain the kernel part": check_kernel_part, "call stacks with a deferred user part": check_deferred,
          "weights of samples equal run times": check_weights,
          "call stacks of the kernel's threads": check_kernel_threads, "shares of functions in threads and libraries": shares,
          "CPU hotplug while samples are taken": cpu_back,
          "waits are counted, add up, and have stacks": waits, "samples of sleeping threads": sleepers}
