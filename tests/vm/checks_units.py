"""Checks the unit tests that ran in the guest."""


def is_present(output):
    return bool(output.text("units"))


def units(output):
    """Returns the names of the failed tests, each with its last lines of output."""
    wrong = []
    for name, status in output.key_values("units").items():
        wrong += [f"{name} ended with {status}:", *output.text(f"unit-{name}").splitlines()[-6:]] if status != "0" else []
    return wrong


CHECKS = {"unit tests": units}
