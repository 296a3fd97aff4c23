"""The unit tests that ran in the guest."""


def was_made(left):
    return bool(left.text("units"))


def units(left):
    """The names of those that failed, and what they said last."""
    wrong = []
    for name, status in left.pairs("units").items():
        wrong += [f"{name} ended with {status}:", *left.text(f"unit-{name}").splitlines()[-6:]] if status != "0" else []
    return wrong


CHECKS = {"unit tests": units}
