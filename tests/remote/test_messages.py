"""The parsers of what comes from another host: whatever it is, it is a message or refused."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netwarp.backends.remote import datagrams
from netwarp.backends.remote.datagrams import Datagram
from netwarp.backends.remote.identity import der
from netwarp.backends.remote.messages import (
    LENGTH_BYTES,
    MOST_BYTES,
    MOST_BYTES_OF_STRANGERS,
    Begin,
    CloseProbe,
    Ended,
    Finish,
    Hello,
    Lift,
    Lifted,
    Message,
    MessageError,
    OpenProbe,
    Pair,
    Paired,
    Probed,
    Probing,
    Refused,
    Run,
    Running,
    Said,
    Sender,
    Stop,
    Welcome,
    encode,
    take,
)

OF_CLIENTS: list[Message] = [
    Pair(certificate="x", proof="0" * 64), Hello(version=1, endpoint="0.1.0"),
    OpenProbe(token="a" * 32), CloseProbe(), Run(job="{}"), Begin(epoch_ns=5), Finish(), Stop(),
    Lift(),
]  # fmt: skip
OF_SERVERS: list[Message] = [
    Paired(proof="1" * 64), Refused(reason="no"), Probing(busy=0.5),
    Probed(echoes=3, train_ns=[0, 7]),
    Running(token="0" * 16), Said(line="{}"), Ended(how=None),
    Welcome(
        version=1, netwarp="0", endpoint="0", endpoint_sha256="0", kernel="Linux", cpu="", cores=1,
        data_port=1, lacks={}, congestion=[], socket_buffer_bytes=1, tcp_buffer_bytes=1,
        missing_imposing=None, offloads=[], tcp_congestion="cubic",
        command_ports_from=1024,
    ),
    Lifted(imposed=None, calibration=None, failure="no packet of the run came in"),
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
SENDERS: tuple[Sender, Sender] = ("client", "server")
NAMES = [message.message for message in (*OF_CLIENTS, *OF_SERVERS)]


def framed(text: bytes) -> bytes:
    return len(text).to_bytes(LENGTH_BYTES, "big") + text


def taken(data: bytes, sender: Sender = "client", most: int = MOST_BYTES) -> list[Message]:
    """Take all messages that are there, or fail as `take` does."""
    buffer, messages = bytearray(data), []
    while (message := take(buffer, sender, most)) is not None:
        messages.append(message)
    return messages


def expect_messages_or_a_short_refusal(data: bytes, sender: Sender) -> None:
    """Expect that nothing but a refusal that fits a line comes of bytes that are no messages."""
    refused = ""
    try:
        taken(data, sender)
    except MessageError as error:
        refused = str(error)
    assert len(refused) < 300


@pytest.mark.parametrize("message", [*OF_CLIENTS, *OF_SERVERS], ids=lambda each: each.message)
def test_messages_survive_the_way(message: Message) -> None:
    sender: Sender = "client" if message in OF_CLIENTS else "server"
    assert taken(encode(message) * 2, sender) == [message, message]
    other: Sender = "server" if sender == "client" else "client"
    with pytest.raises(MessageError):
        taken(encode(message), other)


@given(st.lists(st.sampled_from(OF_CLIENTS), max_size=4), st.integers(min_value=1, max_value=9))
def test_messages_arrive_in_pieces_as_they_do_at_once(sent: list[Message], piece: int) -> None:
    data = b"".join(encode(message) for message in sent)
    buffer, messages = bytearray(), []
    for start in range(0, len(data), piece):
        buffer += data[start : start + piece]
        while (message := take(buffer, "client", MOST_BYTES)) is not None:
            messages.append(message)
    assert messages == sent
    assert not buffer


@given(st.binary(max_size=400), st.sampled_from(SENDERS))
def test_bytes_are_messages_or_refused(data: bytes, sender: Sender) -> None:
    for whole in (data, framed(data)):
        expect_messages_or_a_short_refusal(whole, sender)


@given(JSON, st.sampled_from(NAMES), st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_objects_are_messages_or_refused(
    value: object, name: str, fields: dict[str, object]
) -> None:
    for text in (json.dumps(value), json.dumps({**fields, "message": name})):
        for sender in SENDERS:
            expect_messages_or_a_short_refusal(framed(text.encode()), sender)


@given(st.sampled_from(OF_CLIENTS), st.data())
def test_a_message_with_a_field_changed_is_whole_or_refused(
    message: Message, data: st.DataObject
) -> None:
    fields = message.model_dump()
    key = data.draw(st.sampled_from(sorted(fields)))
    fields[key] = data.draw(JSON)
    try:
        (read,) = taken(framed(json.dumps(fields).encode()))
    except MessageError:
        return
    assert json.loads(encode(read)[LENGTH_BYTES:]) == fields


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_a_length_is_refused_before_anything_of_it_is_read(length: int) -> None:
    buffer = bytearray(length.to_bytes(LENGTH_BYTES, "big"))
    if 0 < length <= MOST_BYTES_OF_STRANGERS:
        assert take(buffer, "client", MOST_BYTES_OF_STRANGERS) is None
    else:
        with pytest.raises(MessageError, match="are allowed"):
            take(buffer, "client", MOST_BYTES_OF_STRANGERS)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(MessageError):
        taken(framed(b"[" * 100_000))


TOKEN = bytes(range(16))


@given(st.binary(max_size=1300))
def test_datagrams_without_the_token_are_nothing(data: bytes) -> None:
    assert datagrams.decode(data, TOKEN) is None


@given(st.integers(0, 255), st.integers(0, 2**32 - 1), st.sampled_from([64, 1200, 65, 0]))
def test_datagrams_with_the_token_are_of_a_known_kind_and_size(
    kind: int, number: int, length: int
) -> None:
    data = struct.pack("!16sBIQQQ", TOKEN, kind, number, 1, 2, 3).ljust(length, b"\0")[
        : length or 3
    ]
    read = datagrams.decode(data, TOKEN)
    if read is not None:
        assert read == Datagram(TOKEN, kind, number, 1, 2, 3)
        assert read.encode() == data
        assert kind in (datagrams.ECHO, datagrams.TRAIN, datagrams.TRAIN_WANTED)


@given(st.text(max_size=200))
def test_text_is_a_certificate_or_refused(text: str) -> None:
    framed_text = f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"
    for each in (text, framed_text):
        try:
            der(each)
        except ValueError:
            continue
