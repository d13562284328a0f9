# %% [markdown]
# # Problem sheet 5: geometry of feature space

# %%
import numpy as np

from mercer import Gaussian, Linear, geometry

rng = np.random.default_rng(5)
X = rng.normal(size=(25, 2))

# %% [markdown]
# ## Exercise 1 (easy): the farthest pair
#
# With a Gaussian kernel, no two points are farther apart in feature space than one number. Which?

# %% answer
limit = ...

# %% solution
limit = np.sqrt(2.0)  # k(x, x) + k(z, z) - 2 k(x, z) = 2 - 2 k < 2

# %% check
far = np.array([[0.0, 0.0], [50.0, 0.0]])
assert np.isclose(limit, geometry.distances(Gaussian(1.0), far)[0, 1]), "points that are far apart reach the limit"

# %% [markdown]
# ## Exercise 2 (hands-on): spread from kernel values
#
# The lecture says "check this calculation!": return the mean squared distance to the mean in feature space, from the Gram matrix
# alone.

# %% answer
def spread(K):
    ...


# %% solution
def spread(K):
    return np.trace(K) / len(K) - K.mean()


# %% check
explicit = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
assert np.isclose(spread(Linear()(X)), explicit), "for the linear kernel the vectors are at hand"
K = Gaussian(1.0)(X)
assert np.isclose(spread(K), geometry.spread(K)), "compare with mercer.geometry"

# %% [markdown]
# ## Exercise 3 (proof): the mean is the best center
#
# Show that of all points $c$ of feature space the mean minimizes $\sum_i \lVert \phi(x_i) - c\rVert^2$, and by how much any other
# $c$ is worse. Return that difference for $c = \phi(z)$, from kernel values.

# %% answer
def excess(k, X, z):
    ...


# %% [markdown] solution
# Write $\phi(x_i) - c = (\phi(x_i) - \bar\phi) + (\bar\phi - c)$. The mixed term $2\langle \sum_i (\phi(x_i) - \bar\phi),
# \bar\phi - c\rangle$ vanishes, so the sum is $\sum_i \lVert\phi(x_i) - \bar\phi\rVert^2 + n \lVert\bar\phi - c\rVert^2$. The
# difference is $n\lVert\bar\phi - c\rVert^2 = n\,(\text{mean } k(x_i, x_j) - 2\, \text{mean } k(x_i, z) + k(z, z))$.

# %% solution
def excess(k, X, z):
    return len(X) * (k(X).mean() - 2 * k(X, z).mean() + k(z)[0, 0])


# %% check
z = np.array([[0.5, -1.0]])
by_hand = ((X - z) ** 2).sum() - ((X - X.mean(axis=0)) ** 2).sum()
assert np.isclose(excess(Linear(), X, z), by_hand), "for the linear kernel the sums are at hand"
assert excess(Gaussian(1.0), X, z) > 0
