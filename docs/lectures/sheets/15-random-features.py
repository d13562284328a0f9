# %% [markdown]
# # Problem sheet 15: Bochner's theorem and random features

# %%
import numpy as np

import mercer
from mercer import Gaussian

rng = np.random.default_rng(15)
X = rng.normal(size=(30, 2))

# %% [markdown]
# ## Exercise 1 (easy): two frequencies
#
# The measure has weight 1/2 at each of the frequencies 1 and 3 (and their negatives). Write the kernel on the real line as a formula.

# %% answer
def two_waves(x, z):
    ...


# %% solution
def two_waves(x, z):
    return (np.cos(x - z) + np.cos(3 * (x - z))) / 2


# %% check
k = mercer.from_spectral([[1.0], [3.0]], [0.5, 0.5])
x = rng.normal(size=7)
assert np.allclose(two_waves(x[:, None], x[None, :]), k(x[:, None])), "compare with mercer.from_spectral"

# %% [markdown]
# ## Exercise 2 (hands-on): random features
#
# Return `D` random Fourier features of the Gaussian kernel with length scale 1: $\sqrt{2/D}\cos(w'x + b)$ with $w$ normal and $b$
# uniform on $[0, 2\pi]$.

# %% answer
def features(X, D):
    ...


# %% solution
def features(X, D):
    w, b = rng.normal(size=(X.shape[1], D)), rng.uniform(0, 2 * np.pi, D)
    return np.sqrt(2 / D) * np.cos(X @ w + b)


# %% check
errors = [np.abs((phi := features(X, D)) @ phi.T - Gaussian(1.0)(X)).mean() for D in (100, 10000)]
assert errors[0] < 0.15 and errors[1] < 0.015, "the error falls as the root of D"

# %% [markdown]
# ## Exercise 3 (proof): the factor
#
# Show that $E\, 2\cos(w'x + b)\cos(w'z + b) = E \cos(w'(x - z))$ if $b$ is uniform on $[0, 2\pi]$. What does the mean of
# $\cos(w'x + b)\cos(w'z + b)$ alone tend to at $x = z$?

# %% answer
at_equal_points = ...

# %% [markdown] solution
# $2\cos\alpha\cos\beta = \cos(\alpha - \beta) + \cos(\alpha + \beta)$. The first term is $\cos(w'(x - z))$. The second is
# $\cos(w'(x + z) + 2b)$, whose mean over a full period of $b$ is zero. Without the factor 2 the limit at $x = z$ is $1/2$ instead
# of $k(x, x) = 1$.

# %% solution
at_equal_points = 0.5

# %% check
w, b = rng.normal(size=200000), rng.uniform(0, 2 * np.pi, 200000)
assert np.isclose(at_equal_points, np.mean(np.cos(0.7 * w + b) ** 2), atol=0.01), "estimate it from draws"
