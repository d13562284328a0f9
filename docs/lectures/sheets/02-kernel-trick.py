# %% [markdown]
# # Problem sheet 2: the kernel trick

# %%
import numpy as np

from mercer import Polynomial

rng = np.random.default_rng(2)
X = rng.normal(size=(20, 3))

# %% [markdown]
# ## Exercise 1 (easy): how many features?
#
# Write a function that returns the number of monomials of degree at most $p$ in $d$ variables, the number of combined features
# of $(\langle x, z\rangle + c)^p$ with $c > 0$.

# %% answer
def count(d, p):
    ...


# %% solution
from math import comb


def count(d, p):
    return comb(d + p, p)


# %% check
assert count(2, 2) == 6, "1, x, y, xx, xy, yy"
assert count(3, 4) == Polynomial(4, offset=1.0).feature_map(X).shape[1], "compare with feature_map"

# %% [markdown]
# ## Exercise 2 (hands-on): the features of the quadratic kernel
#
# Write the explicit features of $(\langle x, z\rangle + c)^2$: all products $x_l x_m$, the columns $\sqrt{2c}\, x_l$, and the
# constant $c$.

# %% answer
def features(X, c):
    ...


# %% solution
def features(X, c):
    products = np.einsum("il,im->ilm", X, X).reshape(len(X), -1)
    return np.hstack([products, np.sqrt(2 * c) * X, np.full((len(X), 1), c)])


# %% check
phi = features(X, 1.5)
assert phi.shape == (20, 13), "9 products, 3 columns and a constant"
assert np.allclose(phi @ phi.T, Polynomial(2, offset=1.5)(X)), "inner products of features must be kernel values"

# %% [markdown]
# ## Exercise 3 (proof): why the offset must not be negative
#
# Show that $k(x, z) = (x z + c)^2$ on the real line is not a kernel if $c < 0$. Give two points and a vector $v$ with
# $v'Kv < 0$ for $c = -1$.

# %% answer
points, v = ..., ...

# %% [markdown] solution
# Expand: $(xz + c)^2 = x^2z^2 + 2c\,xz + c^2$. A vector $v$ with $\sum v_i x_i^2 = 0$ and $\sum v_i = 0$ but
# $\sum v_i x_i \ne 0$ leaves only the middle term, $v'Kv = 2c\,(\sum v_i x_i)^2 < 0$. Two points cannot satisfy both
# conditions with $v \ne 0$ unless their squares agree: take $x = \pm t$ and $v = (1, -1)$. Then
# $v'Kv = 2c (2t)^2 = 8 c t^2 < 0$.

# %% solution
points, v = np.array([1.0, -1.0]), np.array([1.0, -1.0])

# %% check
K = (np.outer(points, points) - 1.0) ** 2
assert len(points) == 2 and v @ K @ v < 0, "v'Kv must be negative"
