"""Programs that keep keys in the kernel, and look for them (keyrings(7))."""

READ_KEYS = """
import ctypes, re, sys
c = ctypes.CDLL(None)
c.syscall.restype = ctypes.c_long
names = [name.encode() for name in sys.argv[1:]]
def keyctl(*arguments):
    return c.syscall(250, *arguments)
texts = set()
def read(key):
    text = ctypes.create_string_buffer(100)
    if key > 0 and keyctl(11, key, text, 99) > 0:
        texts.add(text.value)
def search(keyring):
    for name in names:
        read(keyctl(10, keyring, b"user", name, 0))
for keyring in (-1, -2, -3, -4, -5):
    search(keyring)
for name in names:
    read(c.syscall(249, b"user", name, 0, 0))
# Whoever links a keyring of the user's to one of its own has all that is in it.
for key in re.findall("^[0-9a-f]{8}", open("/proc/keys").read(), re.MULTILINE):
    keyctl(8, int(key, 16), -3)
    search(int(key, 16))
    read(int(key, 16))
print(*sorted(text.decode() for text in texts if text in names))
"""
"""Prints what it can read of keys, which have their names as contents, by every way to them."""

HOLD_KEYS = """
import ctypes, os, sys
c = ctypes.CDLL(None)
c.syscall(250, 1, 0)
for name, keyring in zip(sys.argv[1:3], (-3, -4)):
    key = c.syscall(248, b"user", name.encode(), name.encode(), len(name), keyring)
    c.syscall(250, 15, key, 60)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Becomes a program whose session has a key for a minute, and whose user has another; the keys have
their names as contents.
"""
