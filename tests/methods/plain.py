"""The distance methods done plainly: every distance computed every time, by clear loops.

Whole numbers are those of Python, and means of them fractions, so that nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition, Vector

SAME = 1e-9
"""Sums of squares this close, relatively, are taken to be equal on paper."""


EXACT = 2**50
"""The library keeps all digits of sums up to here."""


def on_paper(x: Matrix) -> Matrix:
    """Exact numbers if all are whole multiples of a power of two; otherwise less their mean."""
    values = np.array([[Fraction(value) for value in row] for row in x.tolist()], dtype=object)
    unit = math.lcm(*(value.denominator for row in values for value in row))
    whole = np.array([[int(value * unit) for value in row] for row in values], dtype=object)
    if x.dtype == object or len(x) * np.ptp(whole, axis=0).max() <= EXACT:
        return whole
    centred: Matrix = x - np.cumsum(x, axis=0)[-1] / len(x)
    return centred


def divided(sums: Vector, count: int) -> Vector:
    """Mean of records, as fractions if they are exact."""
    if sums.dtype != object:
        return sums / count
    return np.array([Fraction(value, count) for value in sums], dtype=object)


class Plain:
    """Records that no group has taken yet, and the groups formed so far."""

    def __init__(self, x: Matrix, k: int) -> None:
        self.k = k
        self.z = on_paper(x)
        self.left = list(range(len(x)))
        self.groups: list[list[int]] = []
        self.restart()

    def restart(self) -> None:
        self.summed = len(self.left)
        self.sum = np.cumsum(self.z[self.left], axis=0)[-1]

    def distance(self, row: int, point: Vector) -> float:
        squares = 0
        for mine, theirs in zip(self.z[row].tolist(), point.tolist(), strict=True):
            squares += (mine - theirs) ** 2
        return squares

    def mean(self) -> Vector:
        """Mean of the records that are left: a running sum, taken afresh when half are gone."""
        if 2 * len(self.left) <= self.summed:
            self.restart()
        return divided(self.sum, len(self.left))

    def farthest(self, point: Vector) -> int:
        return max(self.left, key=lambda row: (self.distance(row, point), -row))

    def nearest(self, point: Vector, among: Sequence[int]) -> int:
        return min(among, key=lambda row: (self.distance(row, point), row))

    def remove(self, rows: list[int]) -> None:
        self.left = [row for row in self.left if row not in rows]
        self.sum = self.sum - np.cumsum(self.z[rows], axis=0)[-1]

    def near(self, row: int) -> list[int]:
        """The record and the k - 1 nearest to it."""
        others = [other for other in self.left if other != row]
        others.sort(key=lambda other: (self.distance(other, self.z[row]), other))
        return sorted([row, *others[: self.k - 1]])

    def take(self, row: int) -> None:
        self.groups.append(self.near(row))
        self.remove(self.groups[-1])

    def grow(self, row: int) -> None:
        """The record, and k - 1 times the one nearest to the mean of those taken."""
        group = [row]
        self.remove([row])
        while len(group) < self.k:
            mean = divided(np.cumsum(self.z[group], axis=0)[-1], len(group))
            group.append(self.nearest(mean, self.left))
            self.remove(group[-1:])
        self.groups.append(group)

    def centroid(self, group: Sequence[int]) -> Vector:
        return divided(np.cumsum(self.z[sorted(group)], axis=0)[-1], len(group))

    def join(self) -> list[list[int]]:
        """Each record left over to the nearest centroid, before any is added."""
        centroids = [self.centroid(group) for group in self.groups]
        joined = [list(group) for group in self.groups]
        for row in self.left:
            distances = [self.distance(row, centroid) for centroid in centroids]
            joined[distances.index(min(distances))].append(row)
        return joined


def labelled(groups: Sequence[Sequence[int]], n: int) -> Labels:
    labels = np.full(n, -1)
    for number, group in enumerate(groups):
        labels[list(group)] = number
    assert labels.min() >= 0
    return Partition.from_labels(labels).labels


def sse(z: Matrix, group: Sequence[int]) -> float:
    """Sum of squares about the mean, exact but for the last bits."""
    squares = []
    for column in z[list(group)].T.tolist():
        offsets = [value - column[0] for value in column]
        mean = math.fsum(offsets) / len(offsets)
        squares += [(offset - mean) ** 2 for offset in offsets]
    return math.fsum(squares)


def tuned(
    z: Matrix, groups: Sequence[Sequence[int]], order: Sequence[int], most: float = math.inf
) -> list[list[int]]:
    """Fine-tuning: what the groups cost is computed from nothing for every group checked."""
    plain = Plain(z, 0)
    plain.z = z
    now = {number: sorted(group) for number, group in enumerate(groups)}
    for number in order:
        others = {other: group for other, group in now.items() if other != number}
        if not others:
            break
        centroids = {other: plain.centroid(group) for other, group in others.items()}
        then = {other: list(group) for other, group in others.items()}
        for row in now[number]:
            distances = {other: plain.distance(row, point) for other, point in centroids.items()}
            then[min(distances, key=lambda other: (distances[other], other))].append(row)
        if any(len(then[other]) > most for other in others if then[other] != others[other]):
            continue
        grown = [other for other in others if then[other] != others[other]]
        growth = math.fsum(sse(z, then[g]) - sse(z, others[g]) for g in grown)
        if growth < (1 - SAME) * sse(z, now[number]):
            now = then
    return [now[number] for number in sorted(now)]


def by_sse(z: Matrix, groups: Sequence[Sequence[int]]) -> list[int]:
    """Numbers of groups by their sum of squares, the greatest first, of equal ones the lowest."""
    costs = dict(enumerate(sse(z, group) for group in groups))
    order = []
    while costs:
        worst = min(g for g in costs if costs[g] >= (1 - SAME) * max(costs.values()))
        order.append(worst)
        del costs[worst]
    return order


def split(x: Matrix, k: int, groups: Sequence[Sequence[int]], by: str) -> list[list[int]]:
    """Groups of 2k or more are grouped again."""
    again = {"mdav1": mdav1, "tfrp1": tfrp1}[by]
    parts = []
    for group in groups:
        rows = sorted(group)
        if len(rows) < 2 * k:
            parts.append(rows)
            continue
        labels = again(x[rows], k)
        parts += [[rows[i] for i in np.flatnonzero(labels == g)] for g in range(labels.max() + 1)]
    return parts


def one_group(x: Matrix) -> Labels:
    return np.zeros(len(x), dtype=np.intp)


def mdav1(x: Matrix, k: int) -> Labels:
    if len(x) < 2 * k:
        return one_group(x)
    plain = Plain(x, k)
    while len(plain.left) >= 2 * k:
        r = plain.farthest(plain.mean())
        s = plain.farthest(plain.z[r])
        plain.take(r)
        if s not in plain.left:
            s = plain.farthest(plain.z[r])
        plain.take(s)
    if len(plain.left) >= k:
        plain.take(plain.farthest(plain.mean()))
    return labelled(plain.join(), len(x))


def cbfs(x: Matrix, k: int) -> Labels:
    if len(x) < 2 * k:
        return one_group(x)
    plain = Plain(x, k)
    while len(plain.left) >= k:
        plain.take(plain.farthest(plain.mean()))
    return labelled(plain.join(), len(x))


def tfrp1(x: Matrix, k: int) -> Labels:
    if len(x) < 2 * k:
        return one_group(x)
    plain, values = Plain(x, k), Plain(x, k)
    if values.z.dtype != object:
        values.z = x
    points = [np.full(x.shape[1], extreme) for extreme in (values.z.min(), values.z.max())]
    while len(plain.left) >= k:
        values.left = plain.left
        plain.take(values.farthest(points[len(plain.groups) % 2]))
    return labelled(plain.join(), len(x))


def md(x: Matrix, k: int, grow: str = "centroid", leftover: str = "each") -> Labels:
    if len(x) < 2 * k:
        return one_group(x)
    plain = Plain(x, k)
    while len(plain.left) >= 2 * k:
        reach = {
            row: plain.distance(plain.farthest(plain.z[row]), plain.z[row]) for row in plain.left
        }
        ends = [row for row in plain.left if reach[row] == max(reach.values())]
        mean = plain.mean()
        first = max(ends, key=lambda row: (plain.distance(row, mean), -row))
        other = plain.farthest(plain.z[first])
        for row in (first, other):
            if row not in plain.left:
                row = plain.farthest(plain.z[first])
            plain.grow(row) if grow == "centroid" else plain.take(row)
    if len(plain.left) >= k:
        plain.groups.append(plain.left)
        plain.left = []
    if leftover == "each" or not plain.left:
        return labelled(plain.join(), len(x))
    mean = plain.centroid(plain.left)
    plain.z[0] = mean
    distances = [plain.distance(0, plain_centroid) for plain_centroid in last_two(x, plain.groups)]
    plain.groups[len(plain.groups) - 2 + distances.index(min(distances))] += plain.left
    return labelled(plain.groups, len(x))


def last_two(x: Matrix, groups: list[list[int]]) -> list[Vector]:
    fresh = Plain(x, 0)
    return [fresh.centroid(group) for group in groups[-2:]]


def vmdav(x: Matrix, k: int, gamma: float) -> Labels:
    if len(x) < 2 * k:
        return one_group(x)
    plain = Plain(x, k)
    origin = plain.mean()
    while len(plain.left) >= k:
        plain.take(plain.farthest(origin))
        group = plain.groups[-1]
        while len(group) < 2 * k - 1 and len(plain.left) > 1:
            d_in = {row: min(plain.distance(row, plain.z[q]) for q in group) for row in plain.left}
            row = min(plain.left, key=lambda row: (d_in[row], row))
            d_out = min(plain.distance(o, plain.z[row]) for o in plain.left if o != row)
            if not d_in[row] ** 0.5 < gamma * d_out**0.5:
                break
            group.append(row)
            plain.remove([row])
    return labelled(split(x, k, plain.join(), "mdav1"), len(x))


def densest(plain: Plain) -> None:
    while len(plain.left) >= plain.k:
        neighbourhoods = {row: plain.near(row) for row in plain.left}
        spread = {row: sse(plain.z, group) for row, group in neighbourhoods.items()}
        least = min(spread.values())
        row = min(row for row in plain.left if spread[row] <= (1 + SAME) * least)
        plain.groups.append(neighbourhoods[row])
        plain.remove(neighbourhoods[row])


def dba1(x: Matrix, k: int) -> Labels:
    if len(x) < 2 * k:
        return one_group(x)
    plain = Plain(x, k)
    densest(plain)
    return labelled(plain.join(), len(x))


def dba2(x: Matrix, k: int) -> Labels:
    if len(x) < 2 * k:
        return one_group(x)
    plain = Plain(x, k)
    densest(plain)
    groups = plain.join()
    groups = tuned(plain.z, groups, range(len(groups))[::-1])
    return labelled(split(x, k, groups, "mdav1"), len(x))


def fine_tuned(x: Matrix, k: int, labels: Labels, by: str, most: float = math.inf) -> Labels:
    z = Plain(x, k).z
    groups = [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)]
    groups = tuned(z, groups, by_sse(z, groups), most)
    return labelled(split(x, k, groups, by), len(x))


def mdav2(x: Matrix, k: int) -> Labels:
    return fine_tuned(x, k, mdav1(x, k), "mdav1")


def tfrp2(x: Matrix, k: int) -> Labels:
    return fine_tuned(x, k, tfrp1(x, k), "tfrp1", 4 * k - 1)
