"""Call stacks of a program whose functions are known, of threads of the kernel, of one with threads and a library that is closed again, and
while a CPU goes offline and comes back.

What is here:   checks on the windows of guest/stacks.sh.
What is not:    reading them (stacks_file.py); how exact samples are where nothing is emulated (tests/record).
"""

import functools
import os
import re

from stacks_file import KERNEL, TRUNCATED, Stacks

HEAVY, LIGHT, READER = "known_heavy", "known_light", "known_reader"
# Leaf first. What is behind its end is the kernel's.
CHAINS = ((HEAVY, "known_middle", "known_main", "_start"), (LIGHT, "known_main", "_start"), (READER, "known_main", "_start"))
BY_RULES = {"cfi-99": 99, "cfi-999": 999, "signed-999": 999}
BY_POINTERS = {"fp-999": 999, "signed-fp-999": 999}
ONLY_ARM64 = ("signed-999", "signed-fp-999")  # where CPUs sign return addresses, if they have been made for it
PROGRAMS = {"cfi-99": "known", "cfi-999": "known", "fp-999": "known_fp", "signed-999": "known_signed", "signed-fp-999": "known_signed_fp"}
READS = "vfs_read"  # on all kernels, below every read
# A function that has not made its frame yet, or has given it up already, hides its caller from who follows frame pointers.
MOST_HIDDEN = 0.02
MOST_CUT = 0.1  # of threads of the kernel: where the kernel itself cannot follow them, as in its thunks; and some may have few samples
FEW_NS = 3_003_003
IN_THREAD, FIRST_WITH_BPF = "ten", (5, 17)
SHARES = {"seventy": 40, "twenty": 20, IN_THREAD: 10, "around": 5}
PUTS_OFF = "CONFIG_HAVE_UNWIND_USER_FP"  # Linux 7.3 on x86
AT_IT = "process_unwind_deferred"  # what completes chains there
POINTS = 8  # an emulated machine is stopped at any time, for as long as its host likes
# A tick weighs a period, wherever in it the thread came and went; of what an idle CPU did, the kernel tells in hundredths of a second.
UNEVEN = 0.05
LEAST_OF_PERIOD = 0.95  # periods vary by 4 % around the nominal one
UNEVEN_NS = 100_000_000


@functools.cache
def stacks_of(out, name):
    return Stacks(os.path.join(out, "stacks", f"{name}.ctprof.zst"))


def failed(left, *names):
    """Of windows that were to be recorded."""
    return [f"record {name} ended with {left.notes.get(f'stacks-{name}')}: {left.text(f'stacks/{name}.log')}"
            for name in names if left.notes.get(f"stacks-{name}") != "0"]


def windows(left, of_kind):
    return [name for name in of_kind if left.kernel.arch == "arm64" or name not in ONLY_ARM64]


def the_known(left, name):
    """(thread, what is wrong)."""
    found = stacks_of(left.out, name).named(PROGRAMS[name])
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


def is_without_caller(chain):
    """Its leaf's."""
    return any(chain == known[at:at + 1] + known[at + 2:] for known in CHAINS for at in range(len(known) - 1))


def heaviest(thread, name):
    """Of those that compute: what a read costs is the machine's."""
    itself = thread.itself()
    return [] if itself[HEAVY] > itself[LIGHT] else [f"{name}: {HEAVY} is not the heaviest: {dict(itself)}"]


def wrong_chains(thread, name, allowed=0.0, is_fine=is_whole):
    odd = {user_part(frames): 0 for frames, _ in thread.stacks if not is_fine(user_part(frames))}
    for frames, weight in thread.stacks:
        if user_part(frames) in odd:
            odd[user_part(frames)] += weight
    if sum(odd.values()) <= allowed * thread.weight:
        return []
    return [f"{name}: {weight} of {thread.weight} ns in {chain}" for chain, weight in odd.items()]


def by_rules(left):
    """All of them to the root; nothing guessed."""
    names = windows(left, BY_RULES)
    wrong = failed(left, *names)
    if left.kernel.arch == "arm64" and left.notes["stacks-signs"] == "0":
        wrong.append("its CPUs do not sign return addresses")
    for name in names if not wrong else ():
        thread, lacking = the_known(left, name)
        wrong += lacking or heaviest(thread, name) + wrong_chains(thread, name)
        if thread and any(frame.is_guessed for frames, _ in thread.stacks for frame in frames):
            wrong.append(f"{name}: frames are guessed")
    return wrong


def by_pointers(left):
    """All of them to the root, but for a caller here and there; guessed behind the leaf."""
    names = windows(left, BY_POINTERS)
    wrong = failed(left, *names)
    for name in names if not wrong else ():
        thread, lacking = the_known(left, name)
        if lacking:
            wrong += lacking
            continue
        wrong += heaviest(thread, name) + wrong_chains(thread, name, MOST_HIDDEN)
        wrong += wrong_chains(thread, name, 0.0, lambda chain: is_whole(chain) or is_without_caller(chain) or chain == (TRUNCATED,))
        callers = [frame for frames, _ in thread.stacks for frame in [each for each in frames if each.module != KERNEL][1:]]
        if not all(frame.is_guessed for frame in callers):
            wrong.append(f"{name}: callers are not marked as guessed")
    return wrong


