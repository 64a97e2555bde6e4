"""Models by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from certiformer.lab.models._base import Model
from certiformer.lab.models.cls_transformer import ClsTransformer, LowRankClsTransformer
from certiformer.lab.models.independent_heads import IndependentHeads
from certiformer.lab.models.indrnn import IndRNN
from certiformer.lab.models.keras_cls_transformer import KerasClsTransformer
from certiformer.lab.models.multi_head_attention import MultiHeadAttention
from certiformer.lab.models.shallow_encoder import ShallowEncoder
from certiformer.theory.core.errors import UnknownNameError

MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (
        ShallowEncoder,
        ClsTransformer,
        LowRankClsTransformer,
        KerasClsTransformer,
        MultiHeadAttention,
        IndependentHeads,
        IndRNN,
    )
}


def names() -> list[str]:
    """The names that `build` knows."""
    return list(MODELS)


def model_type(name: str) -> type[Model]:
    """The class called `name`; hyphens read as underscores."""
    key = name.lower().replace("-", "_")
    if key not in MODELS:
        raise UnknownNameError("model", name, MODELS, hint=f"(known: {', '.join(MODELS)})")
    return MODELS[key]


def config(name: str, **settings: Any) -> Any:
    """The config of the model `name`, with `settings` in place of its defaults."""
    cls = model_type(name).config_type
    known = [field.name for field in fields(cls)]
    for setting in settings:
        if setting not in known:
            raise UnknownNameError(f"setting of {name}", setting, known, hint=f"(known: {', '.join(known)})")
    return cls(**settings)


def build(name: str, key: PRNGKeyArray, *, dtype: Any = jnp.float32, **settings: Any) -> Model:
    """The model `name` with its paper's initial weights; `settings` are the fields of its config."""
    return model_type(name).init(key, config(name, **settings), dtype=dtype)
