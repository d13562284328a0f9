# %% [markdown]
# # Problem sheet 10: two samples

# %%
import numpy as np

from mercer import Gaussian, Linear, mmd_test

rng = np.random.default_rng(10)
X, Y = rng.normal(size=(50, 2)), rng.normal(size=(40, 2)) + 0.7

# %% [markdown]
# ## Exercise 1 (easy): the linear kernel
#
# For the linear kernel the squared difference of feature means has a short formula in the means of `X` and `Y`. Compute it.

# %% answer
difference = ...

# %% solution
difference = ((X.mean(axis=0) - Y.mean(axis=0)) ** 2).sum()

# %% check
found = mmd_test(X, Y, Linear(), biased=True, n_permutations=19, random_state=0).statistic
assert np.isclose(difference, found), "compare with the biased statistic"

# %% [markdown]
# ## Exercise 2 (hands-on): a permutation test
#
# Write the biased statistic from a Gram matrix `K` of both samples (the first `m` rows are the first sample), and a p-value from
# `n` random relabelings: $(1 + \#\{\text{relabeled} \ge \text{observed}\})/(1 + n)$.

# %% answer
def statistic(K, first):
    ...


def pvalue(K, m, n=199):
    ...


# %% solution
def statistic(K, first):
    weights = np.where(first, 1 / first.sum(), -1 / (~first).sum())
    return weights @ K @ weights


def pvalue(K, m, n=199):
    first = np.arange(len(K)) < m
    observed = statistic(K, first)
    relabeled = [statistic(K, rng.permutation(first)) for _ in range(n)]
    return (1 + sum(value >= observed - 1e-12 for value in relabeled)) / (1 + n)


# %% check
K, first = Gaussian(1.0)(np.vstack([X, Y])), np.arange(90) < 50
expected = mmd_test(X, Y, Gaussian(1.0), biased=True, n_permutations=19, random_state=0).statistic
assert np.isclose(statistic(K, first), expected), "compare the statistic with mmd_test"
assert pvalue(K, 50) < 0.05, "a shift of 0.7 in both columns is found"
same = [pvalue(Gaussian(1.0)(rng.normal(size=(40, 1))), 20, 99) for _ in range(40)]
assert np.mean(np.array(same) <= 0.5) > 0.25, "without a difference p-values are spread over (0, 1]"

# %% [markdown]
# ## Exercise 3 (proof): the third sum
#
# Expand $\lVert \frac1m\sum_i \phi(x_i) - \frac1n \sum_j \phi(y_j)\rVert^2$ into three sums of kernel values and say what each index
# runs over. The slide lets the last one run to $m$ twice: give sample sizes for which that changes the value.

# %% answer
m, n = ..., ...

# %% [markdown] solution
# $\frac1{m^2}\sum_{i,j \le m} k(x_i, x_j) + \frac1{n^2}\sum_{i,j\le n} k(y_i, y_j) - \frac2{mn}\sum_{i \le m}\sum_{j \le n}
# k(x_i, y_j)$. The mixed sum runs over all pairs of one $x$ and one $y$. For $m = n$ the misprint is harmless; for any
# $m \ne n$ it leaves pairs out or names rows that do not exist.

# %% solution
m, n = 3, 5

# %% check
A, B = rng.normal(size=(m, 1)), rng.normal(size=(n, 1))
mixed = Gaussian(1.0)(A, B)
assert m != n, "with equal sizes the misprint changes nothing"
assert not np.isclose(mixed.sum(), mixed[: min(m, n), : min(m, n)].sum())
