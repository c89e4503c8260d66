"""The built-in pages: their resources, and which resource refers to which.

Three have sizes of today's pages: a light, a median and a heavy one. Their bytes by type follow the
HTTP Archive's medians of October 2024 (Web Almanac 2024, chapter Page Weight: desktop, 71 requests;
images 1 054 kB, scripts 613 kB, fonts 131 kB, stylesheets 78 kB, HTML 18 kB): `web-80` has those,
`web-30` about a third, `web-150` about twice to three times as much.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

from netwarp import wire
from netwarp.workloads.page.resources import SiteResource, resources

PageName = Literal["nam-2021", "web-30", "web-80", "web-150"]
SEED = 2024
"""Seed for the random order of the sizes of a page's resources of one type."""
SPREAD = 1.0
"""Standard deviation of the natural logarithms of sizes: the 90th percentile is 3.6 times the
median.
"""
kB = 1000  # noqa: N816 - the unit's name


@dataclass(frozen=True)
class Makeup:
    """The number of a page's resources of one type, and their total size in bytes."""

    number: int
    total_bytes: int


_WEB: Mapping[PageName, Mapping[wire.ResourceType, Makeup]] = {
    "web-30": {
        "document": Makeup(1, 12 * kB),
        "stylesheet": Makeup(3, 30 * kB),
        "script": Makeup(9, 200 * kB),
        "font": Makeup(2, 50 * kB),
        "image": Makeup(12, 380 * kB),
        "fetch": Makeup(3, 20 * kB),
    },
    "web-80": {
        "document": Makeup(1, 18 * kB),
        "stylesheet": Makeup(8, 78 * kB),
        "script": Makeup(27, 613 * kB),
        "font": Makeup(4, 131 * kB),
        "image": Makeup(32, 1054 * kB),
        "fetch": Makeup(8, 60 * kB),
    },
    "web-150": {
        "document": Makeup(1, 40 * kB),
        "stylesheet": Makeup(14, 170 * kB),
        "script": Makeup(52, 1400 * kB),
        "font": Makeup(7, 260 * kB),
        "image": Makeup(60, 2800 * kB),
        "fetch": Makeup(16, 150 * kB),
    },
}


def built_in_page(name: PageName) -> tuple[wire.PageResource, ...]:
    """Return the resources of a built-in page."""
    return resources(_nam_2021() if name == "nam-2021" else _web(_WEB[name]))


def _nam_2021() -> list[SiteResource]:
    """Return the resources of nam-2021: HTML, CSS, JS and five images, as the publication says,
    which gives no sizes.

    Sizes are assumed: 60 kB for an image, the rest as in a small one-page site.
    """
    return [
        SiteResource("/", "document", 15 * kB),
        SiteResource("/style.css", "stylesheet", 20 * kB, "/", in_head=True),
        SiteResource("/script.js", "script", 60 * kB, "/", in_head=True),
        *(SiteResource(f"/image-{n}.webp", "image", 60 * kB, "/") for n in range(1, 6)),
    ]


def _web(makeup: Mapping[wire.ResourceType, Makeup]) -> list[SiteResource]:
    """Return the resources of a page with these numbers and sizes by type.

    The document refers to all stylesheets and to a third of the scripts in its head, which block
    what is shown; to another third of the scripts, which do not block; and to three quarters of the
    images. A stylesheet refers to the fonts. Scripts ask for the other scripts, for the other
    images and for data.
    """
    draw = random.Random(SEED)  # noqa: S311 - an order of sizes is no secret
    sizes = {kind: iter(_sizes(each, draw)) for kind, each in makeup.items()}
    scripts = makeup["script"].number
    in_head, late = scripts // 3, scripts // 3
    names = {kind: count(1) for kind in makeup}

    def some(kind: wire.ResourceType, number: int, suffix: str) -> Iterator[tuple[str, int]]:
        for _ in range(number):
            yield f"/{kind}-{next(names[kind])}{suffix}", next(sizes[kind])

    page = [SiteResource("/", "document", next(sizes["document"]))]
    for path, size in some("stylesheet", makeup["stylesheet"].number, ".css"):
        page.append(SiteResource(path, "stylesheet", size, "/", in_head=True))
    for path, size in some("script", in_head, ".js"):
        page.append(SiteResource(path, "script", size, "/", in_head=True))
    for path, size in some("script", scripts - in_head - late, ".js"):
        page.append(SiteResource(path, "script", size, "/"))
    referring = [each.path for each in page if each.type == "script"]
    shown = makeup["image"].number * 3 // 4
    for path, size in some("image", shown, ".webp"):
        page.append(SiteResource(path, "image", size, "/"))
    for path, size in some("font", makeup["font"].number, ".woff2"):
        page.append(SiteResource(path, "font", size, "/stylesheet-1.css"))
    for path, size in some("script", late, ".js"):
        page.append(SiteResource(path, "script", size, draw.choice(referring)))
    for path, size in some("image", makeup["image"].number - shown, ".webp"):
        page.append(SiteResource(path, "image", size, draw.choice(referring)))
    for path, size in some("fetch", makeup["fetch"].number, ".json"):
        page.append(SiteResource(path, "fetch", size, draw.choice(referring)))
    return page


def _sizes(makeup: Makeup, draw: random.Random) -> Sequence[int]:
    """Return log-normal sizes in bytes with a given sum: quantiles of the distribution, in random
    order.
    """
    from statistics import NormalDist

    normal = NormalDist(0, SPREAD)
    places = [(index + 0.5) / makeup.number for index in range(makeup.number)]
    shares = [math.exp(normal.inv_cdf(place)) for place in places]
    sizes = [round(makeup.total_bytes * share / math.fsum(shares)) for share in shares]
    draw.shuffle(sizes)
    return sizes
