"""Calculates CUBIC's average window under one loss every 1/p packets, round trip by round trip.

It is the control for what the closed form in RFC 9438 leaves out.
"""

from __future__ import annotations

import math

C = 0.4
BETA = 0.7
ALPHA = 3 * (1 - BETA) / (1 + BETA)
"""Packets by which the Reno-friendly window grows in each round trip (RFC 9438, section 4.3)."""
LARGEST_STEP = 1.5
"""A window's target is at most this many times the window (RFC 9438, section 4.2)."""
NOTHING = 1e-9


def closed_form(packets: float, rtt_s: float) -> float:
    """Return the number that the RFC tabulates: the larger of the two averages (equation 6).

    Args:
        packets: packets from one loss to the next, 1/p.
        rtt_s: the round-trip time in s.
    """
    factor = math.sqrt(math.sqrt(C * (3 + BETA) / (4 * (1 - BETA))))
    return max(factor * math.pow(rtt_s * packets, 0.75), math.sqrt(1.5 * packets))


def round_by_round(
    packets: float, rtt_s: float, start: float, losses: int, *, fast_convergence: bool = True
) -> float:
    """Return the mean window over the second half of the losses.

    The window is the larger of cubic and Reno-friendly window in each round trip, where the closed
    form takes the larger of their averages.

    Args:
        packets: packets from one loss to the next, 1/p.
        rtt_s: the round-trip time in s.
        start: the window in packets at the first loss.
        losses: how many there are.
        fast_convergence: whether a window that fell short of the last one gives way (section 4.7).
    """
    origin, window = start, start * BETA
    epochs: list[tuple[float, float]] = []
    for _ in range(losses):
        k_s = math.cbrt(max(0.0, (origin - window) / C))
        friendly, left, rounds = window, packets, 0.0
        while left > NOTHING * packets:
            part = min(1.0, left / window)
            left -= window * part
            rounds += part
            friendly += ALPHA * part
            target = C * (rtt_s * (rounds + 1) - k_s) ** 3 + origin
            window = max(window, friendly, min(target, LARGEST_STEP * window))
        epochs.append((rounds, packets))
        gives_way = fast_convergence and window < origin
        origin = window * (1 + BETA) / 2 if gives_way else window
        window *= BETA
    half = epochs[losses // 2 :]
    return sum(sent for _, sent in half) / sum(rounds for rounds, _ in half)
