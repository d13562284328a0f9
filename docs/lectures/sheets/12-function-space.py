# %% [markdown]
# # Problem sheet 12: the reproducing kernel Hilbert space

# %%
import numpy as np

from mercer import Gaussian, KernelRidge

rng = np.random.default_rng(12)
X = np.sort(rng.uniform(0, 5, 20))[:, None]
k = Gaussian(1.0)

# %% [markdown]
# ## Exercise 1 (easy): the norm of a function
#
# Return the norm of $f = \sum_i a_i k(x_i, \cdot)$.

# %% answer
def norm(k, X, a):
    ...


# %% solution
def norm(k, X, a):
    return np.sqrt(a @ k(X) @ a)


# %% check
model = KernelRidge(k, alpha=0.1).fit(X, np.sin(X[:, 0]))
assert np.isclose(norm(k, X, model.dual_coef_), model.rkhs_norm_), "compare with rkhs_norm_"

# %% [markdown]
# ## Exercise 2 (hands-on): rough functions are long
#
# Fit $\sin(x)$ and $\sin(3x)$ with the same kernel and `alpha=1e-6`. Return the ratio of their norms, the rough one above.

# %% answer
def ratio():
    ...


# %% solution
def ratio():
    smooth, rough = (KernelRidge(k, alpha=1e-6).fit(X, np.sin(w * X[:, 0])).rkhs_norm_ for w in (1.0, 3.0))
    return rough / smooth


# %% check
assert ratio() > 5, "the function with the higher frequency must have the larger norm"

# %% [markdown]
# ## Exercise 3 (proof): values are bounded by the norm
#
# Show that $|f(x)| \le \lVert f\rVert \sqrt{k(x, x)}$, and that $|f(x) - f(z)| \le \lVert f\rVert\, d(x, z)$ with the kernel
# distance. Return the largest quotient $|f(x) - f(z)| / (\lVert f\rVert d(x, z))$ over the training rows.

# %% answer
def largest_quotient(k, X, a):
    ...


# %% [markdown] solution
# $f(x) = \langle f, k(x, \cdot)\rangle$, so Cauchy-Schwarz gives $|f(x)| \le \lVert f\rVert\, \lVert k(x, \cdot)\rVert$ and
# $\lVert k(x, \cdot)\rVert^2 = k(x, x)$. In the same way $f(x) - f(z) = \langle f, k(x, \cdot) - k(z, \cdot)\rangle$, and the norm
# of the difference is the kernel distance.

# %% solution
def largest_quotient(k, X, a):
    K = k(X)
    f, d = K @ a, np.sqrt(np.maximum(np.add.outer(np.diag(K), np.diag(K)) - 2 * K, 0))
    apart = d > 1e-9
    return (np.abs(np.subtract.outer(f, f))[apart] / (norm(k, X, a) * d[apart])).max()


# %% check
for seed in range(20):
    a = np.random.default_rng(seed).normal(size=20)
    assert 0 < largest_quotient(k, X, a) <= 1 + 1e-7, "the quotient is at most 1"
