"""The page and the picture of two clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netwarp.figures.chart import Chart, finished
from netwarp.figures.style import GREY, SCREEN, TRANSPORT_STYLES, Spec, Theme
from netwarp.wording import number, transport_text
from second_clock_cells import COUNT, DELAYS_MS, DRAWS, SEED, Cell

NEAR = 0.01
"""How far two completion times may be apart that count as the same, as a share."""
MOST = 0.5
"""Share of a difference of which CPU time has to be more, to be its reason."""
CPU_CONTROL = (
    "on the same PC with instructions of two nanoseconds it takes longer, by more than half of the"
    " difference; by as much, what it took with one nanosecond is made shorter, and the rest is"
    " within 1 %"
)
CHANCE_CONTROL = (
    "the completion time moves as far in virtual time with what should decide nothing: round-trip"
    f" times longer by {', '.join(f'{each:g}' for each in DELAYS_MS)} ms, and {DRAWS} other seeds"
    " of the guest's own random numbers, while the same packets are lost (the seeds were added when"
    " two cells were left over)"
)
LEFT_OVER = """\
Nothing, in the run of 27 November 2026. The one of the day before had left three cells (c08, c16,
c20), in one of which the stock kernel lost 21 packets in place of 19. Between the two, FIFO queues
got a netem of their own behind the delay line, on both clocks
([decision 87](decisions/0087-a-fifo-queue-is-behind-the-delay-line.md)). Of the two cells in which
chance decides (c05, c17) was not followed what it decides."""
TITLE = "Virtual time over the clock of a stock kernel"
WITHIN, CPU, CHANCE, UNKNOWN = "within 1 %", "CPU time", "chance", "not explained"


@dataclass(frozen=True)
class Compared:
    """A cell's mean completion times, in seconds."""

    cell: Cell
    virtual_s: float
    stock_s: float
    """On the stock kernel, where an instruction takes 1 ns."""
    slower_s: float
    """On the stock kernel, where it takes 2 ns."""
    varied_s: tuple[float, ...] = ()
    """In virtual time with what decides nothing varied; empty where that was not run."""

    def with_varied(self, varied_s: Sequence[float]) -> Compared:
        """Return it with the completion times of that control."""
        return replace(self, varied_s=tuple(varied_s))

    @property
    def needs_reason(self) -> bool:
        """Whether it differs, and not by the CPU's time."""
        return not self.is_near and not self.is_by_cpu

    @property
    def ratio(self) -> float:
        """Virtual over stock."""
        return self.virtual_s / self.stock_s

    @property
    def without_cpu_ratio(self) -> float:
        """Virtual over stock, less what instructions took: by as much it is slower if each takes
        twice as long.
        """
        return self.virtual_s / (2 * self.stock_s - self.slower_s)

    @property
    def is_near(self) -> bool:
        """Whether both are the same."""
        return _is_near(self.ratio)

    @property
    def is_near_without_cpu(self) -> bool:
        """Whether both are the same without the CPU's time."""
        return _is_near(self.without_cpu_ratio)

    @property
    def is_by_cpu(self) -> bool:
        """Whether CPU time is most of the difference, and both are the same without it."""
        cpu_s = self.slower_s - self.stock_s
        return self.is_near_without_cpu and cpu_s > MOST * abs(self.stock_s - self.virtual_s)

    @property
    def is_sensitive(self) -> bool:
        """Whether what decides nothing moves virtual time as far."""
        times = (self.virtual_s, *self.varied_s)
        return min(times) * (1 - NEAR) <= self.stock_s <= max(times) * (1 + NEAR)

    @property
    def reason(self) -> str:
        """The reason for a difference, in a word."""
        if self.is_near:
            return WITHIN
        if self.is_by_cpu:
            return CPU
        return CHANCE if self.varied_s and self.is_sensitive else UNKNOWN


def _is_near(ratio: float) -> bool:
    return abs(ratio - 1) <= NEAR


def chart_of(compared: Sequence[Compared], theme: Theme = SCREEN) -> Chart:
    """Draw the ratio of both clocks over the completion time, as measured and without CPU time."""
    near = sum(each.is_near for each in compared)
    without = sum(each.is_near_without_cpu for each in compared)
    ratios = {
        "as measured": [each.ratio for each in compared],
        "without what instructions took": [each.without_cpu_ratio for each in compared],
    }
    farthest = max(2 * NEAR, *(abs(each - 1) for of in ratios.values() for each in of))
    panels = [_panel(title, compared, of, farthest, theme) for title, of in ratios.items()]
    alt = f"{TITLE}: {near} of {len(compared)} cells within 1 %."
    subtitle = [
        f"Completion times of {len(compared)} cells drawn at random: {near} within 1 %, without CPU"
        f" time {without}.",
        "The grey band is 1 % to either side.",
    ]
    spec: Spec = {"vconcat": panels}
    return Chart("second-clock", TITLE, alt, finished(spec, TITLE, subtitle, alt, theme))