def in_the_kernel(left):
    """Reads have the kernel's part of the stack, with names, and the user's below it. At 99 Hz there may be none."""
    names = [name for name in windows(left, BY_RULES | BY_POINTERS) if name != "cfi-99"]
    wrong = failed(left, *names)
    for name in names if not wrong else ():
        thread, lacking = the_known(left, name)
        wrong += lacking
        parts = [(kernel_part(frames), user_part(frames)) for frames, _ in thread.stacks] if thread else []
        if any(None in kernel for kernel, _ in parts):
            wrong.append(f"{name}: frames of the kernel have no name")
        readers = {user[:1] for kernel, user in parts if READS in kernel and user != (TRUNCATED,)}
        if readers != {(READER,)}:
            wrong.append(f"{name}: {READS} is called by {sorted(map(str, readers))}")
    return wrong


def deferred(left):
    """Where the kernel puts the user part of a chain off, samples have it nonetheless, from when the thread went back to user space; but for
    the last ones, of a thread that then was stopped, and those of the kernel at just this: their user part may have been written before."""
    asked, samples, chains = map(int, left.notes["stacks-defers"].split())
    if left.kernel.has(PUTS_OFF) != bool(asked and samples and chains):
        return [f"asked for chains that are put off, the kernel said {asked}, with {samples} samples and {chains} chains"]
    wrong = failed(left, "fp-999")
    thread, lacking = (None, []) if wrong else the_known(left, "fp-999")
    without = [(frames, weight) for frames, weight in thread.stacks
               if user_part(frames) in ((), (TRUNCATED,)) and AT_IT not in names(frames)] if thread else []
    is_much = sum(weight for _, weight in without) > (FEW_NS if samples else 0)
    return wrong + lacking + ([f"{len(without)} of {len(thread.stacks)} stacks have no user part: {without[:3]}"] if is_much else [])


def missing(stacks):
    """Samples that were lost, and that never came."""
    said = next(note for note in stacks.notes if re.match(r"on-cpu: \d+ stacks?[,;]", note))
    return sum(int(number) for number in re.findall(r"(\d+) (?:lost|not taken)", said))


def wrong_time(left, name, frequency):
    thread, lacking = the_known(left, name)
    if lacking:
        return lacking
    period = 1_000_000_000 // frequency
    slack = UNEVEN * thread.run_time_ns + UNEVEN_NS
    wrong = [f"{name}: {weight} ns is less than a period of {period}" for _, weight in thread.stacks if weight < LEAST_OF_PERIOD * period]
    if thread.weight > thread.run_time_ns + slack:
        wrong.append(f"{name}: samples weigh {thread.weight} ns, and it ran {thread.run_time_ns}")
    told = thread.weight + missing(stacks_of(left.out, name)) * period
    if told < thread.run_time_ns - slack:
        wrong.append(f"{name}: samples weigh {thread.weight} ns, {told} with those that are missing, and it ran {thread.run_time_ns}")
    return wrong


def weights(left):
    """Samples weigh what the thread ran, but for those that the machine owes: its host stops it, and then a tick is late for its period."""
    names = windows(left, BY_RULES | BY_POINTERS)
    return failed(left, *names) or [line for name in names for line in wrong_time(left, name, (BY_RULES | BY_POINTERS)[name])]


def of_kernel(left):
    """Threads of the kernel have its stacks alone, down to where it starts them."""
    wrong = failed(left, "cfi-999")
    if wrong:
        return wrong
    pids = set(map(int, left.text("stacks/of-kernel").split()))
    stacks = [stack for thread in stacks_of(left.out, "cfi-999").threads if thread.tgid in pids for stack in thread.stacks]
    everything = sum(weight for _, weight in stacks)
    if not everything:
        return ["no thread of the kernel has a stack"]
    for frames, _ in stacks:
        if not frames or any(frame.module != KERNEL or not frame.name for frame in frames):
            wrong.append(f"not of the kernel alone, or without names: {frames}")
    rooted = sum(weight for frames, weight in stacks if frames and (frames[-1].name or "").startswith("ret_from_fork"))
    return wrong if everything - rooted <= MOST_CUT * everything + FEW_NS else [*wrong, f"only {rooted} of {everything} ns reach their root"]


def expected_shares(left):
    """Before 5.17 nobody tells which process a thread was of that has ended: its stacks are in no row, and that is told."""
    return {name: points for name, points in SHARES.items() if name != IN_THREAD or left.kernel.number >= FIRST_WITH_BPF}


