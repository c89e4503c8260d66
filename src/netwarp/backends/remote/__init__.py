"""The remote backend: runs between two hosts over a real network, with code for the client's host
and for the server's.

On the client, `backend.py` carries out runs. It uses `connecting.py` (the connection to the
server), `probe.py` (measures the path) and `bridge.py` (passes lines between the endpoint and the
server). On the server, `server.py` listens, `session.py` serves one client, `role.py` runs the
endpoint within bounds, `commands.py` contains the commands that clients may run, and `imposing.py`
impairs incoming packets by a separate process, which also removes the impairments. Pure:
`messages.py`, `datagrams.py`, `admission.py`, `host_refusals.py`, `measurement.py`. `channel.py` is
the TLS connection, `identity.py` keys and pairing, and `offloads.py` reads a network device's
offloads.

Invariant: a client cannot make the server read or write any file, nor run any program that the
server's owner has not allowed.
"""
