"""What every role in Python has in common (docs/role-protocol.md): orders and messages, contents, chunks and records.

Only the QUIC calls are left to a role: it is a subclass of :class:`Role` with `serve` and `drive`.
"""

import asyncio
import datetime
import hashlib
import json
import os
import struct
import sys
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

NAME, ALPN, PORT = "netwarp.test", "netwarp", 4433
CONFIRMATION = b"\x06"
REQUEST_BYTES = 16
HEADERS_BYTES = 28  # IPv4 and UDP
MASK = (1 << 64) - 1
WORD_BYTES = 8
BLOCK_BYTES = 1 << 16
STEPS_MAX, FIRST_STEP_NS = 2000, 10_000_000


def part(workload, chunk):
    """Return offset and length of a chunk, in bytes; the last one takes the rest."""
    size_bytes, chunks = workload["content"]["size_bytes"], workload["chunks"]
    each_bytes = size_bytes // chunks
    offset_bytes = chunk * each_bytes
    return offset_bytes, (size_bytes - offset_bytes) if chunk + 1 == chunks else each_bytes


def blocks(content, offset_bytes, length_bytes):
    """Yield a part of the content, block by block."""
    if content["kind"] == "file":
        with open(content["path"], "rb") as file:
            file.seek(offset_bytes)
            while length_bytes > 0 and (block := file.read(min(BLOCK_BYTES, length_bytes))):
                length_bytes -= len(block)
                yield block
        return
    end_bytes = offset_bytes + length_bytes
    while offset_bytes < end_bytes:
        until_bytes = min(end_bytes, offset_bytes + BLOCK_BYTES)
        first, last = offset_bytes // WORD_BYTES, -(-until_bytes // WORD_BYTES)
        words = [splitmix64(content["seed"], index) for index in range(first, last)]
        made = struct.pack(f"<{len(words)}Q", *words)
        skipped = offset_bytes - first * WORD_BYTES
        yield made[skipped : skipped + until_bytes - offset_bytes]
        offset_bytes = until_bytes


