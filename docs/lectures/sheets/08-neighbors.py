# %% [markdown]
# # Problem sheet 8: nearest neighbors

# %%
import numpy as np

from mercer import Exponential, Gaussian, KernelKNeighborsClassifier, Linear, geometry

rng = np.random.default_rng(8)
X, Z = rng.normal(size=(50, 2)), rng.normal(size=(20, 2))
y = np.where(X[:, 0] > 0, "right", "left")

# %% [markdown]
# ## Exercise 1 (easy): angles
#
# With `Linear().normalized()`, which row of `points` is nearest to (1, 1)?

# %% answer
points = np.array([[1.0, 0.0], [10.0, 10.0], [1.1, 0.8]])
nearest = ...

# %% solution
points = np.array([[1.0, 0.0], [10.0, 10.0], [1.1, 0.8]])
nearest = 1  # the same direction, so the angle is zero

# %% check
k = Linear().normalized()
assert nearest == geometry.distances(k, np.array([[1.0, 1.0]]), points).argmin(), "compute the three distances"

# %% [markdown]
# ## Exercise 2 (hands-on): one neighbor, by kernel values only
#
# Predict the labels of `Z` by the nearest row of `X` in feature space.

# %% answer
def one_neighbor(k, X, y, Z):
    ...


# %% solution
def one_neighbor(k, X, y, Z):
    squared = k.diag(Z)[:, None] + k.diag(X)[None, :] - 2 * k(Z, X)
    return y[squared.argmin(axis=1)]


# %% check
for k in (Gaussian(0.7), Linear()):
    ours = KernelKNeighborsClassifier(k, n_neighbors=1).fit(X, y).predict(Z)
    assert np.array_equal(one_neighbor(k, X, y, Z), ours), "compare with KernelKNeighborsClassifier"

# %% [markdown]
# ## Exercise 3 (proof): kernels that keep the neighbors
#
# Show that every kernel $k(x, z) = g(\lVert x - z\rVert)$ with $g$ decreasing has the same nearest neighbors as the Euclidean
# distance, and give a kernel on vectors that changes them: return a row of `X` whose nearest neighbor under `kernel` is another
# one than the Euclidean.

# %% answer
kernel, row = ..., ...

# %% [markdown] solution
# The squared distance in feature space is $2 g(0) - 2 g(\lVert x - z\rVert)$, an increasing function of $\lVert x - z\rVert$. An
# increasing function keeps the order, and so the neighbors. The normalized linear kernel measures angles instead of distances.

# %% solution
kernel = Linear().normalized()
near = [np.argsort(geometry.distances(one, X), axis=1)[:, 1] for one in (kernel, Linear())]
row = int(np.flatnonzero(near[0] != near[1])[0])

# %% check
order = [np.argsort(geometry.distances(one, X), axis=1)[:, 1] for one in (Exponential(1.0), Linear())]
assert np.array_equal(*order), "a decreasing function of the distance keeps the neighbors"
found = [np.argsort(geometry.distances(one, X)[row])[1] for one in (kernel, Linear())]
assert found[0] != found[1], "this row must have another neighbor under your kernel"
