"""Pictures of methods: one table of two columns, and the groups that each method makes of it."""

from functools import cache
from html import escape

import numpy as np
import polars as pl

import polars_microagg as mg
from polars_microagg.core import registry

__all__ = ["K", "figures", "picture", "table"]

K = 4
WIDE, HIGH, EDGE = 400.0, 300.0, 14.0
COLOURS = 6

Point = tuple[float, float]


def table() -> pl.DataFrame:
    """Return the table that all pictures show: three clouds and some records between them."""
    rng = np.random.default_rng(7)
    cloud, many, wide = [(24, 32), (68, 66), (76, 22), (50, 46)], (15, 15, 10, 10), (15, 17, 11, 34)
    middles, spread = np.repeat(cloud, many, axis=0), np.repeat(wide, many)[:, None]
    drawn = middles + spread * (rng.random((len(middles), 2)) + rng.random((len(middles), 2)) - 1)
    return pl.DataFrame(drawn.round(1), schema=["x", "y"], orient="row")


@cache
def masked_by(name: str) -> tuple[pl.DataFrame, pl.Series | None]:
    """Return the masked table, and the group of each record where a method has groups of records."""
    before = table()
    after = mg.mask(before, ["x", "y"], K, method=name, dtype="float")
    if registry.methods()[name].unit != "record":
        return after, None
    # Groups have centres of their own here, so nothing has to be grouped twice.
    return after, after.select(pl.struct("x", "y").rank("dense") - 1).to_series()


def figures(name: str) -> dict[str, str]:
    """Return what a release of the table loses, and how many of its records are found again."""
    before, (after, groups) = table(), masked_by(name)
    sizes = "none" if groups is None else f"{groups.value_counts()['count'].max()}"
    return {
        "loss": f"{mg.loss(before, after):.2f} %",
        "dld": f"{mg.dld(before, after):.2f} %",
        "groups": "none" if groups is None else f"{groups.n_unique()}, the largest of {sizes}",
    }


def hull(points: list[Point]) -> list[Point]:
    """Return the corners of the convex hull, in order.

    >>> hull([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)])
    [(0, 0), (2, 0), (2, 2), (0, 2)]
    """
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered

    def side(walk: list[Point]) -> list[Point]:
        corners: list[Point] = []
        for x, y in walk:
            while len(corners) > 1:
                (ax, ay), (bx, by) = corners[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                corners.pop()
            corners.append((x, y))
        return corners[:-1]

    return side(ordered) + side(ordered[::-1])


def _placed(frame: pl.DataFrame, like: pl.DataFrame) -> list[Point]:
    low = np.array([like["x"].min(), like["y"].min()], float)
    high = np.array([like["x"].max(), like["y"].max()], float)
    share = (frame.to_numpy() - low) / (high - low)
    x = EDGE + share[:, 0] * (WIDE - 2 * EDGE)
    y = HIGH - EDGE - share[:, 1] * (HIGH - 2 * EDGE)
    return [(round(float(a), 1), round(float(b), 1)) for a, b in zip(x, y, strict=True)]


def picture(name: str, *, small: bool = False) -> str:
    """Draw records (dots), what each becomes (squares, joined by a line) and the groups (hulls)."""
    before, (after, groups) = table(), masked_by(name)
    dots, centres = _placed(before, before), _placed(after, before)
    number = [0] * len(dots) if groups is None else groups.to_list()
    drawn = []
    if groups is not None:
        for group in sorted(set(number)):
            corners = hull([dot for dot, its in zip(dots, number, strict=True) if its == group])
            path = " ".join(f"{x:g},{y:g}" for x, y in corners)
            drawn.append(f'<polygon class="hull c{group % COLOURS}" points="{path}"/>')
    for (x, y), (a, b), group in zip(dots, centres, number, strict=True):
        tone = f"c{group % COLOURS}"
        drawn.append(f'<line class="way {tone}" x1="{x:g}" y1="{y:g}" x2="{a:g}" y2="{b:g}"/>')
        drawn.append(f'<circle class="record {tone}" cx="{x:g}" cy="{y:g}" r="3.2"/>')
    drawn += [
        f'<rect class="centre" x="{a - 2.6:.1f}" y="{b - 2.6:.1f}" width="5.2" height="5.2"/>'
        for a, b in sorted(set(centres))
    ]
    what = "their groups" if groups is not None else "what each becomes"
    words = escape(f"{len(dots)} records of two columns and {what}, by {name} with k={K}")
    kind = "groups small" if small else "groups"
    return (
        f'<svg class="{kind}" role="img" aria-label="{words}" viewBox="0 0 {WIDE:g} {HIGH:g}">'
        f"{''.join(drawn)}</svg>"
    )