def splitmix64(seed, index):
    """Return an output of splitmix64, counted from 0."""
    word = (seed + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


class Goodput:
    """The content that arrived in each step since the run's epoch; steps double before there are too many."""

    def __init__(self):
        self.step_ns, self.bytes = FIRST_STEP_NS, []

    def count(self, at_ns, count):
        while at_ns // self.step_ns >= STEPS_MAX:
            self.bytes = [sum(self.bytes[at : at + 2]) for at in range(0, len(self.bytes), 2)]
            self.step_ns *= 2
        step = at_ns // self.step_ns
        self.bytes += [0] * (step + 1 - len(self.bytes))
        self.bytes[step] += count


def anywhere(server):
    """Return the address of any interface, of the family of a server's address."""
    return "::" if ":" in server else "0.0.0.0"


class Role:
    """One side of a run.

    A stack's own class has `serve(orders)`, which says `ready` and answers requests until there is a line in `orders`,
    and `drive(transfer, certificate)`, which makes one transfer; both write records.
    """

    def __init__(self, side, job, address):
        exchange = job["workloads"][0]
        self.side, self.address, self.port = side, address, PORT
        self.workload, self.transport = exchange["workload"], exchange["transport"]
        # What arrives is recorded over time where workloads share a run, or something happens to the path.
        self.is_recorded_over_time = exchange.get("name") is not None or any(
            job["timeline"].values()
        )
        self.goodput = Goodput()
        self.limit_s = job["limits"]["virtual_ns"] / 1e9
        mtu_bytes = min(path["mtu_bytes"] for path in job["paths"])
        self.payload_bytes = min(
            self.transport["mss_bytes"] or mtu_bytes, mtu_bytes - HEADERS_BYTES
        )
        self.messages = os.fdopen(3, "w", buffering=1)
        self.sends = (self.workload["direction"] == "down") == (side == "server")

    def say(self, **message):
        print(json.dumps(message), file=self.messages)

    def now_ns(self):
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self.epoch_ns

    async def work(self):
        orders = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
        begin = json.loads(await orders.readline())
        self.epoch_ns = begin["epoch_ns"]
        if self.side == "server":
            await self.serve(orders)
        else:
            for transfer in range(self.workload["transfers"]):
                await self.drive(transfer, bytes.fromhex(begin["certificate"]))
        if self.goodput.bytes:
            self.write(
                {"record": "goodput", "step_ns": self.goodput.step_ns, "bytes": self.goodput.bytes}
            )
        self.say(message="done")

    async def move(self, reader, writer, transfer, chunk):
        """Send or receive a chunk, and return its record."""
        offset_bytes, length_bytes = part(self.workload, chunk)
        hasher = hashlib.sha256()
        first_ns = None
        if self.sends:
            first_ns = self.now_ns()
            for block in blocks(self.workload["content"], offset_bytes, length_bytes):
                writer.write(block)
                hasher.update(block)
            if await reader.readexactly(1) != CONFIRMATION:
                raise ValueError(f"what came for chunk {chunk} confirms nothing")
        else:
            left_bytes = length_bytes
            while left_bytes > 0:
                block = await reader.read(left_bytes)
                if not block:
                    raise ValueError(f"chunk {chunk} ended {left_bytes} bytes before its end")
                first_ns = first_ns or self.now_ns()
                if self.is_recorded_over_time:
                    self.goodput.count(self.now_ns(), len(block))
                left_bytes -= len(block)
                hasher.update(block)
        last_ns = self.now_ns()
        if not self.sends:
            writer.write(CONFIRMATION)
        return {
            "record": "transfer", "side": self.side, "connection": transfer, "stream": chunk, "transfer": transfer,
            "chunk": chunk, "direction": self.workload["direction"], "bytes": length_bytes, "resumed_at_bytes": 0,
            "first_byte_ns": first_ns, "last_byte_ns": last_ns, "longest_gap_ns": None, "longest_gap_at_ns": None,
            "sha256": hasher.hexdigest() if self.workload["verify"] else None,
        }  # fmt: skip

    def connection_record(self, transfer, start_ns, connected_ns, settings, stats=()):
        """Return the record of a connection. What a stack does not count is null."""
        counters = (
            "retransmitted_packets", "smoothed_rtt_ns", "min_rtt_ns", "congestion_window_bytes", "busy_ns",
            "receive_window_limited_ns", "send_buffer_limited_ns",
        )  # fmt: skip
        buffer_bytes = self.transport["buffer_bytes"]
        usual = {
            "transport": "quic", "congestion": self.transport["congestion"], "mss_bytes": self.payload_bytes,
            "send_buffer_bytes": buffer_bytes, "receive_buffer_bytes": buffer_bytes,
        }  # fmt: skip
        return {
            "record": "connection", "side": self.side, "connection": transfer, "transfer": transfer,
            "abandoned": False, "resumed": "none", "start_ns": start_ns, "connected_ns": connected_ns,
            "settings": {**usual, **settings}, "stats": {**dict.fromkeys(counters), **dict(stats)},
        }  # fmt: skip

    def write(self, record):
        self.say(message="write", line=record)


def asked_for(request):
    """Return the transfer and the chunk of a request."""
    return int.from_bytes(request[:8], "big"), int.from_bytes(request[8:], "big")


def request_for(transfer, chunk):
    """Return the bytes that ask for a chunk."""
    return transfer.to_bytes(8, "big") + chunk.to_bytes(8, "big")


def identity():
    """Make the server's key and certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1)
    made = made.not_valid_before(datetime.datetime(2000, 1, 1)).not_valid_after(
        datetime.datetime(2100, 1, 1)
    )
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    return key, made.sign(key, hashes.SHA256())


def run(role_of):
    """Run a role to its end, and return the program's exit status."""
    side, _, job, _, address, *more = sys.argv[1:]
    with open(job) as file:
        role = role_of(side, json.load(file), address)
    if more:
        role.port = int(more[1])  # behind --port
    try:
        asyncio.run(role.work())
    except Exception as error:
        role.say(
            message="failed", failure={"stage": side, "message": f"{type(error).__name__}: {error}"}
        )
        return 1
    return 0
