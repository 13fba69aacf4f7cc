"""Disclosure risk and score: weighted means of the other measures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from polars_microagg.core.registry import Range, metric

__all__ = ["dr", "score"]

Part = Literal["il", "dld", "pld", "interval_disclosure"]
Weights = Literal["mic1d", "sugeno"] | Mapping[Part, float]

PRESETS: dict[str, dict[str, float]] = {
    "mic1d": {"il": 0.5, "dld": 0.25, "interval_disclosure": 0.25},
    "sugeno": {"il": 0.5, "dld": 0.125, "pld": 0.125, "interval_disclosure": 0.25},
}


def _shares(weights: Weights, *, risk: bool) -> dict[str, float]:
    """Weights of the parts that count, scaled to sum 1; a risk leaves out information loss."""
    listed = PRESETS[weights] if isinstance(weights, str) else dict(weights)
    counted = {part: w for part, w in listed.items() if w and not (risk and part == "il")}
    total = sum(counted.values())
    return {part: weight / total for part, weight in counted.items()}


def _risk_parts(*, weights: Weights) -> Collection[str]:
    return _shares(weights, risk=True)


def _parts(*, weights: Weights) -> Collection[str]:
    return _shares(weights, risk=False)


def _weighted(shares: Mapping[str, float], values: Mapping[str, float | None]) -> float | None:
    """Weighted mean; None if a part that counts has no value, or none counts."""
    summed = 0.0
    for part, share in shares.items():
        value = values[part]
        if value is None:
            return None
        summed += share * value
    return summed if shares else None


@metric(
    cite="Domingo-Ferrer and Torra (2001)", needs=_risk_parts, assessed=130, reported=True, unit="%"
)
def dr(
    dld: float | None,
    pld: float | None,
    interval_disclosure: float | None,
    /,
    *,
    weights: Annotated[Literal["mic1d", "sugeno"] | Mapping[Part, float], Range(0)] = "mic1d",
) -> float | None:
    """Disclosure risk DR: a weighted mean of linkage and interval disclosure.

    Parameters
    ----------
    dld, pld, interval_disclosure : float or None
        The parts, in per cent.
    weights : {"mic1d", "sugeno"} or mapping, default "mic1d"
        "mic1d": 0.5 DLD + 0.5 ID. "sugeno": 0.25 DLD + 0.25 PLD + 0.5 ID. Or weights of "dld",
        "pld" and "interval_disclosure", of which the result is the mean; what is left out is 0,
        and so is "il".

    Returns
    -------
    float or None
        From 0 to 100; None if a part that counts is None, or none counts.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2001). The presets are those of the papers on Mic1D, which
    leaves out probabilistic linkage, and on projection by the Sugeno integral.

    Examples
    --------
    >>> dr(34.11, None, 69.70), round(dr(2.94, 6.91, 70.04, weights="sugeno"), 4)
    (51.905, 37.4825)
    """
    values = {"dld": dld, "pld": pld, "interval_disclosure": interval_disclosure}
    return _weighted(_shares(weights, risk=True), values)


@metric(cite="Domingo-Ferrer and Torra (2001)", needs=_parts, assessed=140, unit="points")
def score(
    il: float | None,
    dld: float | None,
    pld: float | None,
    interval_disclosure: float | None,
    /,
    *,
    weights: Annotated[Literal["mic1d", "sugeno"] | Mapping[Part, float], Range(0)] = "mic1d",
) -> float | None:
    """Score of a release: the mean of information loss IL and disclosure risk DR.

    Parameters
    ----------
    il, dld, pld, interval_disclosure : float or None
        The parts, in per cent.
    weights : {"mic1d", "sugeno"} or mapping, default "mic1d"
        Presets: half for IL and half for DR with the same preset. Or weights of "il", "dld", "pld"
        and "interval_disclosure", of which the result is the mean; what is left out is 0.

    Returns
    -------
    float or None
        At least 0, the lower the better; None if a part that counts is None.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2001): 0.5 IL + 0.5 DR.

    Examples
    --------
    >>> round(score(31.67, 34.11, None, 69.70), 2)
    41.79
    >>> round(score(13.90, 2.94, 6.91, 70.04, weights="sugeno"), 2)
    25.69
    """
    values = {"il": il, "dld": dld, "pld": pld, "interval_disclosure": interval_disclosure}
    return _weighted(_shares(weights, risk=False), values)