def shares(left):
    if "stacks-shares" not in left.notes:
        return []  # a build with a sanitizer has no such program
    wrong = failed(left, "shares")
    if wrong:
        return wrong
    stacks, expected = stacks_of(left.out, "shares"), expected_shares(left)
    threads = stacks.named("shares")
    own = {name: sum(thread.itself()[name] for thread in threads) for name in expected}
    if not sum(own.values()):
        return ["none of its functions has a stack"]
    for name, points in expected.items():
        wanted, found = 100 * points / sum(expected.values()), 100 * own[name] / sum(own.values())
        if abs(found - wanted) > POINTS:
            wrong.append(f"{name} has {found:.1f} % rather than {wanted:.1f}")
    if IN_THREAD not in expected and not any("in no row" in note for note in stacks.notes):
        wrong.append("not told that stacks are in no row")
    cut = [frames for thread in threads for frames, _ in thread.stacks if SHARES.keys() & names(frames) and TRUNCATED in names(frames)]
    return wrong + [f"without its root: {frames}" for frames in cut]


def offline(left):
    """(CPU, ns, from ns) as told, of losses of that kind."""
    said = left.text("stacks/cpu.log")
    return [(int(cpu), float(ms) * 1e6, float(at) * 1e9) for cpu, ms, at in re.findall(r"offline on CPU (\d+) for ([\d.]+) ms at ([\d.]+) s", said)]


def cpu_back(left):
    """Told with its CPU and the time; before, meanwhile and afterwards stacks are as they should be, also of what runs on that CPU again."""
    wrong = failed(left, "cpu")
    if wrong:
        return wrong
    went, came = ([float(time) * 1e9 for time in left.notes[f"stacks-cpu-{what}"].split()] for what in ("went", "came"))
    told, stacks = offline(left), stacks_of(left.out, "cpu")
    if len(told) != 1 or told[0][0] != 1:
        return [f"not told that CPU 1, and no other, was offline: {left.text('stacks/cpu.log')}"]
    _, length_ns, from_ns = told[0]
    if not stacks.opened_ns <= from_ns <= went[1] or not came[0] <= from_ns + length_ns <= stacks.closed_ns:
        wrong.append(f"offline at {from_ns} for {length_ns} ns; it went in {went} and came back in {came}")
    for name in ("known", "known-back"):
        threads = [thread for thread in stacks.named(name) if thread.total("known_main")]
        if len(threads) != 1:
            return [*wrong, f"{len(threads)} threads of {name} have stacks"]
        thread = threads[0]
        thread.stacks = [(frames, weight) for frames, weight in thread.stacks if "known_main" in user_part(frames)]
        wrong += heaviest(thread, name) + wrong_chains(thread, name)
    return wrong


def asleep(left, recorder):
    """(stacks, weight of the one thread that sleeps, what is wrong)."""
    wrong = failed(left, recorder)
    if wrong:
        return None, 0, wrong
    stacks, sleeper = stacks_of(left.out, recorder), int(left.text("stacks/sleeper"))
    found = [thread for thread in stacks.threads if thread.tid == sleeper]
    if len(found) != 1:
        return None, 0, [f"{recorder}: {len(found)} rows are of thread {sleeper}"]
    others = {kernel_part(frames)[:3] and tuple(kernel_part(frames)[:3]) for frames, _ in found[0].stacks
              if not any(name and "nanosleep" in name for name in kernel_part(frames))}
    return stacks, found[0].weight, [f"{recorder}: sleeps elsewhere: {other}" for other in others]


def waits(left):
    """Who sleeps waits at least for the two seconds that were asked for, no longer than ctprof ran, and at the call; and times add up for every
    thread. A window is longer than it was to be where reading the host takes as long."""
    stacks, weight, wrong = asleep(left, "off-cpu")
    if stacks is None:
        return wrong
    before, after = (float(time) * 1e9 for time in left.notes["stacks-off-cpu-took"].split())
    if not 2e9 <= weight <= after - before + 2e7:
        wrong.append(f"waited {weight} ns, recorded in {after - before} ns")
    said = re.search(r"add up .* for (\d+) of (\d+) threads", left.text("stacks/off-cpu.log"))
    if not said or int(said[1]) < 1 or said[1] != said[2]:
        wrong.append(f"running and waiting do not add up: {left.text('stacks/off-cpu.log')}")
    return wrong


def sleepers(left):
    """Who sleeps through a window is met by most looks of nine a second; the machine may be late for some."""
    stacks, weight, wrong = asleep(left, "sleepers")
    if stacks is None:
        return wrong
    before, after = map(float, left.notes["stacks-sleepers-took"].split())
    looks = 9 * (after - before)
    return wrong + ([] if 2 <= weight <= looks + 2 else [f"{weight} samples where {looks:.0f} were due"])


CHECKS = {"call stacks by call frame information": by_rules, "call stacks by frame pointers": by_pointers,
          "call stacks go on in the kernel": in_the_kernel, "call stacks whose user part comes later": deferred,
          "samples weigh what was run": weights,
          "call stacks of the kernel's threads": of_kernel, "shares of functions in threads and libraries": shares,
          "a CPU that goes offline and comes back while it is sampled": cpu_back,
          "waits are counted, add up, and have stacks": waits, "who sleeps is looked at": sleepers}
