"""Models as plain data and back: JSON values, with arrays and lists stored separately.

A JSON object always has a key "is" with its type. Nothing is imported by a name from a file: names are looked up in the
tables here or, for functions, among those registered by `mercer.register`. A kernel is stored as text for `parse`,
plus the parts that text cannot hold, by their path in the kernel.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from mercer.errors import InputError, MissingExtraError, describe
from mercer.estimators.base import check_shared_parameters
from mercer.inputs import Graph, as_graph, is_frame
from mercer.inputs.graphs import is_networkx
from mercer.inputs.vectors import is_series
from mercer.kernels.base import Kernel
from mercer.kernels.frequencies import Cosines
from mercer.kernels.functions import name_of, registered
from mercer.kernels.parsing import parse
from mercer.kernels.tables.cells import Missing
from mercer.kernels.vectors import Bilinear, Constant
from mercer.kernels.views import LinearMap
from mercer.kernels.wrappers import Centered, Repaired
from mercer.persist.stored import check_part, check_stored
from mercer.registry import find_estimator, find_record, is_record, left_out, make_record

#: Placeholder in the text for a part that is stored separately.
PLACE = Constant(1.0)

Part = tuple[str, list[Any]]  # path in the tree, and the name and arguments of that part


def split(kernel: Kernel) -> tuple[str, list[Part]]:
    """Return the text of a kernel, and the parts that hold data: samples and matrices."""
    parts = list(_parts(kernel, ""))
    bare = kernel
    for path, _ in parts:
        bare = _with(bare, path, PLACE)
    text = repr(bare)
    try:
        same = join(text, parts) == kernel
    except InputError as error:
        raise InputError(f"{kernel} cannot be saved, since its text cannot be read back: {error}") from None
    if not same:  # two functions of one name, or two classes with the same text
        raise InputError(
            f"{kernel} cannot be saved: reading its text gives another kernel. Give every function inside its own name: "
            "mercer.register(name, function)."
        )
    return text, parts


def join(text: str, parts: list[Part]) -> Kernel:
    """Return the kernel of a text and its parts, the inverse of split."""
    kernel = parse(text)
    for path, part in parts:
        kernel = _with(kernel, path, _made(part))
    return kernel


def _parts(kernel: Kernel, path: str) -> Any:
    if isinstance(kernel, Centered):
        data = kernel.sample.data
        yield path, ["centered", kernel.inner, list(data) if isinstance(data, tuple) else data]
    elif isinstance(kernel, Repaired):
        data = kernel.sample.data
        yield path, ["repaired", kernel.inner, list(data) if isinstance(data, tuple) else data, kernel.method]
    elif isinstance(kernel, Missing):
        data = kernel.sample.data
        yield path, ["missing", kernel.inner, list(data) if isinstance(data, tuple) else data, kernel.rule]
    elif isinstance(kernel, LinearMap):
        yield path, ["linear", kernel.inner, kernel.S.array]
    elif isinstance(kernel, Bilinear):
        yield path, ["bilinear", kernel.B.array]
    elif isinstance(kernel, Cosines):
        yield path, ["cosines", kernel.frequencies.array, kernel.weights.array]
    else:
        for number, child in enumerate(kernel.children):
            yield from _parts(child, f"{path}__{number}" if path else str(number))


def _made(part: list[Any]) -> Kernel:
    match part:
        case ["centered", Kernel() as inner, sample]:
            return inner.centered(sample)
        case ["repaired", Kernel() as inner, sample, str() as method]:
            return inner.repaired(sample, method)
        case ["missing", Kernel() as inner, sample, str() as rule]:
            return inner.missing(sample, rule)
        case ["linear", Kernel() as inner, S]:
            return inner.linear(S)
        case ["bilinear", B]:
            return Bilinear(B)
        case ["cosines", frequencies, weights]:
            return Cosines(frequencies, weights=weights)
    raise InputError("holds a part of a kernel that this version of mercer does not read.")


def _with(kernel: Kernel, path: str, part: Kernel) -> Kernel:
    return kernel.set_params(**{path: part}) if path else part


#: Classes of scikit-learn that may contain a model, with their modules: these take long to load, so they wait for a use.
PIPELINE, STANDARD_SCALER = "Pipeline", "StandardScaler"
FOREIGN = {PIPELINE: "sklearn.pipeline", STANDARD_SCALER: "sklearn.preprocessing"}

#: Rules for the arrays of scikit-learn's scaler (see `stored`; mercer's classes declare their own).
SCALER = {
    "n_features_in_": "size d",
    "mean_": "None | float (d,)",
    "var_": "None | float (d,)",
    "scale_": "None | float (d,)",
    "n_samples_seen_": "real | real (d,) | int (d,)",
}

#: Splitters that are allowed as `cv=`, each determined by its parameters.
SPLITTERS = dict.fromkeys(
    ("GroupKFold", "KFold", "LeaveOneGroupOut", "LeaveOneOut", "ShuffleSplit", "StratifiedKFold"), "sklearn.model_selection"
)

_ABSENT = object()

#: Kinds of dtypes that NumPy writes without pickle.
ARRAY_KINDS = "biufcUSMm"


class Packer:
    """Conversion of one model to plain data; each of the `arrays` and `lists` is stored once, however often it occurs."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.lists: list[Any] = []
        self._numbers: dict[int, int] = {}  # id -> place in arrays or lists
        self._kept: list[Any] = []  # keeps objects alive, because Python could reuse the id of a freed one

    def pack(self, value: Any, where: str) -> Any:
        """Return the plain form of a value; `where` is its name in messages."""
        if value is None or isinstance(value, (bool, str)):
            return str(value) if isinstance(value, str) else value
        if type(value) in (int, float):
            return value if isinstance(value, int) or math.isfinite(value) else {"is": "float", "text": repr(value)}
        for kind, pack in self._doors():
            if isinstance(value, kind):
                return pack(value, where)
        if is_record(value):
            return self._record(value, where)
        if isinstance(value, BaseEstimator) and _class_of(type(value).__name__) is type(value):
            return self._estimator(value, where)
        if is_frame(value):
            return self._frame(value, where)
        if is_series(value):
            return self._list(list(value), where)
        if is_networkx(value):
            return self._graph(as_graph(value, where), where)
        if type(value) is _listed(type(value).__name__, SPLITTERS):
            return self._splitter(value, where)
        name = name_of(value) if callable(value) else ""
        if name and registered(name) is value:
            return {"is": "function", "name": name}
        raise InputError(_cannot_save(value, where))

    def _doors(self) -> tuple[tuple[Any, Callable[[Any, str], Any]], ...]:
        return (
            (np.generic, lambda value, where: {"is": "scalar", "at": self._place(np.asarray(value))}),
            (np.ndarray, self._array),
            (Kernel, self._kernel),
            (Graph, self._graph),
            (list, self._list),
            (tuple, lambda value, where: {"is": "tuple", "items": [self.pack(item, where) for item in value]}),
            (dict, self._dict),
            ((sp.sparray, sp.spmatrix), self._sparse),
        )

    def _place(self, array: np.ndarray[Any, Any]) -> int:
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self._kept.append(array)
            self.arrays.append(np.asarray(array))
        return self._numbers[id(array)]

    def _array(self, value: Any, where: str) -> Any:
        if value.dtype.kind in ARRAY_KINDS:
            return {"is": "array", "at": self._place(value)}
        if value.dtype.kind == "O":
            items = [self.pack(item, where) for item in value.ravel().tolist()]
            return {"is": "objects", "shape": list(value.shape), "items": items}
        raise InputError(_cannot_save(value, where))

    def _list(self, value: list[Any], where: str) -> Any:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.lists)
            self._kept.append(value)
            place = len(self.lists)
            self.lists.append(None)
            self.lists[place] = [self.pack(item, where) for item in value]
        return {"is": "list", "at": self._numbers[id(value)]}

    def _dict(self, value: dict[Any, Any], where: str) -> Any:
        items = [[self.pack(key, where), self.pack(item, f"{where}[{key!r}]")] for key, item in value.items()]
        return {"is": "dict", "items": items}

    def _sparse(self, value: Any, where: str) -> Any:
        rows = sp.csr_array(value)
        parts = {"data": self._place(rows.data), "indices": self._place(rows.indices), "indptr": self._place(rows.indptr)}
        return {"is": "csr", "shape": list(rows.shape), "matrix": isinstance(value, sp.spmatrix), **parts}

    def _frame(self, value: Any, where: str) -> Any:
        library = type(value).__module__.split(".")[0]
        if library not in ("pandas", "polars"):
            raise InputError(_cannot_save(value, where))
        columns = [[self.pack(name, where), self.pack(value[name].to_numpy(), where)] for name in value.columns]
        return {"is": "frame", "library": library, "columns": columns}

    def _graph(self, value: Graph, where: str) -> Any:
        labels = [self.pack(part, where) for part in (value.node_labels, value.edge_labels)]
        smiles = {} if value.smiles is None else {"smiles": value.smiles}
        return {"is": "graph", "nodes": value.n_nodes, "edges": value.edges, "labels": labels, **smiles}

    def _kernel(self, value: Kernel, where: str) -> Any:
        text, parts = split(value)
        return {"is": "kernel", "text": text, "parts": [[path, self.pack(part, where)] for path, part in parts]}

    def _splitter(self, value: Any, where: str) -> Any:
        names = inspect.signature(type(value)).parameters
        fields = {name: self.pack(vars(value)[name], f"{where}.{name}") for name in names}
        return {"is": "splitter", "class": type(value).__name__, "fields": fields}

    def _record(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        kept = [item.name for item in dataclasses.fields(value)]
        skipped = left_out(type(value))
        fields = {item: None if item in skipped else self.pack(vars(value)[item], f"{where}.{item}") for item in kept}
        return {"is": "record", "class": name, "fields": fields}

    def _estimator(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        params: dict[str, Any] = value.get_params(deep=False)
        if _is(value, PIPELINE):
            _check_pipeline(value)
        state = {key: item for key, item in value.__getstate__().items() if key not in params and key != "_sklearn_version"}
        return {
            "is": "estimator",
            "class": name,
            "params": {key: self.pack(item, f"{name}.{key}") for key, item in params.items()},
            "state": {key: self.pack(item, f"{name}.{key}") for key, item in state.items()},
        }


def _cannot_save(value: Any, where: str) -> str:
    if inspect.isroutine(value) or isinstance(value, np.ufunc):
        return (
            f"{where}: the function {name_of(value)} cannot be saved, since a model file holds no code; give it a name, "
            "here and before loading: mercer.register(name, function)."
        )
    return (
        f"{where}: {describe(value)} cannot be saved. A model file holds numbers, texts, graphs, data frames, kernels, "
        "mercer's estimators, and scikit-learn's Pipeline and StandardScaler around them."
    )


def unpack(value: Any, lists: list[Any], arrays: list[Any]) -> Any:
    """Return the value of a plain form, the inverse of Packer.pack."""
    return _Unpacker(lists, arrays).unpack(value)


#: A list may be referred to many times. Values counted with repetition may be this many, and this multiple of those stored.
REPEATED, MULTIPLE = 10**6, 100


class _Unpacker:
    def __init__(self, lists: list[Any], arrays: list[Any]) -> None:
        self.lists, self.arrays = lists, arrays
        self._made: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._stored = self._total = 0  # values read, and values counted with repetition

    def unpack(self, value: Any) -> Any:
        self._stored += 1
        self._total += 1
        if not isinstance(value, dict):
            return value
        return KINDS[_known(value["is"], KINDS)](self, value)

    def _several(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: self.unpack(item) for name, item in values.items()}

    def _float(self, value: Any) -> float:
        return float(value["text"])

    def _scalar(self, value: Any) -> Any:
        return self.arrays[value["at"]][()]

    def _array(self, value: Any) -> Any:
        return self.arrays[value["at"]]

    def _objects(self, value: Any) -> Any:
        items = [self.unpack(item) for item in value["items"]]
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(value["shape"])

    def _list(self, value: Any) -> Any:
        place = value["at"]
        if place not in self._made:
            before = self._total
            self._made[place] = [self.unpack(item) for item in self.lists[place]]
            self._sizes[place] = self._total - before
            return self._made[place]
        self._total += self._sizes[place]
        if self._total > REPEATED + MULTIPLE * self._stored:
            raise InputError(
                f"refers to the same lists so often that they hold more than {REPEATED + MULTIPLE * self._stored} values; "
                "no model that mercer writes does."
            )
        return self._made[place]

    def _tuple(self, value: Any) -> Any:
        return tuple(self.unpack(item) for item in value["items"])

    def _dict(self, value: Any) -> Any:
        return {self.unpack(key): self.unpack(item) for key, item in value["items"]}

    def _csr(self, value: Any) -> Any:
        make = sp.csr_matrix if value["matrix"] else sp.csr_array
        rows = make(tuple(self.arrays[value[name]] for name in ("data", "indices", "indptr")), shape=tuple(value["shape"]))
        rows.check_format(full_check=True)  # an index out of bounds would read foreign memory
        return rows

    def _frame(self, value: Any) -> Any:
        columns = {self.unpack(name): self.unpack(values) for name, values in value["columns"]}
        try:
            if _known(value["library"], ("pandas", "polars")) == "pandas":
                import pandas

                return pandas.DataFrame(columns)
            import polars

            # texts as a list, because polars converts an array of objects to a column of objects
            return polars.DataFrame({n: v.tolist() if v.dtype.kind == "O" else v for n, v in columns.items()})
        except ImportError as error:
            raise MissingExtraError(f"this model holds a data frame of {error.name}: pip install {error.name}") from None

    def _graph(self, value: Any) -> Graph:
        node_labels, edge_labels = (self.unpack(part) for part in value["labels"])
        smiles = value.get("smiles")
        if not isinstance(smiles, str | None):
            raise InputError(f"the SMILES of a graph must be a text; the file holds {describe(smiles)}.")
        return Graph(value["nodes"], value["edges"], node_labels, edge_labels).with_smiles(smiles)

    def _kernel(self, value: Any) -> Kernel:
        return join(value["text"], [(path, self.unpack(part)) for path, part in value["parts"]])

    def _function(self, value: Any) -> Any:
        function = registered(value["name"])
        if function is None:
            name = value["name"]
            raise InputError(f"needs the function {name!r}; call mercer.register({name!r}, function) first.")
        return function

    def _splitter(self, value: Any) -> Any:
        kind: Any = _listed(_known(value["class"], SPLITTERS), SPLITTERS)
        return kind(**self._several(value["fields"]))

    def _record(self, value: Any) -> Any:
        kind = find_record(str(value["class"]))
        if kind is None:
            raise _unknown(value["class"])
        made = make_record(kind, self._several(value["fields"]))
        check_stored(made)
        return made

    def _estimator(self, value: Any) -> Any:
        kind = _class_of(value["class"])
        if kind is None:
            raise _unknown(value["class"])
        model = kind(**self._several(value["params"]))
        for name, item in self._several(value["state"]).items():
            # only attributes that fit stores: data must not hide a method
            own = inspect.getattr_static(type(model), name, _ABSENT)
            hidden = own is not _ABSENT and not isinstance(own, cached_property)
            if name.startswith("__") or not (name.startswith("_") or name.endswith("_")) or hidden:
                raise InputError(f"holds {name!r}, which is not an attribute of a fitted {type(model).__name__}.")
            setattr(model, name, item)
        _check_model(model, bool(value["state"]))
        return model


#: Readers of JSON objects by type.
KINDS: dict[str, Callable[[_Unpacker, Any], Any]] = {
    name[1:]: method
    for name, method in vars(_Unpacker).items()
    if name.startswith("_") and name[1:2].isalpha() and name != "_several"
}


def _check_model(model: Any, fitted: bool) -> None:
    """Raise if the parts of a model are inconsistent."""
    if _is(model, PIPELINE):
        _check_pipeline(model)
    elif fitted and _is(model, STANDARD_SCALER):
        sizes: dict[str, Any] = {}
        for name, rule in SCALER.items():
            check_part(vars(model).get(name), rule, sizes, f"StandardScaler.{name}")
    elif not _is(model, STANDARD_SCALER):
        _check_parameters(model)
        if fitted:
            check_stored(model)


def _check_parameters(model: Any) -> None:
    """Raise if a parameter of an estimator is one that its fit refuses."""
    check_shared_parameters(model)
    for name in ("_given_kernel", "_check_parameters"):
        check = getattr(model, name, None)
        if check is not None:
            check()


def _check_pipeline(model: Any) -> None:
    if model.memory is not None:  # a folder of pickles, which scikit-learn would load
        raise InputError("holds a Pipeline with memory=, a folder whose content would be run; set memory=None.")
    steps = model.steps
    known = isinstance(steps, list) and steps and all(isinstance(step, tuple) and len(step) == 2 for step in steps)
    if not known or any(not isinstance(name, str) or not _is_step(item) for name, item in steps):
        raise InputError("holds a Pipeline whose steps are not pairs of a name and one of mercer's estimators.")


def _is_step(item: Any) -> bool:
    return item is None or item == "passthrough" or _class_of(type(item).__name__) is type(item)


def _class_of(name: Any) -> type | None:
    return _listed(name, FOREIGN) or find_estimator(name) if isinstance(name, str) else None


def _is(model: Any, name: str) -> bool:
    return type(model).__name__ == name and type(model) is _listed(name, FOREIGN)


def _listed(name: str, places: dict[str, str]) -> type | None:
    """Return the class of a name from the module that a table gives for it; None for other names."""
    kind: type | None = getattr(import_module(places[name]), name) if name in places else None
    return kind


def _known(name: Any, table: Any) -> str:
    if not isinstance(name, str) or name not in table:
        raise _unknown(name)
    return name


def _unknown(name: Any) -> InputError:
    return InputError(f"names {name!r}, which this version of mercer does not read.")
