"""How an operation ends that could not be done."""


class FleetError(Exception):
    """One sentence for the user: what was tried, on what, why it failed, what to do. Exit status 2."""


def reason(error):
    """What the system said, without numbers and paths."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def nearest(word, known):
    """What was likely meant, or None."""
    import difflib  # Loaded where there is a mistake.
    return next(iter(difflib.get_close_matches(word, known, 1)), None)
