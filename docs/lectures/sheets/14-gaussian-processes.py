# %% [markdown]
# # Problem sheet 14: Gaussian processes

# %%
import numpy as np

from mercer import Gaussian, GaussianProcessRegressor

rng = np.random.default_rng(14)
X = np.sort(rng.uniform(0, 5, 15))[:, None]
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=15)
k, noise = Gaussian(1.0), 0.01

# %% [markdown]
# ## Exercise 1 (easy): far away
#
# What are mean and standard deviation of the latent function at a point far from all rows, for a process with mean zero and
# kernel `Gaussian(1.0)`?

# %% answer
mean, std = ..., ...

# %% solution
mean, std = 0.0, 1.0  # the prior: nothing was learned there

# %% check
process = GaussianProcessRegressor(k, noise=noise, mean="zero", optimizer=None, normalize_y=False).fit(X, y)
found = [value[0] for value in process.predict(np.array([[100.0]]), return_std=True)]
assert np.allclose([mean, std], found), "ask the process at x = 100"

# %% [markdown]
# ## Exercise 2 (hands-on): posterior mean and variance
#
# Return mean and standard deviation of the latent function at the rows `Z`.

# %% answer
def posterior(k, X, y, noise, Z):
    ...


# %% solution
def posterior(k, X, y, noise, Z):
    solved = np.linalg.solve(k(X) + noise * np.eye(len(X)), np.column_stack([y, k(X, Z)]))
    variance = k.diag(Z) - (k(X, Z) * solved[:, 1:]).sum(axis=0)
    return k(Z, X) @ solved[:, 0], np.sqrt(variance)


# %% check
Z = np.linspace(-1, 6, 9)[:, None]
ours, theirs = posterior(k, X, y, noise, Z), process.predict(Z, return_std=True)
assert np.allclose(ours[0], theirs[0]) and np.allclose(ours[1], theirs[1]), "compare with GaussianProcessRegressor"

# %% [markdown]
# ## Exercise 3 (proof): data never add uncertainty
#
# Show that the posterior variance at a point does not grow when a row is added, and that it does not depend on the targets.
# Return the variances at `z` with the first 1, 2, ..., n rows.

# %% answer
def variances(k, X, noise, z):
    ...


# %% [markdown] solution
# The variance $k(z, z) - k_z'(K + sI)^{-1} k_z$ contains no $y$. It is the conditional variance of $f(z)$ given the rows. For
# jointly normal variables, conditioning on one more variable subtracts
# $\operatorname{cov}(f(z), y_{n+1} \mid \text{rows})^2 / \operatorname{var}(y_{n+1} \mid \text{rows}) \ge 0$ from it.

# %% solution
def variances(k, X, noise, z):
    return [posterior(k, X[:n], np.zeros(n), noise, z)[1][0] ** 2 for n in range(1, len(X) + 1)]


# %% check
found = variances(k, X, noise, np.array([[2.5]]))
assert len(found) == 15 and np.all(np.diff(found) <= 1e-12), "the variances must not grow"
assert found[-1] < 0.1 < found[0]
