"""Noise of airfoils: a small regression table of numbers."""

from __future__ import annotations

from mercer.datasets.dataset import Dataset, shipped


def load_airfoil() -> Dataset:
    """Sound pressure of airfoils in a wind tunnel, 1503 rows of five numbers; every column had its mean taken off.

    >>> import mercer
    >>> X, y = mercer.datasets.load_airfoil().split()
    >>> len(X), len(y)
    (1503, 1503)
    """
    return shipped(
        "airfoil.csv",
        name="Airfoil self-noise",
        description="NASA's measurements of the noise of airfoil sections; all columns centered at their means.",
        source="T. F. Brooks, D. S. Pope, M. A. Marcolini (1989), NASA RP 1218; UCI; as prepared by T. Evans, uci_datasets.",
        license="MIT (T. Evans) for the prepared table, CC BY 4.0 at UCI",
        target="sound pressure",
    )
