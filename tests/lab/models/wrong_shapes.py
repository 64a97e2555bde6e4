"""Run by test_shapes.py under the hook: a wrong shape is an error there, and only there."""

import jax
import jax.numpy as jnp
import pytest

from certiformer.lab.models.cls_transformer import ClsTransformer, ClsTransformerConfig


def test_a_wrong_shape_is_an_error():
    model = ClsTransformer.init(jax.random.key(0), ClsTransformerConfig(d=4, k=2))
    model(jnp.ones((3, 4)))
    with pytest.raises(TypeError, match="Type-check error"):
        model(jnp.ones((2, 3, 4)))
