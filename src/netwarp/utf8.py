"""Checks that names and arguments are UTF-8, as all text in a job is."""


def is_utf8(name: str) -> bool:
    """Return whether a file's name is valid UTF-8. Python represents bytes that are not by
    surrogates.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