def _panel(
    title: str,
    compared: Sequence[Compared],
    ratios: Sequence[float],
    farthest: float,
    theme: Theme,
) -> Spec:
    kinds = sorted({each.cell.transport for each in compared})
    names = [transport_text(kind) for kind in kinds]
    styles = [TRANSPORT_STYLES[kind] for kind in kinds]
    rows = [
        {"stock_s": each.stock_s, "ratio": ratio, "transport": transport_text(each.cell.transport)}
        for each, ratio in zip(compared, ratios, strict=True)
    ]

    def series(values: Sequence[str]) -> Spec:
        scale = {"domain": names, "range": list(values)}
        return {"field": "transport", "type": "nominal", "title": None, "scale": scale}

    x = {
        "field": "stock_s", "type": "quantitative", "scale": {"type": "log", "nice": False},
        "title": "completion time on the stock kernel (s)",
    }  # fmt: skip
    domain = [1 - 1.1 * farthest, 1 + 1.1 * farthest]
    y = {
        "field": "ratio", "type": "quantitative", "title": "virtual ÷ stock",
        "scale": {"domain": domain, "nice": False, "zero": False},
        "axis": {"format": ".3~g", "tickCount": 5},
    }  # fmt: skip
    band = {
        "data": {"values": [{"low": 1 - NEAR, "high": 1 + NEAR}]},
        "mark": {"type": "rect", "color": GREY, "opacity": 0.2},
        "encoding": {"y": y | {"field": "low"}, "y2": {"field": "high"}},
    }
    colours, shapes = [each.colour for each in styles], [each.shape for each in styles]
    dots = {
        "mark": {"type": "point", "filled": True, "size": theme.point_size, "opacity": 0.9},
        "encoding": {"x": x, "y": y, "color": series(colours), "shape": series(shapes)},
    }
    return {
        "title": {"text": title, "fontSize": theme.font_size, "fontWeight": 600, "frame": "bounds"},
        "data": {"values": rows},
        "layer": [band, dots],
        "width": theme.width - round(8 * theme.font_size),
        "height": theme.panel_height,
    }


def page(compared: Sequence[Compared], stock: str, guest: str) -> str:
    """Write the page: how many cells agree, the picture, the reasons, and every cell.

    Args:
        compared: all cells.
        stock: the release of the stock kernel.
        guest: the version of the guest kernel.
    """
    said = Counter(each.reason for each in compared)
    without = sum(each.is_near_without_cpu for each in compared)
    lossless = [each for each in compared if not each.cell.loss_percent]
    near_lossless = sum(each.is_near for each in lossless)
    return f"""# A second clock

<!-- Written by `make second-clock` (scripts/second_clock_page.py): change that. -->

Is virtual time the time that a real machine would have needed? Here the same jobs run twice: in a
guest (Linux {guest}, User-Mode Linux, in which CPU time is free), and on a distribution's own
kernel, {stock}, booted as it is shipped on a PC that QEMU emulates, by the endpoint's native way of
running jobs: namespaces, veth, netem. The PC's clock counts instructions, one nanosecond each
(`-icount shift=0,sleep=off`). It shares nothing with the guest's: timers of another architecture,
other ticks, preemption and configuration, and a CPU that takes time: 10⁹ instructions a second,
some ten times slower than a PC of today.

The {COUNT} cells were drawn at random (seed {SEED}, chosen before anything ran): four transports,
round-trip times from 10 to 200 ms, 1 to 20 Mbit/s, losses of 0.1 to 3 % on half of the paths, 30 kB
to 1 MB, queues of 1 to 4 BDP. Where packets are lost there are three replicates, which lose the
same packets on both kernels; where nothing is random, one. What is compared is their mean
completion time.

**{said[WITHIN]} of {len(compared)} cells are within 1 %** ({near_lossless} of the {len(lossless)}
without loss). Without the time that instructions took, {without} are.

![{TITLE}](images/second-clock.svg)

## Reasons

Each is the outcome of a control, and they are asked for in this order:

| reason | cells | control |
| --- | ---: | --- |
| {WITHIN} | {said[WITHIN]} | none is needed |
| {CPU} | {said[CPU]} | {CPU_CONTROL} |
| {CHANCE} | {said[CHANCE]} | {CHANCE_CONTROL} |
| {UNKNOWN} | {said[UNKNOWN]} | neither |

## What is left over

{LEFT_OVER}

## Cells

{_table(compared)}

## What this does not show

The PC is emulated: its devices, interrupts and caches are not those of hardware, and its paths are
veth and netem as the guest's are, so a fault of netem's would be in both. Round-trip times below
10 ms and rates above 20 Mbit/s, at which a CPU of this speed decides, were left out before drawing.
Mitigations of the CPU's faults are off (`mitigations=off`). MPTCP and UDP are not among the cells.

To do it again, with the kernel of any distribution that has netem with seeds (6.6 or later):

```
apt-get download linux-binary-{stock} linux-modules-{stock} busybox-static
for each in *.deb; do dpkg-deb -x "$each" stock; done
make second-clock ARGS='stock --busybox stock/bin/busybox'
```

Before 7.0, `linux-image-VERSION` has both parts of a kernel.
"""


def _table(compared: Sequence[Compared]) -> str:
    head = (
        "", "transport", "RTT", "rate", "loss", "size", "queue", "virtual (s)", "stock (s)",
        "virtual ÷ stock", "without CPU time", "reason",
    )  # fmt: skip
    lines = [f"| {' | '.join(head)} |", "| --- | --- |" + " ---: |" * 9 + " --- |"]
    lines += [f"| {' | '.join(_row(each))} |" for each in compared]
    return "\n".join(lines)


def _row(each: Compared) -> tuple[str, ...]:
    cell = each.cell
    return (
        cell.name,
        transport_text(cell.transport),
        f"{cell.rtt_ms:g} ms",
        f"{cell.rate_mbit:g} Mbit/s",
        f"{cell.loss_percent:g} %" if cell.loss_percent else "none",
        f"{cell.size_kb} kB",
        cell.queue.replace("bdp", " BDP"),
        number(each.virtual_s, 4),
        number(each.stock_s, 4),
        f"{each.ratio:.4f}",
        f"{each.without_cpu_ratio:.4f}",
        each.reason,
    )
