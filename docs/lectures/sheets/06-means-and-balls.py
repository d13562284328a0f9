# %% [markdown]
# # Problem sheet 6: class means and novelty

# %%
import numpy as np

from mercer import Gaussian, NearestMean, NoveltyBall

rng = np.random.default_rng(6)
y = np.repeat([-1, 1], 20)
X = rng.normal(size=(40, 2)) + 1.2 * y[:, None]
k = Gaussian(1.5)

# %% [markdown]
# ## Exercise 1 (easy): one class ten times as large
#
# Repeat every row of the class +1 ten times. What happens to the decision function of `NearestMean`? Set `changed` to True or
# False before you run it.

# %% answer
changed = ...

# %% solution
changed = False  # a mean does not depend on how often every row is repeated

# %% check
rows = np.concatenate([np.flatnonzero(y == -1), np.repeat(np.flatnonzero(y == 1), 10)])
before, after = (NearestMean(k).fit(X[i], y[i]).decision_function(X) for i in (np.arange(40), rows))
assert isinstance(changed, bool) and changed == (not np.allclose(before, after)), "compute both decision functions"

# %% [markdown]
# ## Exercise 2 (hands-on): the distance to the mean
#
# Return the distances of new points `Z` to the mean of `X` in feature space.

# %% answer
def to_mean(k, X, Z):
    ...


# %% solution
def to_mean(k, X, Z):
    return np.sqrt(k.diag(Z) - 2 * k(Z, X).mean(axis=1) + k(X).mean())


# %% check
Z = rng.normal(size=(7, 2)) * 3
assert np.allclose(to_mean(k, X, Z), -NoveltyBall(k).fit(X).score_samples(Z)), "compare with NoveltyBall"

# %% [markdown]
# ## Exercise 3 (proof): how often is the next point outside?
#
# Draw $m + 1$ independent points from one distribution and measure the distance of each to the mean of *all* of them. Show that the
# last point is the farthest with probability $1/(m+1)$ if there are no ties. Why does this not hold for the ball that is
# fitted to the first $m$ points only? Estimate that second probability for $m = 10$ normal points in five dimensions.

# %% answer
def false_alarms(m=10, d=5, trials=2000):
    ...


# %% [markdown] solution
# The $m + 1$ distances are a symmetric function of the points: exchanging two points exchanges their distances. Each point is
# therefore equally likely to be the farthest. A mean of the first $m$ points treats the last one differently: it is pulled
# toward the first $m$ points and away from the last one, so the last point is outside more often.

# %% solution
def false_alarms(m=10, d=5, trials=2000):
    alarms = 0
    for _ in range(trials):
        points = rng.normal(size=(m + 1, d))
        distances = np.linalg.norm(points - points[:m].mean(axis=0), axis=1)
        alarms += distances[m] > distances[:m].max()
    return alarms / trials


# %% check
assert 1 / 11 + 0.03 < false_alarms() < 0.25, "the ball alarms more often than 1/(m + 1)"
