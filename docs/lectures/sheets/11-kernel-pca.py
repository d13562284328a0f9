# %% [markdown]
# # Problem sheet 11: kernel PCA

# %%
import numpy as np

from mercer import Gaussian, KernelPCA, Linear

rng = np.random.default_rng(11)
X = rng.normal(size=(40, 3)) * np.array([3.0, 1.0, 0.2])

# %% [markdown]
# ## Exercise 1 (easy): how many components are there?
#
# How many eigenvalues of the centered Gram matrix are above rounding, at most, for the linear kernel on 40 rows with 3 columns? And
# for a Gaussian kernel on 40 different rows?

# %% answer
linear, gaussian = ..., ...

# %% solution
linear, gaussian = 3, 39  # columns; rows less one, because centering removes a direction

# %% check
for kernel, count in ((Linear(), linear), (Gaussian(0.3), gaussian)):
    K = kernel(X)
    K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    assert count == (np.linalg.eigvalsh(K) > 1e-8).sum(), f"count the eigenvalues of {kernel}"

# %% [markdown]
# ## Exercise 2 (hands-on): from Gram matrix to coordinates
#
# Center the Gram matrix, take its `d` largest eigenvalues and vectors, and return the projections of the training rows.

# %% answer
def project(K, d):
    ...


# %% solution
def project(K, d):
    centered = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    values, vectors = np.linalg.eigh(centered)
    return vectors[:, ::-1][:, :d] * np.sqrt(values[::-1][:d])


# %% check
k = Gaussian(2.0)
expected = KernelPCA(k, n_components=2).fit_transform(X)
assert np.allclose(np.abs(project(k(X), 2)), np.abs(expected), atol=1e-7), "compare with KernelPCA up to signs"

# %% [markdown]
# ## Exercise 3 (proof): what is lost
#
# Show that the mean squared distance of the centered feature vectors to the span of the first $d$ components is
# $\frac1n \sum_{l > d} \lambda_l$ with the eigenvalues $\lambda_l$ of the centered Gram matrix. Compute it.

# %% answer
def lost(K, d):
    ...


# %% [markdown] solution
# Let $\tilde K = \sum_l \lambda_l v_l v_l'$. The $i$-th feature vector has the coordinate $\sqrt{\lambda_l}\, v_{li}$ on the
# $l$-th component. Its squared distance to the first $d$ is the sum of the other squared coordinates, and
# $\frac1n\sum_i \sum_{l > d} \lambda_l v_{li}^2 = \frac1n \sum_{l > d} \lambda_l$, because every $v_l$ has norm 1.

# %% solution
def lost(K, d):
    centered = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
    return np.linalg.eigvalsh(centered)[::-1][d:].sum() / len(K)


# %% check
centered = X - X.mean(axis=0)
values, vectors = np.linalg.eigh(centered.T @ centered)
rest = centered @ vectors[:, :1]  # what two components of ordinary PCA leave
assert np.isclose(lost(Linear()(X), 2), (rest**2).sum(axis=1).mean()), "for the linear kernel this is ordinary PCA"
