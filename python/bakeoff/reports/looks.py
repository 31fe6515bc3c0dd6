"""How schemes and flows look: a colour for light and one for dark paper, and a marker.

Colours and markers follow Pantheon's (StanfordSNR/pantheon, src/config.yml at 23e738c), darkened or lightened where
they would not stand out on the paper. Schemes that it does not have got theirs here.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# How far the last flow of a scheme is on the way to the paper.
_PALEST = 0.45
# And how far the colours of the cycle are at its second turn.
_SECOND_TURN = 0.3
_PROBES_AFTER = 4
# Nearer colours look alike in a legend.
_LEAST_DISTANCE = 0.06


@dataclass(frozen=True)
class Look:
    """A colour on each paper, and a marker.

    Attributes:
        light: colour on light paper.
        dark: colour on dark paper.
        marker: shape of the point.
    """

    light: str
    dark: str
    marker: str = "circle"

    @property
    def colours(self) -> dict[str, str]:
        """Both colours, as figures have them in their data."""
        return {"light": self.light, "dark": self.dark}


SCHEMES = {
    "cubic": Look("#1b1f24", "#e8eaed", "star"),
    "vegas": Look("#868e96", "#9aa5b1", "hexagon"),
    "bbr": Look("#b07d00", "#f0c24b", "triangle-up"),
    "ledbat": Look("#1a7f37", "#4ac26b", "triangle-left"),
    "pcc": Look("#0a8594", "#39c5cf", "triangle-right"),
    "verus": Look("#2f86bd", "#87ceeb", "hexagon-flat"),
    "sprout": Look("#cf6a08", "#ff9f43", "pentagon"),
    "quic_cubic": Look("#bd1597", "#ff74d9", "octagon"),
    "scream": Look("#d14d88", "#ffa5c9", "tripod"),
    "webrtc": Look("#85452a", "#cf9470", "triangle-down"),
    "copa": Look("#cf222e", "#ff7b72", "circle"),
    "taova": Look("#5f6872", "#b4bcc5", "diamond-thin"),
    "remycc": Look("#5f6872", "#b4bcc5", "diamond"),
    "vivace": Look("#1f4fd8", "#7aa2ff", "triangle-left"),
    "pcc_experimental": Look("#6b7300", "#b8c046", "triangle-left"),
    "fillp": Look("#9a3fd0", "#d29bff", "plus"),
    "fillp_sheep": Look("#9a3fd0", "#d29bff", "diamond"),
    "indigo": Look("#4b2fa8", "#a794ff", "diamond"),
    "indigo_2_256": Look("#4b2fa8", "#a794ff", "diamond"),
    "indigo_1_32": Look("#7a5fd0", "#c3b6ff", "diamond-thin"),
    "indigo_1_128": Look("#2b1a73", "#8a78e8", "square"),
    "muses": Look("#00796b", "#4fd1c0", "pentagon"),
    "reno": Look("#7b3f00", "#d9a066", "square"),
    # Those that Pantheon does not know, far from their relatives.
    "bbr3": Look("#c252bb", "#d665cf", "triangle-down"),
    "quic_bbr": Look("#465400", "#8ca507", "triangle-right"),
    "prague": Look("#20a04e", "#69f991", "pentagon"),
    "dctcp": Look("#b72164", "#f05b93", "diamond"),
    "dctcp_sce": Look("#6c1998", "#bc70ee", "plus"),
    "reno_sce": Look("#13618d", "#3ca2e0", "diamond-thin"),
    "cubic_sce": Look("#a172ac", "#edabfc", "triangle-right"),
    "quinn:bbr": Look("#5c4a9e", "#978ed2", "triangle-left"),
    "quinn:cubic": Look("#3a997d", "#20e8b7", "hexagon"),
    "quinn:newreno": Look("#e14754", "#f75c66", "diamond"),
    "ledbat_plus_plus": Look("#9043a1", "#db7af1", "triangle-right"),
    "westwood": Look("#296a3b", "#76cf8a", "pentagon"),
    "illinois": Look("#659815", "#adef5b", "diamond"),
    "sprout_ewma": Look("#99167b", "#dd86c1", "hexagon"),
    "koho_cc": Look("#8e0d39", "#ce7e8a", "plus"),
    "calibrated_koho": Look("#04585c", "#38abb1", "tripod"),
}

# Pantheon's cycle of flow colours: blue, green, red, yellow, cyan, magenta.
FLOWS = (
    Look("#2660c8", "#6ea8ff"),
    Look("#1a7f37", "#4ac26b"),
    Look("#cf222e", "#ff7b72"),
    Look("#a07000", "#e3b341"),
    Look("#0a8594", "#39c5cf"),
    Look("#a626a4", "#e58cff"),
)

# Shapes as rings of points around 0, reaching about 1; y grows downwards.
Ring = tuple[tuple[float, float], ...]


def _regular(corners: int, turn: float = 0.0, inner: float | None = None) -> Ring:
    """A regular polygon with a corner on top, turned by a part of a circle; with an inner radius a star."""
    steps = corners if inner is None else 2 * corners
    radii = [1.0 if inner is None or step % 2 == 0 else inner for step in range(steps)]
    angles = [2 * math.pi * (step / steps + turn) for step in range(steps)]
    return tuple(
        (radius * math.sin(angle), -radius * math.cos(angle)) for radius, angle in zip(radii, angles, strict=True)
    )


_ARM = 0.32
_PLUS: Ring = (
    (-_ARM, -1), (_ARM, -1), (_ARM, -_ARM), (1, -_ARM), (1, _ARM), (_ARM, _ARM),
    (_ARM, 1), (-_ARM, 1), (-_ARM, _ARM), (-1, _ARM), (-1, -_ARM), (-_ARM, -_ARM),
)  # fmt: skip

MARKERS: dict[str, Ring] = {
    "circle": _regular(24, 0),
    "square": _regular(4, 1 / 8),
    "diamond": _regular(4),
    "diamond-thin": ((0, -1.1), (0.6, 0), (0, 1.1), (-0.6, 0)),
    "triangle-up": _regular(3),
    "triangle-right": _regular(3, 1 / 4),
    "triangle-down": _regular(3, 1 / 2),
    "triangle-left": _regular(3, 3 / 4),
    "pentagon": _regular(5),
    "hexagon": _regular(6),
    "hexagon-flat": _regular(6, 1 / 12),
    "octagon": _regular(8, 1 / 16),
    "star": _regular(5, 0, 0.42),
    "tripod": _regular(3, 1 / 2, 0.22),
    "plus": _PLUS,
}


def marker_path(marker: str) -> str:
    """A marker as SVG path data, within -1.1..1.1."""
    points = " ".join(f"{x:.3f},{y:.3f}" for x, y in MARKERS[marker])
    return f"M{points}Z"


MARKER_CYCLE = (
    "circle", "square", "triangle-up", "diamond", "pentagon", "triangle-down",
    "plus", "star", "triangle-left", "triangle-right", "tripod", "diamond-thin",
)  # fmt: skip
"""Markers of those that have none of their own, in order."""

NEUTRAL = Look("#5f6872", "#b4bcc5")
"""The look of a marker that stands for no colour."""


def of_scheme(key: str, index: int) -> Look:
    """The look of a scheme; one that has none takes the next of the cycle.

    Args:
        key: key of the scheme, or empty for a mixture.
        index: its place among those shown.
    """
    if key in SCHEMES:
        return SCHEMES[key]
    colour = FLOWS[index % len(FLOWS)]
    # Every turn of the markers begins one further on, so that no pair comes again before all have been.
    marker = MARKER_CYCLE[(index + index // len(MARKER_CYCLE)) % len(MARKER_CYCLE)]
    return Look(colour.light, colour.dark, marker)


def with_marker(look: Look, index: int) -> Look:
    """The same colours with a marker of the cycle."""
    return Look(look.light, look.dark, MARKER_CYCLE[index % len(MARKER_CYCLE)])


def of_schemes(keys: Collection[str], variants: Mapping[str, str] | None = None) -> dict[str, Look]:
    """The looks of schemes that are seen together: each in a colour of its own, as far as there are colours.

    Args:
        keys: of the schemes.
        variants: the scheme of each name that stands for one with parameters.
    """
    found: dict[str, Look] = {}
    # Those with a colour of their own choose first.
    for place, key in enumerate(sorted(keys, key=lambda key: key not in SCHEMES)):
        look = of_scheme(key if key in SCHEMES else (variants or {}).get(key, key), place)
        others = tuple(found.values())
        if nearest(look, others) < _LEAST_DISTANCE:
            free = max((*FLOWS, look), key=lambda colour: nearest(colour, others))
            look = Look(free.light, free.dark, look.marker)
        found[key] = look
    return found


def nearest(look: Look, others: Collection[Look]) -> float:
    """How far the colours of a look are from those of the nearest other, on the paper where they are nearer."""
    pairs = (pair for other in others for pair in ((look.light, other.light), (look.dark, other.dark)))
    return min((math.dist(_oklab(one), _oklab(two)) for one, two in pairs), default=math.inf)


@functools.cache
def _oklab(colour: str) -> tuple[float, float, float]:
    """A colour where equal distances look equal: Ottosson's Oklab (bottosson.github.io/posts/oklab)."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def of_flows(schemes: Sequence[str], known: Mapping[str, Look]) -> list[Look]:
    """The looks of the flows of a run, in order.

    Args:
        schemes: of each flow.
        known: looks of schemes that meet in the report; a flow has the colour of its scheme, the paler the more flows
            of that scheme come before it. Where none meet, flows are told apart by their numbers.
    """
    if not known:
        return [of_flow(number) for number in range(1, len(schemes) + 1)]
    found = []
    for place, key in enumerate(schemes):
        before, copies = schemes[:place].count(key), schemes.count(key)
        found.append(_paler(known[key], _PALEST * before / max(1, copies - 1)))
    return found


def _paler(look: Look, share: float) -> Look:
    """Nearer to the paper by a share of the way."""
    return Look(_mixed(look.light, 255, share), _mixed(look.dark, 0, share), look.marker)


def _mixed(colour: str, paper: int, share: float) -> str:
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (paper - part)):02x}" for part in parts)


def of_flow(flow: int) -> Look:
    """The look of a flow among flows of its scheme, by its number from 1: twice as many as the cycle has differ."""
    turn, place = divmod(flow - 1, len(FLOWS))
    return _paler(FLOWS[place], _SECOND_TURN * (turn % 2))


def of_probe(probe: int) -> Look:
    """The look of a probe, by its number from 1; its colours are those after the ones of the first flows."""
    return of_flow(_PROBES_AFTER + probe)
