"""The kernel perceptron, with Novikoff's bound beside the updates it made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_choice, check_whole
from mercer.estimators.base import DEFAULT_KERNEL, TrainingSet, check_is_fitted, whole_or_nothing
from mercer.estimators.perceptron.epochs import Form, Mistakes, run
from mercer.estimators.perceptron.fit import (
    SEARCHED,
    Averages,
    Epochs,
    KernelValues,
    Watcher,
    finish,
    make_form,
    perceptron_routes,
)
from mercer.estimators.perceptron.model import PerceptronModel, signs_of
from mercer.estimators.perceptron.weight_forms import POLICIES, Blocked, Budgeted
from mercer.estimators.progress import Meter
from mercer.grams.products import product
from mercer.inputs import append, count, take
from mercer.inputs.labels import classes_of, encode, read_labels, stream_classes
from mercer.planning import Route, Shape
from mercer.registry import estimator


@estimator
class KernelPerceptron(ClassifierMixin, PerceptronModel):
    """Rosenblatt's algorithm in feature space: w <- w + y_i phi(x_i) whenever y_i <w, phi(x_i)> <= 0.

    If some unit vector separates the classes with margin gamma and ||phi(x)|| <= R, at most R^2 / gamma^2 updates are
    made (Novikoff): the ledger shows both. More than two classes: one against the rest, each a run of its own.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    max_iter : int, default 1000
        Epochs at most; a run ends after an epoch without mistakes, or once the data are proved to be not separable.
    stopping : "average" or "mistakes", default "average"
        "average" also ends a run when the averaged weights make no fewer errors on the training rows than five epochs ago
        (by 0.1 % of the rows), unless the data are seen to be separable. "mistakes" is the rule of the lectures alone. The
        last weights, average=False, are not averaged: for them both are the same.
    average : True, False or "voted"
        Predict with the average of the weights over all presentations, with the last weights, or by a vote of all.
    fit_intercept : bool, default False
        The kernel k + 1, so R^2 = max k(x, x) + 1.
    shuffle : bool, default True
        A new order in every epoch, drawn from random_state.
    solver : "auto", "primal", "gram", "blocked" or "online"
        The form: explicit weights; counts per row with the Gram matrix or with kernel rows in blocks; the list of
        mistakes. All make the same mistakes in the same order.
    budget : int, optional
        The largest number of support vectors; budget_policy is what happens then: "projection" of updates on the span
        of those held, or "removal" of the oldest.
    margin : "reached" or "hard"
        The margin gamma in the ledger: that of the last weights, or also the largest possible one (a separate search).
    memory, verbose : budget of the fit; progress on standard error.

    Attributes
    ----------
    mistakes_ (row numbers in the order made; a list of such arrays for more than two classes), n_updates_, radius_ (R),
    margin_ (gamma reached; nan if not known), novikoff_bound_ (inf unless converged), weight_norms_ (||w_t|| after every
    update), dual_coef_ (counts times labels), average_coef_, support_, X_fit_, intercept_, converged_, certificate_ (if
    not separable: a >= 0, sum a = 1 with sum a_i y_i phi(x_i) = 0), ledger_, n_iter_, classes_, kernel_, route_.
    After `partial_fit`, X_fit_ holds the rows that were mistakes, and support_ their places in the stream.

    >>> import numpy as np
    >>> from mercer import KernelPerceptron, Polynomial
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), [1, 0, 1]  # no line separates these, a parabola does
    >>> model = KernelPerceptron(Polynomial(degree=2), average=False, random_state=0).fit(X, y)
    >>> bool(model.n_updates_ <= model.novikoff_bound_), model.score(X, y)
    (True, 1.0)
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        max_iter: int = 1000,
        stopping: str = "average",
        average: bool | str = True,
        fit_intercept: bool = False,
        shuffle: bool = True,
        random_state: Any = None,
        solver: str = "auto",
        budget: int | None = None,
        budget_policy: str = "projection",
        margin: str = "reached",
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.max_iter = max_iter
        self.stopping = stopping
        self.average = average
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.solver = solver
        self.budget = budget
        self.budget_policy = budget_policy
        self.margin = margin
        self.memory = memory
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> KernelPerceptron:
        """Make epochs over the rows until one passes without a mistake."""
        return self._fit(X, y)

    def _check_parameters(self) -> None:
        check_whole("KernelPerceptron", "max_iter", self.max_iter, 1)
        if self.budget is not None:
            check_whole("KernelPerceptron", "budget", self.budget, 1)
        if self.average not in (True, False):
            check_choice("KernelPerceptron", "average", self.average, ("True", "False", "voted"))
        check_choice("KernelPerceptron", "budget_policy", self.budget_policy, POLICIES)
        check_choice("KernelPerceptron", "margin", self.margin, ("reached", "hard"))
        check_choice("KernelPerceptron", "stopping", self.stopping, ("average", "mistakes"))
        if self.budget is not None and self.average == "voted":
            raise InputError(
                'KernelPerceptron: average="voted" needs every mistake, and budget= lets some go; use average=True instead.'
            )

    def _read_y(self, y: Any, n: int) -> Array:
        return read_labels(type(self).__name__, y, n)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> Epochs:
        name, n = type(self).__name__, data.n
        classes = classes_of(name, data.y)
        Y = signs_of(encode(name, data.y, classes), len(classes))
        random = check_random_state(self.random_state)
        values = KernelValues(data.kernel, data.X, float(self.fit_intercept))
        watcher = Watcher(data.X, Y, values)
        form: Form
        if self.budget is None:
            form = make_form(route.solver, data.kernel, data.X, Y, values, self.memory)
        else:
            form = Budgeted(values, Y, min(self.budget, n), self.budget_policy)

        averages = Averages(form, values, data.X, Y) if self.stopping == "average" and self.average is not False else None

        def watch(epochs: int, active: Array, mistakes: Mistakes, presented: Array) -> Array:
            meter(epochs, self.max_iter)
            if epochs == self.max_iter:
                return np.zeros(len(active), bool)
            if averages is None:
                return watcher(epochs, active)
            done = watcher(epochs, active) if n <= SEARCHED else np.zeros(len(active), bool)
            return done | watcher.settle(averages(active, mistakes, presented) & ~done)

        def order(epoch: int) -> Array:
            return random.permutation(n) if self.shuffle else np.arange(n)

        result = run(form, len(Y), order, self.max_iter, watch)
        return Epochs(classes, Y, values, finish(form, result, Y, values, watcher.proofs))

    def _store(self, data: TrainingSet, solution: Epochs) -> None:
        self.classes_ = solution.classes
        self._keep(data.kernel, data.X, solution.Y, solution.fitted, solution.values)
        self._warn_if_open()

    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> KernelPerceptron:
        """Present a batch of a stream, once and in its order; batches together make the mistakes of one long pass.

        The first call fixes the classes (those of `classes`, or of its labels) and the kernel.
        """
        self._check_parameters()
        first, name = "kernel_" not in vars(self), type(self).__name__
        self._given_kernel().refuse_stream(name)
        X = self._read(X, reset=first)
        labels = read_labels(name, y, count(X))
        if first:
            self.classes_ = stream_classes(name, classes, labels)
            self.route_ = perceptron_routes(self._shape(X), "online", self.budget, len(self.classes_))[0]
        kernel = self._resolved(X) if first else self.kernel_
        batch = signs_of(encode(name, labels, self.classes_), len(self.classes_))
        past = self._past(len(batch))
        held = len(past.rows)
        Y = np.concatenate([np.zeros((len(batch), held)), batch], axis=1)
        both = X if held == 0 else append(take(self.X_fit_, past.rows), X)
        values = KernelValues(kernel, both, float(self.fit_intercept))
        form: Form
        if self.budget is not None:
            form = Budgeted(values, Y, self.budget, self.budget_policy)
            form.start(past.alpha, past.beta)
        else:
            F = np.zeros(Y.shape)
            if held:
                old = take(both, np.arange(held))
                F[:, held:] = (product(kernel, X, old, past.alpha, False) + values.shift * past.alpha.sum(axis=0)).T
            form = Blocked(values, Y, 0, F)
        result = run(form, len(Y), lambda epoch: np.arange(held, held + count(X)), 1, presented=past.presented)
        fitted = finish(form, result, Y, values, {})
        if self.budget is None:
            fitted.alpha[:held] += past.alpha
            fitted.beta[:held] += past.beta
        self._store_stream(kernel, both, Y, fitted, past)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return <w, phi(x)>, (n,), positive for the second class; (n, C), one column per class, for C > 2."""
        check_is_fitted(self)
        new = self._read(X, reset=False)
        values = self._votes(new) if self.average == "voted" else self._weighed(new)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> Array:
        """Return the class on whose side x lies; a score of 0 is the first class."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)]

    def _shape(self, X: Any, y: Any = None) -> Shape:
        shape = super()._shape(X)
        return replace(shape, n_targets=2 if y is None else max(2, len(np.unique(np.asarray(y)))))

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return perceptron_routes(shape, self.solver, self.budget, shape.n_targets, self.memory)
