"""The lessons: what a class tries on the page, as options of `netwarp compare`.

What a lesson shows is also an expectation on its runs, so that a test finds lessons that do not
hold any more. All have the usual number of replicates. The page, docs/lessons.md and the tests read
this table. Lessons about events within a second take samples more often than usual.
"""

from collections.abc import Sequence

from netwarp.ui.lesson import Lesson, pairs, turn

LESSONS: Sequence[Lesson] = (
    Lesson(
        name="slow-start",
        title="Slow start",
        sentence="A small file takes round trips, not rate: the window begins with ten packets and"
        " doubles with each round trip, so it ends before the link is full.",
        look_for="Ten times the rate hardly helps: 403 ms in place of 425. Play the first"
        " replicate: the window doubles with each round trip, 14.5, 29 and 58 kB.",
        turns=("size", "rtt", "rate"),
        next_turns=(
            turn(
                "Halve the round-trip time: the completion time is halved.",
                "rtt=50ms",
                expect=["200mbit / 20mbit: completion_time_s >= 0.7"],
            ),
            turn(
                "Send 3 MB: from about there on the rate counts.",
                "size=3MB",
                expect=["200mbit / 20mbit: completion_time_s <= 0.7"],
            ),
        ),
        given=pairs(
            "transport=tcp size=100kB rtt=100ms rate=20mbit,200mbit"
            " against=path.rate=20mbit",
            expect=["200mbit / 20mbit: completion_time_s >= 0.7"],
        ),
    ),
    Lesson(
        name="bufferbloat",
        title="Bufferbloat",
        sentence="A queue of one BDP, the bandwidth-delay product, holds as many bytes as the path"
        " itself. One that is longer does not make a download faster: it only fills, and everybody"
        " on the link waits behind it.",
        look_for="The round-trip time under load grows with the queue, the completion time does"
        " not shrink. Open the first replicate over time: the queueing delay rises to the length of"
        " the queue, 40 and 320 ms.",
        turns=("queue", "size", "congestion"),
        next_turns=(
            turn(
                "Send 10 MB: the file ends before the longer queue is full, at 215 ms in "
                "place of 361.",
                "size=10MB",
                expect=["8bdp / 1bdp: rtt_under_load_s_p95 <= 3.5"],
            ),
            turn(
                "Set the congestion control to BBR: it does not fill a queue of 8 BDP, "
                "in which its round-trip time under load is that of 1 BDP.",
                "congestion=bbr",
                expect=["8bdp / 1bdp: rtt_under_load_s_p95 <= 1.1"],
            ),
        ),
        given=pairs(
            "transport=tcp size=20MB rtt=40ms rate=20mbit queue=1bdp,8bdp"
            " against=path.queue=1bdp metric=rtt_under_load_s_p95,completion_time_s",
            expect=["8bdp / 1bdp: rtt_under_load_s_p95 >= 4"],
        ),
    ),
    Lesson(
        name="head-of-line-blocking",
        title="Head-of-line blocking",
        sentence="A byte stream arrives in order: behind one lost packet all messages wait for its"
        " repetition, also those that have arrived.",
        look_for="The 99th percentile of the delay: of UDP it is the path's, half a round trip; of"
        " TCP it is a round trip and more above that. UDP has lost one message of a hundred in"
        " exchange, TCP none.",
        turns=("loss", "rtt", "flow"),
        next_turns=(
            turn(
                "Set the loss to nothing: the two are alike.",
                "loss=",
                expect=["tcp / udp: message_delay_s_p99 <= 1.1"],
            ),
            turn(
                "Set the round-trip time to 200 ms: a repetition takes longer, and TCP's "
                "window, which losses keep small, carries the messages no more. They wait "
                "for seconds before they are sent.",
                "rtt=200ms",
                expect=["tcp / udp: message_delay_s_p99 >= 5"],
            ),
        ),
        given=pairs(
            "flow=1mbit duration=10s transport=udp,tcp rtt=80ms rate=20mbit loss=1%"
            " metric=message_delay_s_p99,message_loss_ratio",
            "sampling=20ms",
            expect=["tcp / udp: message_delay_s_p99 >= 1.5"],
        ),
    ),
    Lesson(
        name="bbr-against-cubic",
        title="BBR against CUBIC",
        sentence="CUBIC takes every loss for a full queue and sends less; BBR measures rate and"
        " round-trip time, and goes on.",
        look_for="With random losses BBR keeps the link nearly full, and CUBIC's window stays so"
        " small that its goodput is a seventh of that. BBR pays with retransmissions, and with"
        " a queue when it begins.",
        turns=("loss", "rtt", "queue"),
        next_turns=(
            turn(
                "Set the loss to nothing: the two are alike.",
                "loss=",
                expect=["bbr / cubic: completion_time_s >= 0.9"],
            ),
            turn(
                "Set the round-trip time to 10 ms: CUBIC's window grows back sooner, and "
                "BBR needs more than half its time.",
                "rtt=10ms",
                expect=["bbr / cubic: completion_time_s >= 0.5"],
            ),
        ),
        given=pairs(
            "transport=tcp congestion=cubic,bbr size=10MB rtt=50ms rate=20mbit loss=1%"
            " against=transport.congestion=cubic",
            "sampling=25ms",
            expect=["bbr / cubic: completion_time_s <= 0.7"],
        ),
    ),
    Lesson(
        name="rtt-unfairness",
        title="Round-trip times are not equal",
        sentence="Two flows share a link; the one whose round trip is eight times as long opens its"
        " window more slowly, and gets less.",
        look_for="The shares: nine tenths and one.",
        turns=("rtts", "congestion", "discipline"),
        next_turns=(
            turn(
                "Set the congestion control to BBR: now the flow with the long round trip "
                "has most of the link.",
                "congestion=bbr",
                expect=["flow2.share_ratio >= 60 %"],
            ),
            turn(
                "Set the discipline to fq_codel, a queue for each flow: the second has more"
                " than a third, and Jain's index is 0.94.",
                "discipline=fq_codel",
                expect=["flow2.share_ratio >= 33 %"],
            ),
        ),
        given=pairs(
            "transport=tcp congestion=reno rtts=20ms,160ms rate=20mbit stop=30s",
            expect=["flow2.share_ratio <= 40 %"],
        ),
    ),
    Lesson(
        name="queue-management",
        title="Active queue management",
        sentence="A discipline that drops early, or gives each flow a queue of its own, keeps a"
        " long queue empty.",
        look_for="The round-trip time under load: 215 ms with a plain queue, 46 with fq_codel in"
        " as much room, where the path itself has 40. The download pays 5 % of its time for it.",
        turns=("discipline", "queue"),
        next_turns=(
            turn(
                "Set the queue to 1 BDP: a plain one of this length is at 79 ms, which does"
                " not help as much as fq_codel does in any length.",
                "queue=1bdp",
                expect=["fq_codel / fifo: rtt_under_load_s_p95 >= 0.5"],
            ),
        ),
        given=pairs(
            "transport=tcp size=10MB rtt=40ms rate=20mbit queue=8bdp discipline=fifo,fq_codel"
            " against=path.discipline=fifo"
            " metric=rtt_under_load_s_p95,completion_time_s",
            expect=["fq_codel / fifo: rtt_under_load_s_p95 <= 0.5"],
        ),
    ),
    Lesson(
        name="0-rtt",
        title="0-RTT",
        sentence="Who has been at a server before need not shake hands again: the request goes with"
        " the first packet.",
        look_for="Two round trips with a handshake, one without.",
        turns=("size", "rtt", "resume"),
        next_turns=(
            turn(
                "Send 10 kB: the gain is gone, since a server sends at most three times "
                "what it has received until it knows that the address is the client's (RFC "
                "9000, section 8).",
                "size=10kB",
                expect=["0rtt / none: completion_time_s >= 0.95"],
            ),
        ),
        given=pairs(
            "transport=quic size=1kB rtt=100ms rate=20mbit resume=none,0rtt"
            " against=transport.resume=none",
            expect=["0rtt / none: completion_time_s <= 0.6"],
        ),
    ),
    Lesson(
        name="handover",
        title="A client that moves",
        sentence="When a client comes to another access point, its address changes and its"
        " connections are at an end: new ones take TCP and TLS two round trips, QUIC one.",
        look_for="How long nothing arrives after a handover: four round trips with TLS, two with"
        " QUIC. Each has one more than its handshake, in which the request travels. TLS's fourth is"
        " that of a record of 16 kB, of which nothing can be read before all of it is there: the"
        " first window, ten packets, is smaller.",
        turns=("rtt", "set"),
        next_turns=(
            turn(
                "Set `transport.initial_window=20` beside the handovers: TLS has three "
                "round trips in place of four.",
                "",
                "path.handovers.every=2s",
                "path.handovers.count=2",
                "transport.initial_window=20",
                expect=["quic / tls: handover_gap_s >= 0.6"],
            ),
            turn(
                "Set `transport.reconnect=new,migrate` for QUIC alone: a connection that "
                "goes along saves hardly more than the handshake did, since the new path "
                "has to be proven too.",
                "transport=quic",
                "path.handovers.every=2s",
                "path.handovers.count=2",
                "transport.reconnect=new,migrate",
                expect=["migrate / new: handover_gap_s >= 0.95"],
            ),
        ),
        given=pairs(
            "transport=tls,quic size=10MB rtt=50ms rate=20mbit"
            " metric=handover_gap_s,completion_time_s",
            "path.handovers.every=2s", "path.handovers.count=2",
            expect=["quic / tls: handover_gap_s <= 0.8"],
        ),
    ),
    Lesson(
        name="mptcp",
        title="Two paths at once",
        sentence="Multipath TCP carries one connection over several paths, and takes what each of"
        " them gives.",
        look_for="Two links of the same rate, and little more than half the time of one.",
        turns=("set", "rate", "rtt"),
        next_turns=(
            turn(
                "Give the second path another round-trip time, `path.second.rtt=100ms`: it "
                "still pays.",
                "",
                "path.second.rate=10mbit",
                "path.second.rtt=100ms",
                expect=["mptcp / tcp: completion_time_s <= 0.7"],
            ),
        ),
        given=pairs(
            "transport=tcp,mptcp size=10MB rtt=30ms rate=10mbit",
            "path.second.rate=10mbit",
            expect=["mptcp / tcp: completion_time_s <= 0.7"],
        ),
    ),
    Lesson(
        name="sctp-streams",
        title="SCTP's streams",
        sentence="Eight streams of one association share a handshake and a window; eight"
        " associations have eight of each, and a loss halves one window of eight.",
        look_for="Under loss, eight associations (streams 1) are sooner done than eight streams of"
        " one.",
        turns=("streams", "chunks", "loss"),
        next_turns=(
            turn(
                "Set the loss to nothing: the difference is that of the first windows, an "
                "eighth.",
                "loss=",
                expect=["8 / 1: completion_time_s <= 1.2"],
            ),
        ),
        given=pairs(
            "transport=sctp size=4MB chunks=8 streams=1,8 rtt=80ms rate=20mbit loss=1%"
            " against=transport.streams=1",
            expect=["8 / 1: completion_time_s >= 1.3"],
        ),
    ),
    Lesson(
        name="http-versions",
        title="HTTP/1.1 to HTTP/3",
        sentence="HTTP/3 is there a round trip sooner, since QUIC shakes hands once. But HTTP/2 and"
        " HTTP/3 have one congestion window where HTTP/1.1 has six, and a random loss halves it.",
        look_for="The time to the first byte: two round trips with HTTP/3, three and more with the"
        " others; and the time until the page is loaded, more than twice as long with HTTP/2 and"
        " HTTP/3. Open the first replicate over time for its waterfall.",
        turns=("loss", "rtt", "page"),
        next_turns=(
            turn(
                "Set the loss to nothing: the order is the other way round.",
                "loss=",
                expect=["2 / 1.1: page_load_time_s <= 0.9", "3 / 2: first_byte_s <= 0.8"],
            ),
        ),
        given=pairs(
            "page=web-30 http=1.1,2,3 rtt=100ms rate=20mbit loss=2%"
            " metric=page_load_time_s,first_byte_s",
            expect=[
                "3 / 2: first_byte_s <= 0.8", "2 / 1.1: page_load_time_s >= 1.2",
            ],
        ),
    ),
    Lesson(
        name="incast",
        title="Incast",
        sentence="Many answers come to one host at once: the queue before it has no room, and who"
        " loses the end of an answer waits for a time-out of 200 ms, a thousand round trips.",
        look_for="The same bytes over 4 and over 64 connections that begin together: open the first"
        " replicate over time for the pause, in which nothing arrives.",
        turns=("chunks", "queue", "size"),
        next_turns=(
            turn(
                "Set the queue to 4 MB: there is no pause.",
                "queue=4MB",
                expect=["64 / 4: completion_time_s <= 1.5"],
            ),
            turn(
                "Set the queue to 64 kB: it loses handshakes too, which wait for a second.",
                "queue=64kB",
                expect=["64 / 4: completion_time_s >= 3"],
            ),
        ),
        given=pairs(
            "transport=tcp size=4MB chunks=4,64 rtt=200us rate=1gbit queue=256kB"
            " against=workload.chunks=4 dial=parallel",
            expect=["64 / 4: completion_time_s >= 3"],
        ),
    ),
)  # fmt: skip
"""The lessons, in an order in which a course can take them."""
BY_NAME = {lesson.name: lesson for lesson in LESSONS}
