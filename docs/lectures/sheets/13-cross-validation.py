# %% [markdown]
# # Problem sheet 13: choosing parameters

# %%
import numpy as np

from mercer import Gaussian, KernelRidge, KernelRidgeCV

rng = np.random.default_rng(13)
X = rng.uniform(-3, 3, size=(60, 1))
y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60)

# %% [markdown]
# ## Exercise 1 (easy): training error chooses nothing
#
# Which of the penalties 1e-6, 0.1 and 10 has the smallest *training* error of kernel ridge regression, whatever the data?

# %% answer
smallest = ...

# %% solution
smallest = 1e-6  # the penalty is what keeps the fit away from the targets

# %% check
errors = {a: np.mean((y - KernelRidge(Gaussian(0.5), alpha=a).fit(X, y).predict(X)) ** 2) for a in (1e-6, 0.1, 10.0)}
assert smallest == min(errors, key=errors.get), "compute the three training errors"

# %% [markdown]
# ## Exercise 2 (hands-on): leave-one-out without refitting
#
# The residual of row $i$ in a fit without it is $a_i / (G^{-1})_{ii}$ with $G = K + \alpha I$ and $a = G^{-1} y$ (no intercept). Return
# these residuals for all rows.

# %% answer
def left_out(K, y, alpha):
    ...


# %% solution
def left_out(K, y, alpha):
    inverse = np.linalg.inv(K + alpha * np.eye(len(y)))
    return inverse @ y / np.diag(inverse)


# %% check
k = Gaussian(0.5)
found = left_out(k(X), y, 0.1)
for i in (0, 17, 59):
    others = np.arange(60) != i
    refit = KernelRidge(k, alpha=0.1).fit(X[others], y[others])
    assert np.isclose(found[i], y[i] - refit.predict(X[i : i + 1])[0]), f"refit without row {i} and compare"

# %% [markdown]
# ## Exercise 3 (proof): why the chosen score is optimistic
#
# Let the scores of several settings be unbiased estimates of their errors. Show that the smallest score is too low on average. Then
# simulate it: ten settings with the same true error 1, scores with standard deviation 0.2. Return the mean of the smallest score.

# %% answer
def chosen_score(settings=10, trials=4000):
    ...


# %% [markdown] solution
# For every setting $s$, $\min_t \hat e_t \le \hat e_s$, so $E \min_t \hat e_t \le E\, \hat e_s = e_s$ for each $s$, and hence
# $E \min_t \hat e_t \le \min_s e_s$. The inequality is strict if the minimum is not always attained by the same setting. An
# independent test set is needed to judge the chosen one.

# %% solution
def chosen_score(settings=10, trials=4000):
    return (1 + 0.2 * rng.normal(size=(trials, settings))).min(axis=1).mean()


# %% check
assert 0.6 < chosen_score() < 0.75, "the mean of the smallest of ten scores is about 1 - 1.54 x 0.2"
model = KernelRidgeCV(Gaussian(1.0), alphas=[0.01, 0.1, 1.0], length_scales=[0.3, 0.6, 1.2]).fit(X, y)
assert model.best_alpha_ in (0.01, 0.1, 1.0)
