"""The parts that the tests of C++ and Rust sources share."""

import re

SKIPPED = 77


def expected_message(source):
    """Returns the message that the first comment of the source names."""
    return re.search(r"^// must say: (.*)$", source.read_text(), re.M).group(1)


def check(sources, find_failures):
    """Prints a line for each source, and what find_failures(source) yields. Returns the exit status."""
    failures = 0
    for source in sources:
        wrong = list(find_failures(source))
        failures += bool(wrong)
        print("not ok" if wrong else "ok", source.stem, *wrong)
    print(f"{len(sources)} sources, {failures} failures")
    return 1 if failures or not sources else 0
