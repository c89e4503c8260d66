"""aioquic as server or client of a netwarp run: by the role protocol (docs/role-protocol.md), or, without arguments,
by the contract of the QUIC interop runner.
"""

import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from kit import (
    ALPN,
    NAME,
    REQUEST_BYTES,
    Role,
    anywhere,
    asked_for,
    identity,
    request_for,
    run,
)

INITIAL_WINDOW_PACKETS = 10  # aioquic.quic.congestion.base.K_INITIAL_WINDOW


class Timed(QuicConnectionProtocol):
    """A connection that knows when it was begun, and when its handshake was complete."""

    def __init__(self, connection, now_ns, **options):
        super().__init__(connection, **options)
        self.now_ns, self.start_ns, self.connected_ns = now_ns, now_ns(), None

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.connected_ns = self.now_ns()
        super().quic_event_received(event)


class Aioquic(Role):
    """One side of a run over aioquic."""

    def configuration(self):
        window_bytes = self.transport["buffer_bytes"]
        return QuicConfiguration(
            is_client=self.side == "client",
            alpn_protocols=[ALPN],
            server_name=NAME,
            congestion_control_algorithm=self.transport["congestion"],
            idle_timeout=self.limit_s + 10,
            max_data=window_bytes,
            max_stream_data=window_bytes,
            max_datagram_size=self.payload_bytes,
        )

    async def serve(self, orders):
        configuration = self.configuration()
        configuration.private_key, configuration.certificate = own = identity()
        moving = []

        def answer(reader, writer):
            moving.append(
                (asyncio.ensure_future(self.answer(reader, writer)), writer.transport.protocol)
            )

        await serve(
            self.address,
            self.port,
            configuration=configuration,
            create_protocol=self.timed,
            stream_handler=answer,
        )
        self.say(message="ready", certificate=own[1].public_bytes(Encoding.DER).hex())
        await orders.readline()
        for task, protocol in moving:
            record = await task
            self.write(record)
            if record["chunk"] == 0:
                self.write(self.record_of(protocol, record["transfer"]))

    async def answer(self, reader, writer):
        request = await reader.readexactly(REQUEST_BYTES)
        record = await self.move(reader, writer, *asked_for(request))
        writer.write_eof()
        return record

    def timed(self, connection, **options):
        return Timed(connection, self.now_ns, **options)

    async def drive(self, transfer, certificate):
        configuration = self.configuration()
        trusted = x509.load_der_x509_certificate(certificate)
        configuration.load_verify_locations(cadata=trusted.public_bytes(Encoding.PEM))
        connection = QuicConnection(configuration=configuration)
        endpoint, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: self.timed(connection), local_addr=(anywhere(self.address), 0)
        )
        protocol.connect((self.address, self.port))
        await protocol.wait_connected()
        chunks = range(self.workload["chunks"])
        records = await asyncio.gather(*(self.ask(protocol, transfer, chunk) for chunk in chunks))
        for record in records:
            self.write(record)
        self.write(self.record_of(protocol, transfer))
        protocol.close()
        endpoint.close()

    async def ask(self, protocol, transfer, chunk):
        reader, writer = await protocol.create_stream()
        writer.write(request_for(transfer, chunk))
        record = await self.move(reader, writer, transfer, chunk)
        if await reader.read():
            raise ValueError(f"there is more behind chunk {chunk}")
        return record

    def record_of(self, protocol, transfer):
        """Return the record of a connection; aioquic tells nothing of its counters."""
        window_bytes = INITIAL_WINDOW_PACKETS * self.payload_bytes
        settings = {"initial_window_bytes": window_bytes, "paced": True}
        return self.connection_record(transfer, protocol.start_ns, protocol.connected_ns, settings)


def main():
    if len(sys.argv) == 1:
        import interop

        return interop.main()
    return run(Aioquic)


if __name__ == "__main__":
    sys.exit(main())
