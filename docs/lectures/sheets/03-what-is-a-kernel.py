# %% [markdown]
# # Problem sheet 3: what a kernel is

# %%
import numpy as np

from mercer import Function, check_gram, find_counterexample

rng = np.random.default_rng(3)

# %% [markdown]
# ## Exercise 1 (easy): positive entries are not enough
#
# Find a symmetric 3 x 3 matrix with ones on the diagonal and positive entries that is not a Gram matrix, although each of its
# 2 x 2 blocks on the diagonal is one.

# %% answer
K = ...

# %% solution
K = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.9], [0.1, 0.9, 1.0]])

# %% check
assert np.allclose(K, K.T) and np.allclose(np.diag(K), 1.0) and K.min() > 0, "symmetric, ones on the diagonal, positive"
assert all(check_gram(K[np.ix_(pair, pair)]).psd for pair in ([0, 1], [0, 2], [1, 2])), "blocks of two must be psd"
assert not check_gram(K).psd, "the whole matrix must not be psd"

# %% [markdown]
# ## Exercise 2 (hands-on): a test with random points
#
# Write a function that draws `trials` times `n` points from a normal distribution and returns the smallest eigenvalue of all
# Gram matrices of `k` that it met. Use it on $\min(x, z)$ and on $\max(x, z)$ for positive numbers.

# %% answer
def smallest_eigenvalue(k, n=6, trials=200):
    ...


# %% solution
def smallest_eigenvalue(k, n=6, trials=200):
    samples = (np.abs(rng.normal(size=n)) for _ in range(trials))
    return min(np.linalg.eigvalsh(k(x[:, None], x[None, :]))[0] for x in samples)


# %% check
assert smallest_eigenvalue(np.minimum) > -1e-12, "min(x, z) is a kernel on positive numbers"
assert smallest_eigenvalue(np.maximum) < -0.1, "max(x, z) is not: its matrices have negative eigenvalues"
assert find_counterexample(Function(lambda X, Z: np.maximum(np.abs(X), np.abs(Z).T))) is not None

# %% [markdown]
# ## Exercise 3 (proof): the minimum
#
# Show that $\min(x, z)$ is a kernel on $[0, \infty)$ by naming its features. Then write them on a grid: `steps(x, grid)` returns
# the matrix with entries $\sqrt{h}\, 1[t < x]$ for the grid points $t$ with spacing $h$.

# %% answer
def steps(x, grid):
    ...


# %% [markdown] solution
# Take $\phi_x(t) = 1[t < x]$ in $L^2[0, \infty)$. Then $\langle \phi_x, \phi_z\rangle = \int 1[t < x] 1[t < z]\, dt = \min(x, z)$.
# A function that is an inner product of features is a kernel. On a grid the integral becomes a sum with weight $h$.

# %% solution
def steps(x, grid):
    return np.sqrt(grid[1] - grid[0]) * (grid[None, :] < x[:, None])


# %% check
x, grid = rng.uniform(0, 2, size=8), np.linspace(0, 2, 4001)
phi = steps(x, grid)
assert np.allclose(phi @ phi.T, np.minimum(x[:, None], x[None, :]), atol=2e-3), "inner products must be the minima"
