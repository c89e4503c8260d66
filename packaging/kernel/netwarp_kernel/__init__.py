"""The guest kernel of netwarp. It is found by netwarp, and there is nothing to import.

`package.json` says for which release of netwarp it was built, and where the kernel is. `COPYING` is
its licence, `SOURCE` says what it was built from, and `source/` has what builds it again.
"""
