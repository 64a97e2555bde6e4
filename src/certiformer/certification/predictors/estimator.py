"""A fitted estimator of scikit-learn as numbers: scalers, linear models, naive Bayes, neighbours, kernels, trees.

A file holds the fitted numbers and the names of formulas in this file. Loading one checks shapes and evaluates by
numpy: no class is imported for it, nothing is fitted, nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Predictor
from certiformer.certificates._predictor import Array, Tensors
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import scipy

BLOCK = 500
LARGEST = 200_000
"""Nodes of a forest, at most: what is larger is not written."""


@dataclass(frozen=True, eq=False)
class Formula:
    """One step: the name of a formula below, its arrays, and its numbers and words."""

    name: str
    arrays: Mapping[str, npt.NDArray[Any]]
    settings: Mapping[str, float | str]

    def __call__(self, x: npt.NDArray[Any]) -> Array:
        found: Array = FORMULAS[self.name](x, **self.arrays, **self.settings)
        return found


def _affine(x: Array, *, shift: Array, factor: Array, low: float = -np.inf, high: float = np.inf) -> Array:
    return np.clip((x - shift) * factor, low, high)


def _unit(x: Array, *, norm: str) -> Array:
    sizes = {"l1": np.abs(x).sum(axis=1), "l2": np.sqrt((x * x).sum(axis=1)), "max": np.abs(x).max(axis=1)}[norm]
    return np.asarray(x / np.where(sizes == 0, 1.0, sizes)[:, None])


def _threshold(x: Array, *, above: float) -> Array:
    return np.asarray(x > above, np.float64)


def _linear(x: Array, *, coef: Array, intercept: Array) -> Array:
    return np.asarray(x @ coef.T + intercept)


def _probabilities(joint: Array) -> Array:
    return np.asarray(np.exp(joint - scipy.special.logsumexp(joint, axis=1, keepdims=True)))


def _bayes_linear(x: Array, *, coef: Array, intercept: Array) -> Array:
    return _probabilities(_linear(x, coef=coef, intercept=intercept))


def _bayes_gaussian(x: Array, *, mean: Array, variance: Array, prior: Array) -> Array:
    columns = [
        np.log(p) - 0.5 * np.sum(np.log(2.0 * np.pi * v)) - 0.5 * np.sum((x - m) ** 2 / v, axis=1)
        for m, v, p in zip(mean, variance, prior, strict=True)
    ]
    return _probabilities(np.stack(columns, axis=1))


def _squares(x: Array, y: Array) -> Array:
    return np.asarray(np.maximum((x * x).sum(axis=1)[:, None] - 2.0 * x @ y.T + (y * y).sum(axis=1), 0.0))


def _neighbours(x: Array, *, inputs: Array, codes: npt.NDArray[np.int64], k: float, weights: str) -> Array:
    exact = np.sqrt(np.stack([((x - row) ** 2).sum(axis=1) for row in inputs], axis=1))
    nearest = np.argsort(exact, axis=1, kind="stable")[:, : int(k)]
    weight = np.ones(nearest.shape)
    if weights == "distance":
        apart = np.take_along_axis(exact, nearest, axis=1)
        weight = np.where((apart == 0).any(axis=1)[:, None], apart == 0, 1.0 / np.where(apart == 0, 1.0, apart))
    votes = np.zeros((len(x), int(codes.max()) + 1))
    np.add.at(votes, (np.arange(len(x))[:, None], codes[nearest]), weight)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def _kernel(
    x: Array,
    *,
    vectors: Array,
    dual: Array,
    intercept: Array,
    support: npt.NDArray[np.int64],
    kernel: str,
    gamma: float,
    degree: float,
    coef0: float,
) -> Array:
    """Support vectors; for more than two classes the votes of all pairs, ties settled by their confidences."""
    inner = x @ vectors.T
    kernels: dict[str, Callable[[], Array]] = {
        "linear": lambda: inner,
        "poly": lambda: (gamma * inner + coef0) ** degree,
        "sigmoid": lambda: np.tanh(gamma * inner + coef0),
        "rbf": lambda: np.exp(-gamma * _squares(x, vectors)),
    }
    values = kernels[kernel]()
    classes = len(support)
    if classes == 2:
        return np.asarray(values @ dual.T + intercept)
    ends = np.cumsum(support)
    parts = [slice(end - size, end) for end, size in zip(ends, support, strict=True)]
    votes, sums, pair = np.zeros((len(x), classes)), np.zeros((len(x), classes)), 0
    for i in range(classes):
        for j in range(i + 1, classes):
            first = values[:, parts[i]] @ dual[j - 1, parts[i]]
            decided = first + values[:, parts[j]] @ dual[i, parts[j]] + intercept[pair]
            sums[:, i] += decided
            sums[:, j] -= decided
            votes[:, i] += decided >= 0
            votes[:, j] += decided < 0
            pair += 1
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))


def _trees(
    x: Array,
    *,
    roots: npt.NDArray[np.int64],
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    feature: npt.NDArray[np.int64],
    threshold: Array,
    value: Array,
) -> Array:
    """The mean of the leaves that a row reaches; children stand behind their parents, so every walk ends."""
    single, total = x.astype(np.float32), np.zeros((len(x), value.shape[1]))
    for root in roots:
        at = np.full(len(x), root)
        while (inner := left[at] >= 0).any():
            rows, nodes = np.flatnonzero(inner), at[inner]
            goes = single[rows, feature[nodes]] <= threshold[nodes]
            at[rows] = np.where(goes, left[nodes], right[nodes])
        total += value[at]
    return np.asarray(total / len(roots))


def _refuse_loops(arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    left, right = arrays["left"], arrays["right"]
    nodes, inner = np.arange(len(left)), left >= 0
    for child in (left[inner], right[inner]):
        if np.any(child <= nodes[inner]) or np.any(child >= len(left)):
            raise ValueError("children that do not stand behind their parents")
    if np.any((arrays["feature"] < 0) & inner):
        raise ValueError("a split on no feature")


def _constant(x: Array, *, scores: Array) -> Array:
    return np.repeat(scores[None, :], len(x), axis=0)


FORMULAS: dict[str, Callable[..., Array]] = {
    "affine": _affine,
    "unit rows": _unit,
    "threshold": _threshold,
    "linear": _linear,
    "naive Bayes, linear": _bayes_linear,
    "naive Bayes, Gaussian": _bayes_gaussian,
    "nearest neighbours": _neighbours,
    "support vectors": _kernel,
    "trees": _trees,
    "constant": _constant,
}
"""Everything that a file may name."""


@dataclass(frozen=True, eq=False)
class FittedEstimator(Predictor):
    """Steps, the last of which scores the classes in `known`; a class that was never seen is below all of them."""

    kind: ClassVar[str] = "fitted estimator"
    tolerance: ClassVar[float] = 1e-6
    """scikit-learn computes in the precision of its inputs, the formulas here in double precision."""
    steps: tuple[Formula, ...]
    known: tuple[int, ...]
    classes: int

    def tensors(self) -> Tensors:
        return {
            f"{index}/{name}": array for index, step in enumerate(self.steps) for name, array in step.arrays.items()
        }

    def settings(self) -> Mapping[str, Any]:
        steps = [{"formula": step.name, **step.settings} for step in self.steps]
        return {"steps": steps, "known": list(self.known), "classes": self.classes}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        from certiformer.certification.predictors import part_of

        steps = []
        for index, said in enumerate(settings["steps"]):
            name = said["formula"]
            if name not in FORMULAS:
                raise InputError("formula", name, f"one of {', '.join(FORMULAS)}")
            more = {key: value for key, value in said.items() if key != "formula"}
            if not all(isinstance(value, (int, float, str)) for value in more.values()):
                raise InputError(f"formula {name}", sorted(more), "numbers and words")
            arrays = part_of(str(index), tensors)
            if name == "trees":
                _refuse_loops(arrays)
            steps.append(Formula(name, arrays, more))
        known, classes = tuple(int(one) for one in settings["known"]), int(settings["classes"])
        if not all(0 <= one < classes for one in known):
            raise InputError("known", known, f"classes below {classes}")
        return cls(tuple(steps), known, classes)

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        votes = self.votes(inputs)
        return np.asarray(votes[:, 1] - votes[:, 0] if self.classes == 2 else votes)

    def votes(self, inputs: npt.ArrayLike) -> Array:
        """A score of every class, row by row."""
        values = np.asarray(inputs)
        flat = values.reshape(len(values), -1)
        parts = [self._votes(flat[start : start + BLOCK]) for start in range(0, len(flat), BLOCK)]
        return np.concatenate(parts) if parts else np.zeros((0, self.classes))

    def _votes(self, x: npt.NDArray[Any]) -> Array:
        found = x.astype(np.float64)
        for step in self.steps:
            found = step(found)
        if found.shape[1] == 1:
            found = np.concatenate([-found, found], axis=1) / 2.0
        votes = np.repeat(np.min(found, axis=1, keepdims=True) - 1.0, self.classes, axis=1)
        votes[:, list(self.known)] = found
        return votes


def constant(code: int | None, classes: int) -> FittedEstimator:
    """Before both classes were seen: the one that is known, or a tie of all."""
    scores = np.zeros(classes) if code is None else np.eye(classes)[code]
    return FittedEstimator((Formula("constant", {"scores": scores}, {}),), tuple(range(classes)), classes)


@dataclass(frozen=True, eq=False)
class NamedEstimator(FittedEstimator):
    """A classifier with the names of its classes, and how its scores become probabilities where it has any."""

    kind: ClassVar[str] = "classifier"
    tolerance: ClassVar[float] = 1e-9
    """What is certified is this form itself, in double precision."""
    names: tuple[int | str, ...] = ()
    link: str = ""

    def settings(self) -> Mapping[str, Any]:
        return {**super().settings(), "names": list(self.names), "link": self.link}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        plain, names, link = super().restore(tensors, settings), tuple(settings["names"]), settings["link"]
        if len(names) != plain.classes or not all(isinstance(one, (int, str)) for one in names):
            raise InputError("names", names, f"the names of {plain.classes} classes")
        if link and link not in LINKS:
            raise InputError("link", link, f"one of {', '.join(LINKS)}")
        return replace(plain, names=names, link=link)

    @property
    def asked(self) -> Any:
        """What `certify` asks: `classes_`, `predict`, and `predict_proba` where the estimator had it."""
        known = np.array(self.names)
        methods: dict[str, Any] = {"predict": lambda x: known[np.argmax(self.votes(x), axis=1)]}
        if self.link:
            methods["predict_proba"] = lambda x: LINKS[self.link](self.votes(x))
        return SimpleNamespace(classes_=known, **methods)


LINKS: dict[str, Callable[[Array], Array]] = {"none": np.asarray, "softmax": _probabilities}
"""From scores to probabilities: they are probabilities already, or their softmax is."""


def named(estimator: Any, names: npt.NDArray[Any], examples: Sequence[tuple[Any, Any]]) -> NamedEstimator | str:
    """A fitted classifier as numbers that answer as it does on all examples, or why it has no such form.

    Examples are pairs: as the classifier takes them (a data frame, say), and as an array.
    """
    steps = _formulas(estimator)
    if isinstance(steps, str):
        return steps
    if not all(x.dtype.kind in "fiub" for _, x in examples):
        return "its inputs are not an array of numbers"
    classes = len(names)
    for link in LINKS if hasattr(estimator, "predict_proba") else ("",):
        found = NamedEstimator(steps, tuple(range(classes)), classes, tuple(names.tolist()), link)
        if all(_alike(found.asked, x, estimator, given) for given, x in examples):
            return found
    return f"the stored form of {type(estimator).__name__} does not give all of its answers"


def _alike(mine: Any, inputs: npt.NDArray[Any], theirs: Any, given: Any) -> bool:
    if not np.array_equal(mine.predict(inputs), np.asarray(theirs.predict(given)).reshape(-1)):
        return False
    if not hasattr(mine, "predict_proba"):
        return True
    return np.allclose(mine.predict_proba(inputs), theirs.predict_proba(given), rtol=1e-6, atol=1e-6)


def stored(estimator: Any, classes: int) -> FittedEstimator | str:
    """An estimator that was fitted to classes 0 to K - 1, as numbers, or why it has no such form."""
    steps = _formulas(estimator)
    if isinstance(steps, str):
        return steps
    return FittedEstimator(steps, tuple(int(one) for one in estimator.classes_), classes)


def _formulas(estimator: Any) -> tuple[Formula, ...] | str:
    steps: list[Formula] = []
    parts = [part for _, part in estimator.steps] if type(estimator).__name__ == "Pipeline" else [estimator]
    for part in parts:
        if part is None or (isinstance(part, str) and part == "passthrough"):
            continue
        name = type(part).__name__
        found = WRITERS[name](part) if type(part).__module__.startswith("sklearn.") and name in WRITERS else None
        if found is None:
            return f"{name} with these settings is not among the estimators that are stored as numbers"
        steps += found
    return tuple(steps)


# --- from the attributes of a fitted estimator to formulas; None where its settings have none -----------------------


def _scaled(shift: Any, factor: Any, **clip: float) -> list[Formula]:
    arrays = {"shift": np.atleast_1d(np.asarray(shift, np.float64)), "factor": np.atleast_1d(np.asarray(factor))}
    return [Formula("affine", arrays, clip)]


def _standard(part: Any) -> list[Formula]:
    scale = 1.0 if part.scale_ is None else 1.0 / part.scale_
    return _scaled(part.mean_ if part.with_mean else 0.0, scale)


def _min_max(part: Any) -> list[Formula]:
    low, high = part.feature_range
    clip = {"low": float(low), "high": float(high)} if part.clip else {}
    return _scaled(-part.min_ / part.scale_, part.scale_, **clip)


def _robust(part: Any) -> list[Formula]:
    centre, scale = part.center_, part.scale_
    return _scaled(0.0 if centre is None else centre, 1.0 if scale is None else 1.0 / scale)


def _pca(part: Any) -> list[Formula]:
    coef = part.components_
    if part.whiten:
        coef = coef / np.sqrt(part.explained_variance_)[:, None]
    mean = np.zeros(coef.shape[1]) if part.mean_ is None else part.mean_
    return [*_scaled(mean, 1.0), Formula("linear", {"coef": coef, "intercept": np.zeros(len(coef))}, {})]


def _coefficients(part: Any) -> list[Formula]:
    intercept = np.broadcast_to(np.asarray(part.intercept_, np.float64), (len(np.atleast_2d(part.coef_)),))
    return [Formula("linear", {"coef": np.atleast_2d(part.coef_), "intercept": np.array(intercept)}, {})]


def _multinomial(part: Any) -> list[Formula]:
    arrays = {"coef": part.feature_log_prob_, "intercept": part.class_log_prior_}
    return [Formula("naive Bayes, linear", arrays, {})]


def _bernoulli(part: Any) -> list[Formula] | None:
    if part.binarize is None:
        return None
    absent = np.log(1 - np.exp(part.feature_log_prob_))
    arrays = {"coef": part.feature_log_prob_ - absent, "intercept": part.class_log_prior_ + absent.sum(axis=1)}
    return [Formula("threshold", {}, {"above": float(part.binarize)}), Formula("naive Bayes, linear", arrays, {})]


def _gaussian(part: Any) -> list[Formula]:
    arrays = {"mean": part.theta_, "variance": part.var_, "prior": part.class_prior_}
    return [Formula("naive Bayes, Gaussian", arrays, {})]


def _knn(part: Any) -> list[Formula] | None:
    euclidean = part.metric == "euclidean" or (part.metric == "minkowski" and part.p == 2)
    if not euclidean or part.weights not in ("uniform", "distance") or part._y.ndim != 1:
        return None
    arrays = {"inputs": np.asarray(part._fit_X, np.float64), "codes": np.asarray(part._y, np.int64)}
    return [Formula("nearest neighbours", arrays, {"k": int(part.n_neighbors), "weights": part.weights})]


def _svc(part: Any) -> list[Formula] | None:
    if not isinstance(part.kernel, str) or part.kernel == "precomputed" or not isinstance(part._gamma, float):
        return None
    if len(part.classes_) > 2 and (part.decision_function_shape != "ovr" or part.break_ties):
        return None
    arrays = {
        "vectors": np.asarray(part.support_vectors_, np.float64),
        "dual": np.asarray(part.dual_coef_, np.float64),
        "intercept": np.asarray(part.intercept_, np.float64),
        "support": np.asarray(part.n_support_, np.int64),
    }
    more = {"gamma": part._gamma, "degree": float(part.degree), "coef0": float(part.coef0)}
    return [Formula("support vectors", arrays, {"kernel": part.kernel, **more})]


def _forest(part: Any) -> list[Formula] | None:
    trees = [one.tree_ for one in getattr(part, "estimators_", [part])]
    sizes = [one.node_count for one in trees]
    if sum(sizes) > LARGEST or part.n_outputs_ != 1:
        return None
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def joined(name: str) -> npt.NDArray[np.int64]:
        found = [np.asarray(getattr(one, name), np.int64) for one in trees]
        return np.concatenate([np.where(x >= 0, x + root, -1) for x, root in zip(found, roots, strict=True)])

    value = np.concatenate([one.value[:, 0, :] for one in trees])
    arrays = {
        "roots": roots,
        "left": joined("children_left"),
        "right": joined("children_right"),
        "feature": np.concatenate([np.asarray(one.feature, np.int64) for one in trees]),
        "threshold": np.concatenate([one.threshold for one in trees]),
        "value": value / value.sum(axis=1, keepdims=True),
    }
    return [Formula("trees", arrays, {})]


WRITERS: dict[str, Callable[[Any], list[Formula] | None]] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": lambda part: _scaled(0.0, 1.0 / part.scale_),
    "RobustScaler": _robust,
    "Normalizer": lambda part: [Formula("unit rows", {}, {"norm": part.norm})],
    "PCA": _pca,
    "GaussianNB": _gaussian,
    "MultinomialNB": _multinomial,
    "BernoulliNB": _bernoulli,
    "KNeighborsClassifier": _knn,
    "SVC": _svc,
    **dict.fromkeys(("DecisionTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier"), _forest),
    **dict.fromkeys(
        (
            *("LogisticRegression", "LogisticRegressionCV", "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier"),
            *("Perceptron", "LinearSVC", "LinearDiscriminantAnalysis"),
        ),
        _coefficients,
    ),
}
