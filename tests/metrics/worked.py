"""Four records of two columns, by which every measure is worked by hand.

Groups {1, 2} and {3, 4}. Column a has mean 4 and variance (9 + 1 + 1 + 9) / 4 = 5, column b mean 5
and variance (1 + 9 + 9 + 1) / 4 = 5; their covariance is (3 + 3 + 3 + 3) / 4 = 3, so r = 0.6.
After: variances 4 and 4, covariance 4, r = 1. Every cell moves by 1.
"""

import numpy as np

X = np.array([[1.0, 4.0], [3.0, 2.0], [5.0, 8.0], [7.0, 6.0]])
Y = np.array([[2.0, 3.0], [2.0, 3.0], [6.0, 7.0], [6.0, 7.0]])
SIZES = np.array([2, 2])
MEANS = np.broadcast_to(X.mean(axis=0), X.shape).copy()

# Here each column is grouped on its own: a as above, b as {1, 2} and {5, 6}.
U = np.array([[1.0, 1.0], [3.0, 5.0], [5.0, 2.0], [7.0, 6.0]])
V = np.array([[2.0, 1.5], [2.0, 5.5], [6.0, 1.5], [6.0, 5.5]])


def sorted_means(x, k):
    """Group k successive records by their first column, the rest with the last ones."""
    n = len(x)
    rank = np.argsort(np.argsort(x[:, 0], kind="stable"))
    labels = np.minimum(rank // k, max(n // k - 1, 0))
    sizes = np.bincount(labels)
    return np.stack([np.bincount(labels, column) / sizes for column in x.T], axis=1)[labels]
