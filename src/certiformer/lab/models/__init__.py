"""The papers' networks as Equinox modules: `model(x)` on one example, batched with `jax.vmap`.

>>> import jax
>>> from certiformer.lab import models
>>> model = models.build("independent_heads", jax.random.key(0), d=8, heads=64)
>>> float(model(jax.numpy.ones((5, 8))))
0.0
"""

from certiformer.lab.models._base import ACTIVATIONS, Model, activation, unit_ball
from certiformer.lab.models._checkpoint import Loaded, load, load_bare, save, weights
from certiformer.lab.models._models_by_name import build, config, model_type, names
from certiformer.lab.models.cls_transformer import (
    ClsTransformer,
    ClsTransformerConfig,
    LowRankClsTransformer,
    LowRankClsTransformerConfig,
)
from certiformer.lab.models.independent_heads import IndependentHeads, IndependentHeadsConfig
from certiformer.lab.models.indrnn import IndRNN, IndRNNConfig
from certiformer.lab.models.keras_cls_transformer import KerasClsTransformer, KerasClsTransformerConfig
from certiformer.lab.models.multi_head_attention import MultiHeadAttention, MultiHeadAttentionConfig
from certiformer.lab.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig

__all__ = [
    "ACTIVATIONS", "ClsTransformer", "ClsTransformerConfig", "IndRNN", "IndRNNConfig", "IndependentHeads",
    "IndependentHeadsConfig", "KerasClsTransformer", "KerasClsTransformerConfig", "Loaded", "LowRankClsTransformer",
    "LowRankClsTransformerConfig", "Model", "MultiHeadAttention", "MultiHeadAttentionConfig", "ShallowEncoder",
    "ShallowEncoderConfig", "activation", "build", "config", "load", "load_bare", "model_type", "names", "save",
    "unit_ball", "weights",
]  # fmt: skip
