r"""The demo: handwritten zeros and ones, N = 10,000 images, every certificate; settings of the procedures, no more.

The settings were frozen before the run: the size of the positions was chosen on other digits
(tools/choose_settings.py), the rest was kept from earlier work that had looked at these images (docs/demo.md).
The 12,665 training images are divided once and for all into 2,665 that serve as unlabelled examples and 10,000 that
are certified with; a seed divides these into halves. Two networks:

- the shallow encoder on 16 patches with a one-hot position each: trained on one half (hold-out, betting; its readout
  for PAC-Bayes), on everything (surrogate), in one pass (progressive), on examples that it picks (compression);
- one head of attention pooling with 13 numbers, on all images (covers, Occam).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.surrogate import Surrogate
from certiformer.certification.losses import betting
from certiformer.certification.pipeline import Findings
from certiformer.certification.predictors.model import HouseModel
from certiformer.certification.rebuild import Examples
from certiformer.certification.split import configuration_hash, split
from certiformer.lab.models import weights
from certiformer.lab.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig
from certiformer.lab.procedures import AttentionPooling, HeadPosterior, OnePass, PickToLearn
from certiformer.lab.procedures._augment import TOKENS, Shifts
from certiformer.lab.procedures._model import Parametrised, parametrised
from certiformer.lab.procedures._picked import Loop, PickedModel, descent_settings
from certiformer.lab.procedures._training import trained as descended
from certiformer.lab.procedures.coordinate_cover import KINDS, cover_records
from certiformer.lab.procedures.occam import word_record
from certiformer.lab.procedures.one_pass import pass_record
from certiformer.lab.tasks.mnist import Digits, embedded, patches, scale
from certiformer.report.numbers import percent_up
from certiformer.theory.calculus.tails import binomial_upper

DEVELOPMENT_SEED, DEVELOPMENT, SHIPPED_SEED = 20261115, 2665, 7
EARLIER = 64
"""Settings that earlier prototypes may have compared on these images, at most: the hold-out row shows their price."""
CAVEAT = (
    "Assuming that the recipe, of which only a part was chosen on other digits, does not depend on earlier looks at "
    "these images. "
)
REPLAYED = "The loop was replayed on the picked images alone: same picks, same weights."


PIXELS, BLOCK = 64, 1024
"""Of a patch; images that are made at a time."""


class Images(NamedTuple):
    """Tokens (n, 16, 64 or 80) in float32 and classes 0, 1."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]


def images(part: Digits, second: int, position: float = 0.0) -> Images:
    """Patches of 8 x 8 unit pixels; class 1 is the digit `second`, `position` the size of one-hot entries, if any."""
    n = len(part.digits)
    x = np.zeros((n, TOKENS, PIXELS + (TOKENS if position else 0)), np.float32)
    x[:, :, PIXELS:] = np.float32(position) * np.eye(TOKENS, dtype=np.float32)[:, : x.shape[2] - PIXELS]
    for start in range(0, n, BLOCK):  # each step makes copies of what it is given
        rows = slice(start, start + BLOCK)
        x[rows, :, :PIXELS] = patches(scale(part.images[rows], "unit"), "padded")
    return Images(x, (part.digits == second).astype(np.int64))


@dataclass(frozen=True)
class Settings:
    """Everything that was chosen before the run."""

    width: int = 64
    position: float = 4.0
    steps: int = 3000
    rate: float = 0.01
    batch: int = 100
    shift: int = 1
    noise: float = 0.15
    pass_steps: int = 300
    pass_rate: float = 0.01
    pick_steps: int = 400
    pick_rate: float = 0.005
    pick_shift: int = 2
    pick_stages: tuple[int, ...] = (8, 12, 16, 20, 24, 32, 40, 48, 64)
    picks: int = 96
    pooling: AttentionPooling = field(default_factory=AttentionPooling)


