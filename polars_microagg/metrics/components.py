"""Changes of correlations, spreads and the first principal component."""

from __future__ import annotations

from polars_microagg.core.partition import Matrix
from polars_microagg.core.registry import metric
from polars_microagg.kernels.risk.changed_moments import CHANGES
from polars_microagg.kernels.risk.moments import moments, present

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


def _changed(name: str, original: Matrix, masked: Matrix) -> float | None:
    before, after = (moments(table) for table in present(original, masked))
    return CHANGES[name](before, after)


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
    >>> import numpy as np
    >>> mean_sd(np.array([[1.0], [3.0]]), np.array([[1.5], [2.5]]))
    0.5
    """
    return _changed("mean_sd", original, masked)


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
        100 times the mean of ``|R'| / |R| - 1``; None if no column varies before.

    Notes
    -----
    Delta R in table 3 of Mateo-Sanz and Domingo-Ferrer (1998): R is the correlation of a column
    with the scores on the first component of the correlation matrix of its own table, which is
    the square root of the eigenvalue times the entry of the eigenvector. Columns that are
    constant before, or have R = 0, are left out. Where eigenvalues are equal, so that there is no
    one first component, the value depends on rounding.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0], [3.0, 3.0]])
    >>> round(delta_r(x, np.array([[0.5, 1.5], [0.5, 1.5], [2.5, 1.5], [2.5, 1.5]])), 3)
    -41.221
    """
    return _changed("delta_r", original, masked)


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
        100 times the mean of ``|W' / W - 1|``; None if no column varies before.

    Notes
    -----
    Delta W in table 3 of Mateo-Sanz and Domingo-Ferrer (1998): W is the component score
    coefficient, the entry of the eigenvector divided by the square root of the eigenvalue. An
    eigenvector has no sign, of which the paper says nothing: W' is taken with the sign that makes
    the sum of its products with W at least 0. What is left out is as in `delta_r`, and the same
    depends on rounding; so does the sign where that sum is 0.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0], [3.0, 3.0]])
    >>> round(delta_w(x, x[:, ::-1].copy()), 9)
    0.0
    """
    return _changed("delta_w", original, masked)


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
    >>> import numpy as np
    >>> x = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0], [3.0, 3.0]])
    >>> round(fpc_share(x, x), 3)
    72.361
    """
    return _changed("fpc_share", original, masked)


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
    >>> import numpy as np
    >>> delta_corr(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([[1.0, 6.0], [3.0, 2.0]]))
    2.0
    """
    return _changed("delta_corr", original, masked)


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
    >>> import numpy as np
    >>> delta_corr_sd(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([[1.0, 6.0], [3.0, 2.0]]))
    0.0
    """
    return _changed("delta_corr_sd", original, masked)


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
        Sum of ``|e - e'| / e`` over the eigenvalues in descending order, without those that are 0
        before; None if no column varies before.

    Notes
    -----
    "eigen" of ``dUtility`` in the R package sdcMicro.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
    >>> round(eigenvalue_difference(x, x), 9)
    0.0
    """
    return _changed("eigenvalue_difference", original, masked)
