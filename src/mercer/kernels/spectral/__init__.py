"""Spectral measures (Bochner): k(x, z) = integral of cos(w'(x - z)) over a measure >= 0 of frequencies w.

laws           the measures of the leaves: Gaussian, Student, gamma mixture, Cauchy, circle, atoms
composition    mixtures (sums), convolutions (products), multiples, linear images (columns, linear maps)
draws          frequencies from a measure: plain, Sobol, orthogonal, structured
fourier_map    x -> z(x) with z(x)'z(z) near k(x, z), some rows at a time
bounds         what is known of |z(x)'z(z) - k(x, z)|, and with which probability
"""
