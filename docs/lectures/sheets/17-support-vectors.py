# %% [markdown]
# # Problem sheet 17: support vector machines

# %%
import numpy as np

from mercer import SVC, Gaussian, Linear

rng = np.random.default_rng(17)
y = np.repeat([-1, 1], 25)
X = rng.normal(size=(50, 2)) + 2.5 * y[:, None]

# %% [markdown]
# ## Exercise 1 (easy): which rows matter?
#
# Remove one row that is not a support vector and fit again. By how much does the decision function change? Set `change` to a number.

# %% answer
change = ...

# %% solution
change = 0.0  # its coefficient was zero, and the other conditions of the optimum still hold

# %% check
model = SVC(Linear(), C=np.inf, tol=1e-8).fit(X, y)
keep = np.arange(50) != np.setdiff1d(np.arange(50), model.support_)[0]
again = SVC(Linear(), C=np.inf, tol=1e-8).fit(X[keep], y[keep])
moved = np.abs(again.decision_function(X) - model.decision_function(X)).max()
assert np.isclose(change, moved, atol=1e-5), "fit both and compare"

# %% [markdown]
# ## Exercise 2 (hands-on): the margin
#
# Return the smallest distance of a training row to the boundary $f(x) = 0$ of a linear support vector machine, from `coef_` and
# `decision_function`.

# %% answer
def margin(model, X, y):
    ...


# %% solution
def margin(model, X, y):
    return (y * model.decision_function(X)).min() / np.linalg.norm(model.coef_)


# %% check
assert np.isclose(margin(model, X, y), model.margin_, rtol=1e-4), "compare with margin_"
for angle in np.linspace(0, np.pi, 50):  # no other direction has a larger margin
    w = np.array([np.cos(angle), np.sin(angle)])
    low, high = (X[y == 1] @ w).min(), (X[y == -1] @ w).max()
    assert (low - high) / 2 <= margin(model, X, y) + 1e-6

# %% [markdown]
# ## Exercise 3 (proof): leave-one-out and support vectors
#
# Show that the leave-one-out error of a hard-margin machine is at most the share of support vectors. Return both for the data above
# with `Gaussian(2.0)`.

# %% answer
def error_and_share(kernel, X, y):
    ...


# %% [markdown] solution
# If row $i$ is not a support vector, the machine without it is the same machine (exercise 1), and that machine classifies row $i$
# correctly, because it separates the training rows. Only support vectors can therefore be left-out errors.

# %% solution
def error_and_share(kernel, X, y):
    wrong = 0
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        wrong += SVC(kernel, C=np.inf).fit(X[keep], y[keep]).predict(X[i : i + 1])[0] != y[i]
    return wrong / len(y), len(SVC(kernel, C=np.inf).fit(X, y).support_) / len(y)


# %% check
error, share = error_and_share(Gaussian(2.0), X, y)
assert 0 <= error <= share < 1, "errors are at most the share of support vectors"
