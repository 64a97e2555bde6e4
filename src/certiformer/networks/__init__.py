"""Compose an architecture from layers; read off its sensitivities, radii, cover and Rademacher complexity."""

from certiformer.networks.attention import Head, attention
from certiformer.networks.graph import Analysis, Contribution, Node, Signal, analyse
from certiformer.networks.joins import add, feed_forward, gated_feed_forward, mean_pool, multiply, pick
from certiformer.networks.magnitude import Magnitude
from certiformer.networks.maps import (
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
    layer_norm,
    linear,
    project,
    rms_norm,
    scale,
)
from certiformer.networks.outputs import loss, readout, vocabulary
from certiformer.networks.sources import embedding, prepend, tokens
from certiformer.networks.weights import Geometry, Reference, Use, Weight

__all__ = [
    "GELU",
    "GELU_TANH",
    "IDENTITY",
    "RELU",
    "SIGMOID",
    "SILU",
    "TANH",
    "Activation",
    "Analysis",
    "Contribution",
    "Geometry",
    "Head",
    "Magnitude",
    "Node",
    "Reference",
    "Signal",
    "Use",
    "Weight",
    "activation",
    "add",
    "analyse",
    "attention",
    "bias",
    "embedding",
    "feed_forward",
    "gated_feed_forward",
    "layer_norm",
    "linear",
    "loss",
    "mean_pool",
    "multiply",
    "pick",
    "prepend",
    "project",
    "readout",
    "rms_norm",
    "scale",
    "tokens",
    "vocabulary",
]
