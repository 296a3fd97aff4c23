"""Errors of operations."""


class FleetError(Exception):
    """One sentence for the user: what failed, on what, why, and what to do. The exit status is 2."""


def system_reason(error):
    """Returns the text of a system error without its number and path."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def find_nearest(word, known):
    """Returns the known word that is most similar, or None."""
    import difflib  # Loaded only after an error.
    return next(iter(difflib.get_close_matches(word, known, 1)), None)
