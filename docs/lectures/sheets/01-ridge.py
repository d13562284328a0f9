# %% [markdown]
# # Problem sheet 1: ridge regression

# %%
import numpy as np

from mercer import KernelRidge, Linear

rng = np.random.default_rng(1)
X = rng.normal(size=(30, 4))
y = X @ np.array([1.0, 0.0, -1.0, 2.0]) + 0.3 * rng.normal(size=30)

# %% [markdown]
# ## Exercise 1 (easy): the penalty and the norm
#
# Write a function that returns the norm of the ridge solution $w = (X'X + \alpha I)^{-1} X'y$. For which of the penalties 0.1,
# 10 and 1000 is it largest, and why?

# %% answer
def norm(X, y, alpha):
    ...


# %% solution
def norm(X, y, alpha):
    return np.linalg.norm(np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T @ y))


# %% check
assert norm(X, y, 0.1) > norm(X, y, 10.0) > norm(X, y, 1000.0), "a larger penalty must shorten w"
assert np.isclose(norm(X, y, 10.0), KernelRidge(Linear(), alpha=10.0).fit(X, y).rkhs_norm_), "compare with KernelRidge"

# %% [markdown]
# ## Exercise 2 (hands-on): the dual
#
# Solve the dual system $(XX' + \alpha I) a = y$ and recover $w = X'a$. Return both.

# %% answer
def dual(X, y, alpha):
    ...


# %% solution
def dual(X, y, alpha):
    a = np.linalg.solve(X @ X.T + alpha * np.eye(len(X)), y)
    return a, X.T @ a


# %% check
a, w = dual(X, y, 0.5)
assert a.shape == (30,) and w.shape == (4,), "a has one entry per row, w one per column"
assert np.allclose(w, np.linalg.solve(X.T @ X + 0.5 * np.eye(4), X.T @ y)), "the primal solution is the same w"
assert np.allclose(0.5 * a, y - X @ w), "alpha times a is the residual"

# %% [markdown]
# ## Exercise 3 (proof): a penalty is extra data
#
# Show that ridge regression with penalty $\alpha$ is ordinary least squares on a longer data set: the rows of $X$ with the
# targets $y$, and $d$ further rows $\sqrt\alpha\, e_1, \dots, \sqrt\alpha\, e_d$ with the target 0. Then check it with
# `np.linalg.lstsq`.

# %% answer
def by_extra_rows(X, y, alpha):
    ...


# %% [markdown] solution
# The sum of squares over the longer data set is $\lVert y - Xw\rVert^2 + \sum_j (0 - \sqrt\alpha\, w_j)^2
# = \lVert y - Xw\rVert^2 + \alpha \lVert w\rVert^2$, which is the objective of ridge regression. Equal objectives have equal
# minimizers.

# %% solution
def by_extra_rows(X, y, alpha):
    d = X.shape[1]
    longer = np.vstack([X, np.sqrt(alpha) * np.eye(d)])
    return np.linalg.lstsq(longer, np.append(y, np.zeros(d)))[0]


# %% check
assert np.allclose(by_extra_rows(X, y, 2.0), dual(X, y, 2.0)[1]), "both problems have the same solution"
