# %% [markdown]
# # Problem sheet 9: strings and graphs

# %%
import numpy as np

from mercer import Graph, Graphlet, Spectrum

# %% [markdown]
# ## Exercise 1 (easy): count by hand
#
# What is the value of `Spectrum(2)` on "ababab" and "baba"?

# %% answer
value = ...

# %% solution
value = 3 * 1 + 2 * 2  # ab: 3 and 1 times, ba: 2 and 2 times

# %% check
assert value == Spectrum(2)(["ababab"], ["baba"])[0, 0], "multiply the counts of each common substring, and add"

# %% [markdown]
# ## Exercise 2 (hands-on): the spectrum kernel
#
# Compute the value for any two strings with a dictionary of counts.

# %% answer
def spectrum(s, t, p):
    ...


# %% solution
from collections import Counter


def spectrum(s, t, p):
    left, right = (Counter(text[i : i + p] for i in range(len(text) - p + 1)) for text in (s, t))
    return sum(count * right[word] for word, count in left.items())


# %% check
texts = ["banana", "bandana", "an", ""]
assert np.array_equal([[spectrum(s, t, 2) for s in texts] for t in texts], Spectrum(2)(texts)), "compare with Spectrum"

# %% [markdown]
# ## Exercise 3 (proof): a kernel cannot see everything
#
# Show that two different strings can have the same features under `Spectrum(2)`, so that their distance is zero. Find a pair.

# %% answer
s, t = ..., ...

# %% [markdown] solution
# The features are the counts of pairs of letters, that is the edges of a walk through the letters. Two different walks can use
# the same edges equally often: "abaca" uses ab, ba, ac, ca, and "acaba" uses the same four in another order.

# %% solution
s, t = "abaca", "acaba"

# %% check
K = Spectrum(2)([s, t])
assert s != t and K[0, 0] > 0, "two different strings with at least two letters"
assert K[0, 0] + K[1, 1] - 2 * K[0, 1] == 0, "their distance in feature space must be zero"
triangle, path = Graph(3, [(0, 1), (1, 2), (2, 0)]), Graph(3, [(0, 1), (1, 2)])
assert Graphlet(3)([triangle], [path])[0, 0] == 0, "graphs: a triangle and a path have no subgraph of three nodes in common"
