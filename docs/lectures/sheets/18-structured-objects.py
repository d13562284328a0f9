# %% [markdown]
# # Problem sheet 18: kernels on structured objects

# %%
import numpy as np

from mercer import SVC, Graph, KernelPCA, Spectrum, WeisfeilerLehman

# %% [markdown]
# ## Exercise 1 (easy): one kernel, another algorithm
#
# Project the texts onto two components with the kernel `Spectrum(2).normalized()`.

# %% answer
texts = ["the cat sat", "the cat ran", "a dog sat", "a dog ran", "the bird flew"]
projected = ...

# %% solution
texts = ["the cat sat", "the cat ran", "a dog sat", "a dog ran", "the bird flew"]
projected = KernelPCA(Spectrum(2).normalized(), n_components=2).fit_transform(texts)

# %% check
assert projected.shape == (5, 2), "one row per text, two columns"
assert np.linalg.norm(projected[0] - projected[1]) < np.linalg.norm(projected[0] - projected[3]), "cats are nearer to cats"

# %% [markdown]
# ## Exercise 2 (hands-on): one round of Weisfeiler-Lehman
#
# Return the new label of each node: the pair of its label and the sorted tuple of its neighbors' labels.

# %% answer
def refine(edges, labels):
    ...


# %% solution
def refine(edges, labels):
    neighbors = {i: [] for i in range(len(labels))}
    for i, j in edges:
        neighbors[i].append(labels[j])
        neighbors[j].append(labels[i])
    return [(labels[i], tuple(sorted(neighbors[i]))) for i in range(len(labels))]


# %% check
edges, labels = [(0, 1), (1, 2), (2, 3)], ["C", "C", "O", "C"]
found = refine(edges, labels)
assert found[0] == ("C", ("C",)) and found[1] == ("C", ("C", "O")), "node 1 has a carbon and an oxygen beside it"
graph = Graph(4, edges, labels)
levels = [labels, found]
value = sum(sum(a == b for a in level for b in level) for level in levels)
assert value == WeisfeilerLehman(1)([graph])[0, 0], "equal labels of both rounds, counted in pairs, are the kernel value"

# %% [markdown]
# ## Exercise 3 (proof): what Weisfeiler-Lehman cannot see
#
# Show that two triangles and a ring of six nodes, without labels, have the same value with every graph under
# `WeisfeilerLehman(h)` for every $h$. Build both graphs.

# %% answer
triangles, ring = ..., ...

# %% [markdown] solution
# In both graphs every node has two neighbors. If all nodes have the same label before a round, they have the same label after it,
# and it is the same label in both graphs. By induction the counts of labels agree in every round: six times one label. The
# features are these counts, so the graphs have equal features, although one is connected and the other is not.

# %% solution
triangles = Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], ["C"] * 6)
ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)], ["C"] * 6)

# %% check
for h in (0, 1, 5):
    K = WeisfeilerLehman(h)([triangles, ring])
    assert K[0, 0] + K[1, 1] - 2 * K[0, 1] == 0, "their distance must be zero"
assert triangles != ring
texts, kinds = ["abab", "baba", "cdcd", "dcdc"], ["x", "x", "y", "y"]
assert SVC(Spectrum(2), C=10.0).fit(texts, kinds).predict(["abba"])[0] == "x"
