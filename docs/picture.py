"""The picture of the README, of made-up patients before and after; `docs/generate.py` writes it."""

from html import escape

import polars as pl

import polars_microagg as mg
from docs.site.pictures import hull, table

__all__ = ["drawing", "patients"]

K = 4
WIDE, HIGH, EDGE, TOP, LEFT, GAP = 340, 260, 16, 40, 34, 26
"""Of a panel: width, height, space inside it, above it, beside the axis, and between the two."""

INK, QUIET, LINE, DOT, GROUP = "#1d2733", "#5a6877", "#c9d2db", "#2f6fb5", "#c2570c"

Point = tuple[float, float]


def patients() -> pl.DataFrame:
    """Return the records of the pictures of methods, as ages and incomes of fifty patients."""
    age, income = (20 + 0.7 * pl.col("x")).round(), (120 + 6 * pl.col("y")).round() * 100
    return table().select(age=age.cast(pl.Int64), income=income.cast(pl.Int64))


def _placed(frame: pl.DataFrame, like: pl.DataFrame, left: float) -> list[Point]:
    low, high = like.min().row(0), like.max().row(0)
    across, up = WIDE - 2 * EDGE, HIGH - 2 * EDGE
    return [
        (
            round(left + EDGE + across * (age - low[0]) / (high[0] - low[0]), 1),
            round(TOP + HIGH - EDGE - up * (income - low[1]) / (high[1] - low[1]), 1),
        )
        for age, income in frame.iter_rows()
    ]


def _panel(left: float, title: str) -> list[str]:
    return [
        f'<text x="{left}" y="{TOP - 14}" font-weight="600">{escape(title)}</text>',
        f'<rect x="{left}" y="{TOP}" width="{WIDE}" height="{HIGH}" fill="none" stroke="{LINE}"/>',
        f'<text x="{left + WIDE / 2:g}" y="{TOP + HIGH + 20}" fill="{QUIET}" '
        'text-anchor="middle">age</text>',
    ]


def _circles(dots: list[Point], radius: float, opacity: float) -> list[str]:
    return [
        f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{DOT}" fill-opacity="{opacity:g}"/>'
        for x, y in dots
    ]


def _groups(dots: list[Point], centres: list[Point]) -> list[str]:
    drawn = []
    for centre in sorted(set(centres)):
        members = [dot for dot, its in zip(dots, centres, strict=True) if its == centre]
        path = " ".join(f"{x:g},{y:g}" for x, y in hull(members))
        drawn.append(
            f'<polygon points="{path}" fill="{GROUP}" fill-opacity="0.12" stroke="{GROUP}" '
            'stroke-opacity="0.5" stroke-linejoin="round"/>'
        )
    return drawn


def _centres(centres: list[Point]) -> list[str]:
    """Draw each mean with the number of records that share it."""
    drawn = []
    for x, y in sorted(set(centres)):
        drawn += [
            f'<circle cx="{x:g}" cy="{y:g}" r="8.5" fill="{GROUP}"/>',
            f'<text x="{x:g}" y="{y + 4:g}" font-size="11" fill="#fff" '
            f'text-anchor="middle">{centres.count((x, y))}</text>',
        ]
    return drawn


def drawing() -> str:
    """Return the picture: every record, and beside it the means that stand for groups of them."""
    before = patients()
    after = mg.mdav(before, ["age", "income"], k=K)
    right = LEFT + WIDE + GAP
    dots = _placed(before, before, LEFT)
    moved, centres = _placed(before, before, right), _placed(after, before, right)
    middle = TOP + HIGH / 2
    wide, high = right + WIDE + EDGE, TOP + HIGH + 34
    words = (
        f"{before.height} made-up patients by age and income: before, each alone; after, "
        f"{after.n_unique()} means, each shared by at least {K} of them"
    )
    parts = [
        f'<rect width="{wide}" height="{high}" rx="6" fill="#fff"/>',
        *_panel(LEFT, f"Before: {before.height} patients, {before.n_unique()} different"),
        *_panel(right, f"After, k={K}: {after.n_unique()} different"),
        f'<text x="{LEFT - 12}" y="{middle:g}" fill="{QUIET}" text-anchor="middle" '
        f'transform="rotate(-90 {LEFT - 12} {middle:g})">income</text>',
        *_circles(dots, 3.5, 1),
        *_groups(moved, centres),
        *_circles(moved, 2, 0.45),
        *_centres(centres),
    ]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(words)}" '
        f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="14" fill="{INK}">\n'
        f"<title>{escape(words)}</title>\n{body}\n</svg>\n"
    )
