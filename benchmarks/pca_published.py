"""Published numbers on kernel PCA that `benchmarks.pca_quality` stands beside."""

from __future__ import annotations

#: Mika et al. 1999, eleven Gaussians in R^10: error of PCA / error of kernel PCA, by sigma, for 1 … 9 components.
TOY = {
    0.05: (2058.42, 1238.36, 846.14, 565.41, 309.64, 170.36, 125.97, 104.40, 92.23),
    0.1: (10.22, 31.32, 21.51, 29.24, 27.66, 23.53, 29.64, 40.07, 63.41),
    0.2: (0.99, 1.12, 1.18, 1.50, 2.11, 2.73, 3.72, 5.09, 6.32),
    0.4: (1.07, 1.26, 1.44, 1.64, 1.91, 2.08, 2.22, 2.34, 2.47),
    0.8: (1.23, 1.39, 1.54, 1.70, 1.80, 1.96, 2.10, 2.25, 2.39),
}

#: Mika et al. 1999, USPS: how much lower the squared error of kernel PCA is than that of linear PCA.
USPS = {"gaussian": 1.6, "speckle": 1.2}

#: Schoelkopf et al. 1998, USPS test error in per cent of a linear machine on polynomial components, by degree 1 … 7.
POLYNOMIAL = {
    256: (8.7, 5.5, 5.3, 5.2, 5.2, 5.4, 5.4),
    512: (None, 4.9, 4.6, 4.4, 5.1, 4.6, 4.9),
    2048: (None, 4.9, 4.2, 4.1, 4.0, 4.3, 4.4),
}
