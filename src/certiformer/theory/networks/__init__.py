"""Compose an architecture from layers; read off its sensitivities, radii, cover and Rademacher complexity."""

from certiformer.theory.networks.attention_layer import Head, attention
from certiformer.theory.networks.core_attention import attend, fused_attention, join
from certiformer.theory.networks.graph import Analysis, Condition, Contribution, Node, Signal, analyse
from certiformer.theory.networks.joins import add, feed_forward, gated_feed_forward, max_pool, mean_pool, multiply, pick
from certiformer.theory.networks.magnitude import Magnitude
from certiformer.theory.networks.maps import (
    GELU,
    GELU_TANH,
    IDENTITY,
    RELU,
    SIGMOID,
    SILU,
    TANH,
    Activation,
    activation,
    bias,
    bounded,
    gain,
    layer_norm,
    linear,
    project,
    rms_norm,
    scale,
    soft_cap,
    squared_relu,
    unit,
)
from certiformer.theory.networks.network import Composition, Network
from certiformer.theory.networks.outputs import loss, readout, vocabulary
from certiformer.theory.networks.routing import route
from certiformer.theory.networks.sources import embedding, prepend, tokens
from certiformer.theory.networks.weights import Geometry, Reference, Use, Weight

__all__ = [
    "GELU", "GELU_TANH", "IDENTITY", "RELU", "SIGMOID", "SILU", "TANH", "Activation", "Analysis", "Composition",
    "Condition", "Contribution", "Geometry", "Head", "Magnitude", "Network", "Node", "Reference", "Signal", "Use",
    "Weight", "activation", "add", "analyse", "attend", "attention", "bias", "bounded", "embedding", "feed_forward",
    "fused_attention", "gain", "gated_feed_forward", "join", "layer_norm", "linear", "loss", "max_pool",
    "mean_pool", "multiply", "pick", "prepend", "project", "readout", "rms_norm", "route", "scale", "soft_cap",
    "squared_relu", "tokens", "unit", "vocabulary",
]  # fmt: skip
