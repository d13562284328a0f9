# %% [markdown]
# # Problem sheet 7: the perceptron

# %%
import numpy as np

from mercer import KernelPerceptron, Linear, Polynomial

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 2))
X = X[np.abs(X.sum(axis=1)) > 0.5]
y = np.where(X.sum(axis=1) > 0, 1, -1)

# %% [markdown]
# ## Exercise 1 (easy): two points
#
# The rows $x$ and $-x/100$ with labels $+1$ and $-1$ are separable by a line through the origin. How many updates does the
# perceptron make on them, starting with $x$?

# %% answer
updates = ...

# %% solution
updates = 1  # after the first update w = x, and <w, -x/100> < 0 is the right sign

# %% check
pair, labels = np.array([[1.0, 2.0], [-0.01, -0.02]]), np.array([1, -1])
model = KernelPerceptron(Linear(), shuffle=False, average=False, stopping="mistakes").fit(pair, labels)
assert updates == model.n_updates_, "follow the first pass by hand"

# %% [markdown]
# ## Exercise 2 (hands-on): the dual perceptron
#
# Given a Gram matrix and labels of +1 and -1, return how often each row was a mistake. Pass over the rows in order until a pass
# makes no mistake. A score of zero counts as a mistake.

# %% answer
def perceptron(K, y, passes=1000):
    ...


# %% solution
def perceptron(K, y, passes=1000):
    counts = np.zeros(len(y))
    for _ in range(passes):
        before = counts.sum()
        for i in range(len(y)):
            if y[i] * (K[i] @ (counts * y)) <= 0:
                counts[i] += 1
        if counts.sum() == before:
            break
    return counts


# %% check
kernel = Polynomial(2)
model = KernelPerceptron(kernel, shuffle=False, average=False, stopping="mistakes").fit(X, y)
assert np.array_equal(perceptron(kernel(X), y) * y, model.dual_coef_), "compare with KernelPerceptron"

# %% [markdown]
# ## Exercise 3 (proof): the bound is sharp
#
# Show that on $n$ orthonormal vectors with any labels the perceptron makes exactly $R^2/\gamma^2$ updates, so the theorem cannot
# be improved. Return $R$, $\gamma$ and the number of updates.

# %% answer
def orthonormal(n):
    ...


# %% [markdown] solution
# $R = 1$. The vector $w^* = \sum_i y_i e_i/\sqrt n$ has norm 1 and margin $y_i\langle w^*, e_i\rangle = 1/\sqrt n$ at every point. No
# unit vector has a larger smallest margin, because $\sum_i \langle w, e_i\rangle^2 \le 1$ has $n$ terms. So $R^2/\gamma^2 = n$.
# Every row has score 0 when it is first met, and an update with one row does not change the scores of the others: $n$
# updates in the first pass, and none in the second.

# %% solution
def orthonormal(n):
    labels = np.where(np.arange(n) % 3 == 0, 1, -1)
    return 1.0, 1 / np.sqrt(n), int(perceptron(np.eye(n), labels).sum())


# %% check
R, gamma, updates = orthonormal(17)
assert updates == 17 and np.isclose(R**2 / gamma**2, 17), "the bound must be met exactly"
