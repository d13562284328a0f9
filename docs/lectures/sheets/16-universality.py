# %% [markdown]
# # Problem sheet 16: universal kernels and random labels

# %%
import numpy as np

from mercer import Gaussian, KernelRidge, Polynomial

rng = np.random.default_rng(16)
X = np.linspace(-2, 2, 41)[:, None]

# %% [markdown]
# ## Exercise 1 (easy): who can fit anything?
#
# Set `can` to True for each kernel that can fit *any* targets on 41 different points of the line exactly (with a penalty near zero).

# %% answer
can = {"Gaussian(0.1)": ..., "Polynomial(5)": ...}

# %% solution
can = {"Gaussian(0.1)": True, "Polynomial(5)": False}  # six coefficients cannot meet 41 targets

# %% check
y = rng.choice([-1.0, 1.0], 41)
for kernel in (Gaussian(0.1), Polynomial(5)):
    name = "Gaussian(0.1)" if kernel == Gaussian(0.1) else "Polynomial(5)"
    worst = np.abs(KernelRidge(kernel, alpha=1e-8).fit(X, y).predict(X) - y).max()
    assert can[name] is bool(worst < 0.1), f"fit random labels with {name}"

# %% [markdown]
# ## Exercise 2 (hands-on): the price of random labels
#
# Fit the labels sign(x) and a random permutation of them with `Gaussian(0.2)` and `alpha=1e-3`. Return both norms `rkhs_norm_`.

# %% answer
def norms():
    ...


# %% solution
def norms():
    true = np.sign(X[:, 0] + 1e-9)
    fits = (KernelRidge(Gaussian(0.2), alpha=1e-3).fit(X, labels) for labels in (true, rng.permutation(true)))
    return tuple(fit.rkhs_norm_ for fit in fits)


# %% check
true, shuffled = norms()
assert shuffled > 2 * true > 0, "random labels need a longer function"

# %% [markdown]
# ## Exercise 3 (proof): a strictly positive definite kernel interpolates
#
# Show that if every Gram matrix of different points is invertible, the shortest function with $f(x_i) = y_i$ for all $i$ has the
# coefficients $K^{-1}y$ and the squared norm $y'K^{-1}y$. Return that squared norm for `Gaussian(0.1)`.

# %% answer
def shortest(k, X, y):
    ...


# %% [markdown] solution
# By the representer theorem the shortest interpolating function is $f = \sum_i a_i k(x_i, \cdot)$; a part orthogonal to these adds
# norm and changes no value. The conditions are $Ka = y$, so $a = K^{-1}y$ and $\lVert f\rVert^2 = a'Ka = y'K^{-1}y$.

# %% solution
def shortest(k, X, y):
    return y @ np.linalg.solve(k(X), y)


# %% check
limit = KernelRidge(Gaussian(0.1), alpha=1e-10).fit(X, y).rkhs_norm_ ** 2
assert np.isclose(shortest(Gaussian(0.1), X, y), limit, rtol=1e-5), "the limit of ridge as alpha goes to 0"