@dataclass(frozen=True, eq=False)
class Parts:
    """The images by role, each made when it is asked for: all of them at once are a fifth of a gigabyte."""

    position: float
    rows: Mapping[str, NDArray[np.int64]]
    division: str

    @property
    def fit(self) -> Images:
        return self._train("fit")

    @property
    def certify(self) -> Images:
        return self._train("certify")

    @property
    def everything(self) -> Images:
        return self._train("everything")

    @property
    def pool(self) -> Images:
        return self._train("pool")

    @property
    def test(self) -> Images:
        return images(embedded()[1], 1, self.position)

    def _train(self, name: str) -> Images:
        train, rows = embedded()[0], self.rows[name]
        return images(Digits(train.images[rows], train.digits[rows]), 1, self.position)


def parts(settings: Settings, seed: int) -> Parts:
    order = np.random.default_rng(DEVELOPMENT_SEED).permutation(len(embedded()[0].digits))
    whole = np.sort(order[DEVELOPMENT:])
    n = len(whole)
    halves = split(n, {"fit": n // 2, "certify": n - n // 2}, seed)
    rows = {"everything": whole, "pool": order[:DEVELOPMENT]} | {name: whole[halves[name]] for name in halves.parts}
    return Parts(settings.position, rows, halves.hash)


def start(settings: Settings, seed: int) -> Parametrised:
    return parametrised(ShallowEncoder.init(jax.random.key(seed), ShallowEncoderConfig(64 + 16, settings.width)))


def picker(settings: Settings, seed: int) -> PickToLearn:
    how: dict[str, Any] = {"steps": settings.pick_steps, "rate": settings.pick_rate, "seed": seed}
    return PickToLearn(most=settings.picks, stages=settings.pick_stages, augment=Shifts(settings.pick_shift), **how)


def train(settings: Settings, seed: int) -> dict[str, NDArray[Any]]:
    """Everything from scratch, as arrays small enough to ship."""
    data, encoder, moved = parts(settings, seed), start(settings, seed), Shifts(settings.shift)
    how: dict[str, Any] = {"steps": settings.steps, "rate": settings.rate, "batch": settings.batch, "seed": seed + 1}
    found: dict[str, NDArray[Any]] = {}
    for name, part in (("encoder", data.fit), ("encoder_all", data.everything)):
        found |= _named(name, encoder.rebuild(descended(encoder, *part, augment=moved, **how)))
    one = OnePass(settings.pass_steps, settings.pass_rate, settings.batch, seed=seed, augment=moved)
    found["progressive"] = one.losses(encoder, *data.everything).astype(np.uint8)
    x, y = data.everything
    features = settings.pooling.features(x)
    found["pooling"] = settings.pooling.fit(features, y, seed)
    found["codeword"] = settings.pooling.codeword(found["pooling"], features, y, seed).z
    loop, learner, _ = picker(settings, seed).run(encoder, x, y, 2)
    picks = np.asarray(loop.rows[: loop.best.picks], np.int64)
    return found | {"picks": picks} | _named("compressed", learner.model(loop.best.state))


def picked(settings: Settings, arrays: Mapping[str, NDArray[Any]], seed: int) -> PickedModel:
    """The encoder of the best stage of the loop, with its picks."""
    loop = Loop(tuple(arrays["picks"].tolist()), 1, settings.picks, settings.pick_stages)
    learner = picker(settings, seed).learner(start(settings, seed), 2)
    first = HouseModel(learner.model(learner.begin())).tensors()
    return PickedModel(HouseModel(_model("compressed", arrays)), loop, first, descent_settings(learner))


def _named(name: str, model: Any) -> dict[str, NDArray[Any]]:
    return {f"{name}/{key}": np.asarray(value) for key, value in weights(model).items()}


def _model(name: str, arrays: Mapping[str, NDArray[Any]]) -> ShallowEncoder:
    own = {key.split("/")[1]: jnp.asarray(value) for key, value in arrays.items() if key.startswith(f"{name}/")}
    return ShallowEncoder(ShallowEncoderConfig(*reversed(own["W_Q"].shape)), **own)


def shipped(settings: Settings) -> Mapping[str, NDArray[Any]] | None:
    """The training results that come with the package, if they were made with these settings."""
    from safetensors.numpy import load

    place = resources.files("certiformer.lab.recipes").joinpath("data", "mnist_demo.safetensors")
    arrays = load(place.read_bytes()) if place.is_file() else {}
    fits = bytes(arrays.get("settings", b"")).decode() == configuration_hash(asdict(settings))
    return arrays if fits else None


def findings(seed: int = SHIPPED_SEED, *, retrain: bool = False, progress: bool | None = None) -> Findings:
    """Train (or load what is shipped), count, and hand the evidence over."""
    settings = Settings()
    arrays = shipped(settings) if seed == SHIPPED_SEED and not retrain else None
    where = "shipped with the package (--retrain trains again)" if arrays is not None else "in this run"
    return evidence(settings, train(settings, seed) if arrays is None else arrays, seed, where)


def evidence(settings: Settings, arrays: Mapping[str, NDArray[Any]], seed: int, where: str) -> Findings:
    """Counts on the certified examples, by the predictors that are handed over."""
    data = parts(settings, seed)
    half, whole = (HouseModel(_model(name, arrays)) for name in ("encoder", "encoder_all"))
    held = data.certify
    errors, m = half.errors(*held), len(held.y)
    price = binomial_upper(errors, m, np.log(0.05) - np.log(EARLIER))
    limit = percent_up(price)
    note = f"{CAVEAT}If it is the best of {EARLIER} settings fixed beforehand, the limit alone at 95 % is {limit}."
    posterior = HeadPosterior(prior=np.asarray(half.model.w_O), noise=settings.noise, seed=seed)
    smoothed, drawn = betting(half.probabilities(*held), 2, 1), posterior.certify(half.model, *held, 2)
    del held
    network, x, y = settings.pooling, *data.everything
    n, features, compressed = len(y), network.features(x), picked(settings, arrays, seed)
    counted, pool = compressed.counted(x, y), data.pool.x
    del x
    fit, test = data.fit, data.test
    records = (
        HoldOut(errors=errors, n=m, note=note, subject="the encoder", predictor=half),
        replace(smoothed, subject="the encoder, its probabilities smoothed", predictor=half),
        *drawn,
        word_record(network, network.named(arrays["codeword"], features, y), n),
        pass_record(arrays["progressive"]),
        *cover_records(network, arrays["pooling"], features, y),
        picker(settings, seed).record(*counted, n, compressed, REPLAYED),
        Surrogate(
            errors=errors,
            n=m,
            disagreements=int(np.sum(half.predict(pool) != whole.predict(pool))),
            m=len(pool),
            subject="the encoder trained on all 10,000 images",
            predictor=whole,
            through=half,
            note="Through the encoder of the hold-out row, on 2,665 images that neither has seen.",
        ),
    )
    return Findings(
        title="shallow encoder with positions and attention pooling, handwritten 0 or 1",
        classes=2,
        observed={
            "train_error": half.errors(*fit) / len(fit.y),
            "heldout_error": errors / m,
            "test_error": half.errors(*test) / len(test.y),
            "examples": n,
            "test_images": len(test.y),
        },
        evidence=records,
        configuration={"recipe": "mnist", **asdict(settings)},
        splits={"halves of the certified part": data.division},
        seed=seed,
        model=half.model,
        sample=(fit.x, fit.y),
        initial=start(settings, seed).rebuild(start(settings, seed).params),
        provenance={
            "trained": where,
            "settings chosen on": "other digits in part, the rest kept from earlier work: see docs/demo.md",
        },
    )


def examples(provenance: Mapping[str, Any]) -> dict[str, Examples]:
    """On which images each row was counted: what `certiformer verify` counts again."""
    data = parts(Settings(), int(provenance["seed"]))
    half, every = Examples(*data.certify), Examples(*data.everything)
    found = dict.fromkeys(("holdout", "betting", "pacbayes.gibbs", "pacbayes.single"), half)
    found |= dict.fromkeys(("occam", "compression", "progressive", *KINDS), every)
    return found | {"surrogate": half._replace(pool=data.pool.x)}
