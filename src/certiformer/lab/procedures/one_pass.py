r"""V by one pass: every example is predicted before it is learnt; what is bounded is the mean risk of the iterates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from certiformer.certificates import Evidence
from certiformer.certificates.progressive import Progressive
from certiformer.lab.procedures._augment import Augment
from certiformer.lab.procedures._model import WEIGHTS, Labels, margins, parametrised
from certiformer.lab.procedures._training import _run


@dataclass(frozen=True, eq=False)
class OnePass:
    """Blocks of examples, doubling from `first` up to `block`; after each, `steps` batches from all that was seen.

    The order of the pass is drawn from the seed, whatever the order of the file. `pretrained_on`: inputs that the
    initial weights have seen, or "nothing".
    """

    steps: int = 300
    rate: float = 0.01
    batch: int = 100
    first: int = 16
    block: int = 250
    seed: int = 0
    augment: Augment | None = None
    label: str = ""
    pretrained_on: Any = None

    def start(self, model: Any) -> str:
        return WEIGHTS

    def losses(self, model: Any, inputs: npt.NDArray[Any], labels: Labels) -> npt.NDArray[np.int64]:
        """0-1 losses in the order of the pass."""
        start = parametrised(model)
        order = np.random.default_rng(self.seed).permutation(len(labels))
        x, y = inputs[order], labels[order]
        run = _run(start.apply, self.rate, self.batch, self.augment, None)
        params, memory = start.params, optax.adam(self.rate).init(start.params)
        every_x, every_y = jnp.asarray(x), jnp.asarray(y)
        found, done = [], 0
        while done < len(y):
            stop = min(len(y), done + max(self.first, min(done, self.block)))
            outputs = start.outputs(params, x[done:stop])
            found.append((margins(outputs, y[done:stop]) <= 0).astype(np.int64))
            key = jax.random.key(self.seed + 1 + stop)
            params, memory = run(params, memory, every_x, every_y, stop, key, self.steps)
            done = stop
        return np.concatenate(found)

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> tuple[Evidence, ...]:
        return (pass_record(self.losses(model, inputs, labels), self.label),)


def pass_record(losses: npt.NDArray[Any], label: str = "") -> Progressive:
    """The 0-1 losses of one pass, which go with the record: nobody can see them again."""
    return Progressive(
        mean_loss=float(np.mean(losses)),
        n=len(losses),
        label=label,
        subject="an iterate of one pass, drawn at random",
        trace={"losses": losses.astype(np.uint8)},
    )
