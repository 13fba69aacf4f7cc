"""Changes of correlations, spreads and the first principal component."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Matrix, Vector
from polars_microagg.core.registry import metric
from polars_microagg.kernels.risk.moments import Moments, moments, present

__all__ = [
    "delta_corr",
    "delta_corr_sd",
    "delta_r",
    "delta_w",
    "eigenvalue_difference",
    "fpc_share",
    "mean_sd",
]

CITE = "Mateo-Sanz and Domingo-Ferrer (1998)"
RULE = 1e-9
"""Correlations, weights and eigenvalues up to this are 0 but for rounding: nothing to divide by."""


def _varying(original: Matrix, masked: Matrix) -> tuple[Moments, Moments]:
    """Moments before and after of the columns that vary before."""
    before, after = (moments(table) for table in present(original, masked))
    vary = np.flatnonzero(before.variances > 0)
    return before.only(vary), after.only(vary)


def _percent(before: Vector, after: Vector) -> Vector:
    """Relative change in per cent, without what is 0 before."""
    divisible = np.abs(before) > RULE
    change: Vector = 100.0 * (np.abs(after[divisible]) / np.abs(before[divisible]) - 1.0)
    return change


@metric(cite=CITE, assessed=170)
def mean_sd(original: Matrix, masked: Matrix, /) -> float | None:
    """Mean over the columns of the standard deviation after divided by that before.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float or None
        1 keeps the spread, 0 leaves only the means; None if no column varies before.

    Notes
    -----
    Table 2 of J. M. Mateo-Sanz and J. Domingo-Ferrer (1998). Columns that are constant before are
    left out.

    Examples
    --------
    >>> mean_sd(np.array([[1.0], [3.0]]), np.array([[1.5], [2.5]]))
    0.5
    """
    before, after = _varying(original, masked)
    if not len(before.means):
        return None
    return float(np.sqrt(after.variances / before.variances).mean())


@metric(cite=CITE, assessed=180, unit="%")
def delta_r(original: Matrix, masked: Matrix, /) -> float | None:
    """Change of the correlation of the columns with the first principal component, per cent.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float or None
        100 times the mean of |R'| / |R| - 1; None if no column varies before.

    Notes
    -----
    Delta R in table 3 of Mateo-Sanz and Domingo-Ferrer (1998): R is the correlation of a column
    with the scores on the first component of the correlation matrix of its own table, which is
    the square root of the eigenvalue times the entry of the eigenvector. Columns that are
    constant before, or have R = 0, are left out. Where eigenvalues are equal, so that there is no
    one first component, the value depends on rounding.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0], [3.0, 3.0]])
    >>> round(delta_r(x, np.array([[0.5, 1.5], [0.5, 1.5], [2.5, 1.5], [2.5, 1.5]])), 3)
    -41.221
    """
    tables = _varying(original, masked)
    if not len(tables[0].means):
        return None
    before, after = (np.sqrt(v) * w for v, w in (t.first_component() for t in tables))
    return float(_percent(before, after).mean())


@metric(cite=CITE, assessed=190, unit="%")
def delta_w(original: Matrix, masked: Matrix, /) -> float | None:
    """Change of the weights of the columns on the first principal component, per cent.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float or None
        100 times the mean of |W' / W - 1|; None if no column varies before.

    Notes
    -----
    Delta W in table 3 of Mateo-Sanz and Domingo-Ferrer (1998): W is the component score
    coefficient, the entry of the eigenvector divided by the square root of the eigenvalue. What
    is left out is as in `delta_r`.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0], [3.0, 3.0]])
    >>> round(delta_w(x, x[:, ::-1].copy()), 9)
    0.0
    """
    tables = _varying(original, masked)
    if not len(tables[0].means):
        return None
    before, after = (
        w / np.sqrt(v) if v > 0 else np.zeros_like(w)
        for v, w in (t.first_component() for t in tables)
    )
    divisible = np.abs(before) > RULE
    return float(100.0 * np.abs(after[divisible] / before[divisible] - 1.0).mean())


@metric(cite=CITE, assessed=200, unit="%")
def fpc_share(original: Matrix, masked: Matrix, /) -> float | None:
    """Share of the variability after that the first principal component explains, per cent.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float or None
        100 times the largest eigenvalue of the correlation matrix over the number of columns;
        the closer to that of the original with itself, the better. None if no column varies.

    Notes
    -----
    %FPC in table 3 of Mateo-Sanz and Domingo-Ferrer (1998). Columns that are constant before are
    left out; one that is constant after only has correlations of 0.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0], [3.0, 3.0]])
    >>> round(fpc_share(x, x), 3)
    72.361
    """
    after = _varying(original, masked)[1]
    total = np.count_nonzero(after.variances)
    return 100.0 * after.first_component()[0] / len(after.means) if total else None


def _corr_errors(original: Matrix, masked: Matrix) -> Vector:
    before, after = (table.correlations for table in _varying(original, masked))
    errors: Vector = np.abs(after - before)[np.triu_indices(len(before), 1)]
    return errors


@metric(cite=CITE, assessed=210, reported=True)
def delta_corr(original: Matrix, masked: Matrix, /) -> float | None:
    """Mean absolute difference of the correlations of pairs of columns.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float or None
        From 0 to 2; None if fewer than two columns vary before.

    Notes
    -----
    Table 4 of Mateo-Sanz and Domingo-Ferrer (1998). Columns that are constant before are left out.

    Examples
    --------
    >>> delta_corr(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([[1.0, 6.0], [3.0, 2.0]]))
    2.0
    """
    errors = _corr_errors(original, masked)
    return float(errors.mean()) if len(errors) else None


@metric(cite=CITE, assessed=220)
def delta_corr_sd(original: Matrix, masked: Matrix, /) -> float | None:
    """Standard deviation of the differences whose mean is `delta_corr`.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float or None
        Standard deviation (ddof 0); None if fewer than two columns vary before.

    Notes
    -----
    Table 4 of Mateo-Sanz and Domingo-Ferrer (1998).

    Examples
    --------
    >>> delta_corr_sd(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([[1.0, 6.0], [3.0, 2.0]]))
    0.0
    """
    errors = _corr_errors(original, masked)
    return float(errors.std()) if len(errors) else None


@metric(cite="Templ, Kowarik and Meindl (2015)")
def eigenvalue_difference(original: Matrix, masked: Matrix, /) -> float | None:
    """Sum of the relative differences of the eigenvalues of the correlation matrix.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float or None
        Sum of |e - e'| / e over the eigenvalues in descending order, without those that are 0
        before; None if no column varies before.

    Notes
    -----
    "eigen" of ``dUtility`` in the R package sdcMicro.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
    >>> round(eigenvalue_difference(x, x), 9)
    0.0
    """
    tables = _varying(original, masked)
    if not len(tables[0].means):
        return None
    before, after = (np.linalg.eigvalsh(table.correlations) for table in tables)
    divisible = before > RULE
    return float((np.abs(before - after)[divisible] / before[divisible]).sum())
