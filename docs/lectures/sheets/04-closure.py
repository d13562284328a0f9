# %% [markdown]
# # Problem sheet 4: closure rules

# %%
import numpy as np

from mercer import Gaussian, Linear, Polynomial

rng = np.random.default_rng(4)
X = rng.normal(size=(15, 2))

# %% [markdown]
# ## Exercise 1 (easy): read a kernel
#
# Write $k(x, z) = 3\,(1 + \langle x, z\rangle)^2 + \exp(-\lVert x - z\rVert^2 / 8)$ as a mercer expression.

# %% answer
k = ...

# %% solution
k = 3.0 * Polynomial(2, offset=1.0) + Gaussian(2.0)

# %% check
squared = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
assert np.allclose(k(X), 3 * (1 + X @ X.T) ** 2 + np.exp(-squared / 8)), "compare the values"
assert k.certificate().status == "valid"

# %% [markdown]
# ## Exercise 2 (hands-on): the features of a product
#
# Given the features of two kernels, return the features of their product.

# %% answer
def product_features(A, B):
    ...


# %% solution
def product_features(A, B):
    return np.einsum("ip,iq->ipq", A, B).reshape(len(A), -1)


# %% check
A, B = Polynomial(2).feature_map(X), Linear().feature_map(X)
phi = product_features(A, B)
assert np.allclose(phi @ phi.T, (Polynomial(2) * Linear())(X)), "inner products must be products of kernel values"

# %% [markdown]
# ## Exercise 3 (proof): the cosine
#
# Show that $\cos(x - z)$ is a kernel on the real line, that $\cos(x + z)$ is not, and name the features of the first.

# %% answer
def cosine_features(x):
    ...


# %% [markdown] solution
# $\cos(x - z) = \cos x \cos z + \sin x \sin z$, an inner product of the features $(\cos x, \sin x)$: a sum of two kernels
# $g(x) g(z)$. But $k(x, x) = \cos(2x)$ for the second function is negative at $x = \pi/2$, and a kernel has $k(x, x) \ge 0$.

# %% solution
def cosine_features(x):
    return np.column_stack([np.cos(x), np.sin(x)])


# %% check
x = rng.normal(size=12)
phi = cosine_features(x)
assert np.allclose(phi @ phi.T, np.cos(x[:, None] - x[None, :])), "inner products must be cosines of differences"
