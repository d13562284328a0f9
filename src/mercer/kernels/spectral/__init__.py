"""Spectral measures (Bochner): k(x, z) = integral of cos(w'(x - z)) over a measure >= 0 of frequencies w.

measures       the measures of single kernels: Gaussian, Student, gamma mixture, Cauchy, circle, stable, atoms
composition    mixtures (sums), convolutions (products), multiples, linear images (columns, linear maps)
fourier_map    frequencies drawn from a measure, the map x -> z(x) with z(x)'z(z) near k(x, z), and bounds on its error
"""
