"""Pages of the tour for a class: each has one or two controls, and one state per position of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from mercer.lab.kernels import as_points, break_it
from mercer.lab.pictures import kernel_of, perceptron_run, rows_of
from mercer.lab.samples import arrays
from mercer.lab.state import DrawnPoints, LabState
from mercer.lab.tour import page_state

#: Changes of a state, one per position of a control.
Change = Callable[[LabState], LabState]


@dataclass(frozen=True)
class Control:
    """A control of a page: its title, and for each position a label and what it changes."""

    title: str
    labels: tuple[str, ...]
    changes: tuple[Change, ...]
    ordered: bool = True  # a slider; otherwise buttons


@dataclass(frozen=True)
class Handout:
    """A page without a server: what to try, the controls, and the position that it begins with."""

    task: str
    controls: tuple[Control, ...]
    start: tuple[int, ...]

    def states(self, name: str) -> dict[tuple[int, ...], LabState]:
        """Return the state of the page called `name` for every combination of positions."""
        found = {}
        for position in product(*(range(len(control.labels)) for control in self.controls)):
            state = page_state(name)
            for control, place in zip(self.controls, position, strict=True):
                state = control.changes[place](state)
            found[position] = state if state.view in state.views else state.having(view=state.views[-1])
        return found


def _parameter(title: str, name: str, values: Sequence[float]) -> Control:
    changes = tuple(lambda state, value=value: state.setting(**{name: value}) for value in values)
    return Control(title, tuple(f"{value:g}" for value in values), changes)


def _kernels(title: str, texts: Sequence[str], labels: Sequence[str] | None = None) -> Control:
    changes = tuple(lambda state, text=text: state.having(kernel=text) for text in texts)
    return Control(title, tuple(labels or texts), changes, ordered=labels is not None)


def _widths(pattern: str, values: Sequence[float], title: str = "length scale") -> Control:
    return _kernels(title, [pattern.format(value) for value in values], [f"{value:g}" for value in values])


def _algorithms(titles: dict[str, str]) -> Control:
    changes = tuple(lambda state, name=name: state.having(algorithm=name) for name in titles)
    return Control("algorithm", tuple(titles.values()), changes, ordered=False)


def _broken(state: LabState) -> LabState:
    """Return the state with the points of a counter-example to its kernel beside its own."""
    found = break_it(kernel_of(state), rows_of(state))[1]
    points = None if found is None else as_points(found)
    if points is None or not isinstance(state.data, DrawnPoints):
        return state
    return state.having(data=DrawnPoints(state.data.points + points.points))


def _steps() -> Control:
    state = page_state("perceptron")
    P, c = arrays(state.data)
    total = len(perceptron_run(kernel_of(state), P, c).mistakes_)
    return _parameter("corrections", "steps", list(range(total + 1)))


@cache
def handouts() -> dict[str, Handout]:
    """Return the page of each name of the tour."""
    decades = [10.0**power for power in range(-5, 3)]
    widths = [0.1, 0.2, 0.4, 0.6, 1.0, 1.5, 2.5]
    spread = Control(
        "points", ("of the lecture", "with the counter-example"), (lambda state: state, _broken), ordered=False
    )  # fmt: skip
    return {
        "ridge": Handout(
            "Move alpha from one end to the other. At which value does the curve stop following single points?",
            (_parameter("alpha", "alpha", decades),), (4,),
        ),
        "kernel-trick": Handout(
            "Set the degree to 1 and look at the errors. Which is the smallest degree without any?",
            (_kernels("degree", [f"Polynomial(degree={p}, offset=1.0)" for p in range(1, 6)], list("12345")),), (1,),
        ),
        "kernel": Handout(
            "Add the point of the counter-example. How many eigenvalues are negative, and what is the smallest?",
            (spread,), (0,),
        ),
        "closure": Handout(
            "Compare the normalized exponential of the linear kernel with the Gaussian. Which of the five is no kernel?",
            (
                _kernels("kernel", [
                    "Linear()", "Linear().exp()", "Linear().exp().normalized()", "Gaussian(length_scale=1.0)",
                    "Gaussian(length_scale=1.0) - Linear()",
                ]),
            ), (0,),
        ),
        "geometry": Handout(
            "Normalize the kernel. What happens to the diagonal of the Gram matrix, and why?",
            (_kernels("kernel", [f"Polynomial(degree=2, offset=1.0){end}" for end in ("", ".normalized()")]),), (0,),
        ),
        "means": Handout(
            "Widen the kernel until the boundary is nearly a line. Then show the ball: which points are novel?",
            (
                _widths("Gaussian(length_scale={})", widths[1:]),
                _algorithms({"mean": "nearest mean", "ball": "novelty ball"}),
            ), (2, 0),
        ),
        "perceptron": Handout(
            "Step until the classes are separated. Compare the number of corrections with Novikoff's bound.",
            (_steps(),), (0,),
        ),
        "neighbors": Handout(
            "Compare k = 1 with k = 25. Then vote by angle: which neighbors change?",
            (
                _parameter("k", "k", [1, 3, 5, 9, 15, 25]),
                _kernels("kernel", ["Gaussian(length_scale=1.0)", "Polynomial(degree=3, offset=0.0).normalized()"]),
            ), (2, 0),
        ),
        "strings": Handout(
            "Change p. From which length on does the new word share nothing with some of the others?",
            (_kernels("p", [f"Spectrum(p={p}).normalized()" for p in range(1, 6)], list("12345")),), (1,),
        ),
        "two-samples": Handout(
            "Find a kernel with p below 0.05, and one that sees nothing.",
            (
                _kernels("kernel", [
                    "Linear()", "Polynomial(degree=2, offset=1.0)", "Gaussian(length_scale=0.3)",
                    "Gaussian(length_scale=1.0)", "Gaussian(length_scale=5.0)",
                ]),
            ), (3,),
        ),
        "pca": Handout(
            "Raise the number of components kept. When do the pre-images follow the noise again?",
            (_parameter("components kept", "components", [1, 2, 3, 4, 6, 8, 12, 20]),), (1,),
        ),
        "function-space": Handout(
            "Turn nu from 0.5 to 5. Watch the curve between the points, and the norm of f.",
            (_widths("Matern(nu={}, length_scale=1.0)", [0.5, 1.0, 1.5, 2.5, 3.5, 5.0], "nu"),), (0,),
        ),
        "cross-validation": Handout(
            "Find the dark valley with both sliders, and look at the curve. What do the corners do?",
            (_widths("Gaussian(length_scale={})", widths), _parameter("alpha", "alpha", decades)), (0, 1),
        ),
        "gp": Handout(
            "Change the length scale: where does the band open? Which pair has the largest marginal likelihood?",
            (
                _widths("1.0 * Gaussian(length_scale={})", widths),
                _parameter("noise", "noise", [0.001, 0.01, 0.03, 0.1, 0.3]),
            ), (3, 2),
        ),
        "random-features": Handout(
            "Raise D, and draw again. At which D do you no longer see a difference?",
            (
                _parameter("D, random features", "D", [2, 4, 8, 12, 20, 40, 80, 160, 320]),
                _parameter("number of the draw", "seed", [0, 1, 2, 3]),
            ), (3, 0),
        ),
        "universality": Handout(
            "Widen the kernel until errors appear. What happens to the margins before?",
            (_widths("Gaussian(length_scale={})", [0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0]),), (1,),
        ),
        "support-vectors": Handout(
            "Lower C. Which points become support vectors, and what happens to the margin?",
            (_parameter("C", "C", [0.01, 0.03, 0.1, 0.3, 1.0, 10.0, 1000.0]),), (6,),
        ),
        "structured": Handout(
            "Compare the kernels. Which of them sees the pattern of the new word?",
            (
                _kernels("kernel", [
                    "Spectrum(p=3).normalized()", "Spectrum(p=4).normalized()", "Spectrum(p=6).normalized()",
                    "Mismatch(p=6, mismatches=1).normalized()", "Subsequence(p=4, decay=0.3).normalized()",
                ]),
            ), (1,),
        ),
        "clusters": Handout(
            "Switch spectral clustering on. Then widen the kernel: which of the two still finds the rings?",
            (
                _widths("Gaussian(length_scale={})", [0.15, 0.25, 0.4, 0.8, 1.5]),
                Control(
                    "spectral clustering", ("off", "on"),
                    (lambda state: state.setting(spectral=0), lambda state: state.setting(spectral=1)), ordered=False,
                ),
            ), (1, 0),
        ),
        "discriminants": Handout(
            "Lower the penalty step by step. When does the boundary begin to follow single points?",
            (_parameter("penalty", "penalty", [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]),), (5,),
        ),
    }  # fmt: skip
