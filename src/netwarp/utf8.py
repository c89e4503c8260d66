"""Checks that names and arguments are UTF-8, as all text in a job is."""


def is_utf8(name: str) -> bool:
    """Return whether a file's name is valid UTF-8. Python has surrogates in place of bytes that are
    not.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
