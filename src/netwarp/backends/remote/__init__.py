"""Runs between two hosts over a network that is there: the client's half and the server's.

At the client: `backend.py` of `connecting.py`, `probe.py` (measures the path) and `bridge.py` (the
endpoint's descriptor to the server's). At the server: `server.py` of `session.py` (one client),
`role.py` (its endpoint, bounded), `commands.py` (what clients may run) and `imposing.py` (what a
host imposes on packets that come in, undone by a process of its own). Pure: `messages.py`,
`datagrams.py`, `admission.py`, `lacks.py`, `measurement.py`. `channel.py` and `identity.py` are TLS
and pairing, `offloads.py` a network device's.

Invariant: by a client's word no file of the server is read or written, and nothing is run that its
owner has not allowed.
"""
