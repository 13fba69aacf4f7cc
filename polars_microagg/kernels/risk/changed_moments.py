"""Changes from the moments of one table to those of another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polars_microagg.core.partition import Matrix, Vector
from polars_microagg.kernels.risk.moments import NOISE, Moments

__all__ = ["CHANGES", "mean_of", "variation", "varying"]

RULE = 1e-9
"""Correlations, weights and eigenvalues up to this are 0 but for rounding: nothing to divide by."""


def variation(before: Matrix, after: Matrix, unit: Matrix) -> Matrix:
    """Relative differences; from 0 they count in units, and as 1 where the unit is 0 as well."""
    change = np.abs(after - before)
    # A mean that masking kept differs in its last bits, which divided by a mean near 0 is a lot.
    change[change <= NOISE * unit] = 0.0
    below = np.where(before == 0, unit, np.abs(before))
    # A difference from a number that is hardly above 0 may be infinitely many times that number.
    with np.errstate(over="ignore"):
        relative = np.where(below > 0, change / np.where(below > 0, below, 1.0), change > 0)
    return np.where(np.isnan(change), np.nan, relative)


def mean_of(values: Matrix) -> float:
    """Mean of what is no NaN; nothing is no change."""
    defined = ~np.isnan(values)
    return float(values[defined].mean()) if defined.any() else 0.0


def varying(before: Moments, after: Moments) -> tuple[Moments, Moments]:
    """Return the moments of the columns that vary before."""
    vary = np.flatnonzero(before.variances > 0)
    return before.only(vary), after.only(vary)


def _means(before: Moments, after: Moments) -> float:
    return mean_of(variation(before.means, after.means, before.sizes))


def _covariances(before: Moments, after: Moments) -> float:
    sd = np.sqrt(before.variances)
    upper = np.triu_indices(len(sd))
    changes = variation(before.covariances, after.covariances, sd * sd[:, None])
    return mean_of(changes[upper])


def _variances(before: Moments, after: Moments) -> float:
    return mean_of(variation(before.variances, after.variances, before.variances))


def _correlations(before: Moments, after: Moments) -> float:
    upper = np.triu_indices(len(before.means), 1)
    return mean_of(np.abs(after.correlations - before.correlations)[upper])


def _spread(before: Moments, after: Moments) -> float | None:
    before, after = varying(before, after)
    if not len(before.means):
        return None
    return float(np.sqrt(after.variances / before.variances).mean())


def _percent(before: Vector, after: Vector) -> Vector:
    """Relative change in per cent, without what is 0 before."""
    divisible = np.abs(before) > RULE
    change: Vector = 100.0 * (np.abs(after[divisible]) / np.abs(before[divisible]) - 1.0)
    return change


def _loadings(before: Moments, after: Moments) -> float | None:
    tables = varying(before, after)
    if not len(tables[0].means):
        return None
    x, y = (np.sqrt(v) * w for v, w in (t.first_component() for t in tables))
    return float(_percent(x, y).mean())


def _weights(before: Moments, after: Moments) -> float | None:
    tables = varying(before, after)
    if not len(tables[0].means):
        return None
    x, y = (
        w / np.sqrt(v) if v > 0 else np.zeros_like(w)
        for v, w in (t.first_component() for t in tables)
    )
    # An eigenvector has no sign of its own: that after is taken in the direction of that before.
    y = y if x @ y >= 0 else -y
    divisible = np.abs(x) > RULE
    return float(100.0 * np.abs(y[divisible] / x[divisible] - 1.0).mean())


def _first_share(before: Moments, after: Moments) -> float | None:
    after = varying(before, after)[1]
    total = np.count_nonzero(after.variances)
    return 100.0 * after.first_component()[0] / len(after.means) if total else None


def _errors(before: Moments, after: Moments) -> Vector:
    x, y = (table.correlations for table in varying(before, after))
    errors: Vector = np.abs(y - x)[np.triu_indices(len(x), 1)]
    return errors


def _mean_error(before: Moments, after: Moments) -> float | None:
    errors = _errors(before, after)
    return float(errors.mean()) if len(errors) else None


def _sd_of_errors(before: Moments, after: Moments) -> float | None:
    errors = _errors(before, after)
    return float(errors.std()) if len(errors) else None


def _eigenvalues(before: Moments, after: Moments) -> float | None:
    tables = varying(before, after)
    if not len(tables[0].means):
        return None
    x, y = (np.linalg.eigvalsh(table.correlations) for table in tables)
    divisible = x > RULE
    return float((np.abs(x - y)[divisible] / x[divisible]).sum())


CHANGES: dict[str, Callable[[Moments, Moments], float | None]] = {
    "il2": _means,
    "il3": _covariances,
    "il4": _variances,
    "il5": _correlations,
    "mean_sd": _spread,
    "delta_r": _loadings,
    "delta_w": _weights,
    "fpc_share": _first_share,
    "delta_corr": _mean_error,
    "delta_corr_sd": _sd_of_errors,
    "eigenvalue_difference": _eigenvalues,
}
"""Measures that are functions of the moments alone, by name."""
