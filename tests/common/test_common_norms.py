"""Norms against sums in Python."""

import numpy as np

from jaxsmt.common.norms import l1_normalised


def test_rows_have_norm_one_and_zeros_stay():
    rows = np.array([[1.0, -3.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1e-3, 0.0]])
    expected = [[value / (sum(map(abs, row)) or 1.0) for value in row] for row in rows.tolist()]
    np.testing.assert_allclose(l1_normalised(rows), expected)
    np.testing.assert_allclose(l1_normalised(rows[0]), expected[0])
    assert l1_normalised(np.zeros((2, 0))).shape == (2, 0)
