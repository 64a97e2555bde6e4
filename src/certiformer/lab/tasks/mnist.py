"""Handwritten zeros and ones as sequences of tokens: the task of Mwigo and Dasgupta."""

from __future__ import annotations

import functools
import hashlib
import lzma
from importlib import resources
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray, UInt8

from certiformer.lab.models._base import check_choice, check_count
from certiformer.lab.models._draws import array, generators
from certiformer.lab.tasks._task import Dataset, Task
from certiformer.theory.core.errors import InputError

TRAIN, TEST = 12665, 2115
CONTENT_SHA256 = "f5c2fd2cb39e0d3af6c0cff536f5216b27769e3ce1c4bd1693f595bfa122cd0d"
# Mean and standard deviation of all pixels of the 12,665 training images, in units of [0, 1].
MEAN, DEVIATION = 0.12154970792106816, 0.3011187727252708

TOKENS = ("padded", "flat", "cropped", "flat_cropped")
PIXELS = ("symmetric", "unit", "standardised")


class Digits(NamedTuple):
    """Raw images (n, height, width) of bytes, and their digits."""

    images: np.ndarray[Any, np.dtype[np.uint8]]
    digits: np.ndarray[Any, np.dtype[np.uint8]]


def mnist(
    key: PRNGKeyArray,
    *,
    n: int = 400,
    tokens: str = "padded",
    pixels: str = "symmetric",
    dtype: Any = jnp.float32,
) -> Task:
    """n training images drawn without replacement, and all test images, of zeros (-1) and ones (+1).

    `tokens` and `pixels` as in `patches` and `scale`. The distribution is that of the images: no risk is known exactly.
    """
    check_count("n", n)
    check_choice("tokens", tokens, TOKENS)
    check_choice("pixels", pixels, PIXELS)
    train, test = embedded()
    if n > len(train.digits):
        raise InputError("n", n, f"at most {len(train.digits)}, the number of training images")
    rows = generators(key, 1)[0].permutation(len(train.digits))[:n]

    def dataset(part: Digits) -> Dataset:
        signs = np.where(part.digits == 1, 1.0, -1.0)
        return Dataset(array(patches(scale(part.images, pixels, dtype), tokens), dtype), array(signs, dtype))

    return Task(
        name="mnist",
        train=dataset(Digits(train.images[rows], train.digits[rows])),
        test=dataset(test),
        labels="signs",
        risk="logistic",
        bayes_risk=None,
        meta={"rows": rows},
    )


def scale(images: UInt8[np.ndarray, "n height width"], pixels: str, dtype: Any = jnp.float32) -> _Scaled:
    """Bytes as numbers, and the number that a blank pixel becomes.

    `unit`: [0, 1]. `symmetric`: [-1, 1]. `standardised`: mean 0 and variance 1 over the pixels of the 12,665 training
    images that the package holds (fixed constants, not those of the sample).
    """
    check_choice("pixels", pixels, PIXELS)
    shift, factor = {"unit": (0.0, 1.0), "symmetric": (0.5, 2.0), "standardised": (MEAN, 1.0 / DEVIATION)}[pixels]
    values = (images.astype(dtype) / 255.0 - shift) * factor
    return _Scaled(values, -shift * factor)


class _Scaled(NamedTuple):
    values: Float[np.ndarray, "n height width"]
    blank: float


def patches(images: _Scaled, tokens: str) -> Float[np.ndarray, "n tokens 64"]:
    """Images of 28 x 28 pixels as sequences of tokens with 64 entries.

    `padded`: a blank border of two pixels, then 16 patches of 8 x 8. `cropped`: without the outer two pixels, 9
    patches of 8 x 8. `flat`: the 784 pixels in reading order and 48 blank ones, 13 tokens. `flat_cropped`: the first
    768 pixels in reading order, 12 tokens. Padding is blank paper, so it is scaled like any other pixel.
    """
    check_choice("tokens", tokens, TOKENS)
    values, blank = images
    n = len(values)
    if tokens.startswith("flat"):
        flat = values.reshape(n, 784)
        more = np.pad(flat, ((0, 0), (0, 48)), constant_values=blank) if tokens == "flat" else flat[:, :768]
        return more.reshape(n, -1, 64)
    border = ((0, 0), (2, 2), (2, 2))
    square = np.pad(values, border, constant_values=blank) if tokens == "padded" else values[:, 2:26, 2:26]
    side = square.shape[1] // 8
    return square.reshape(n, side, 8, side, 8).transpose(0, 1, 3, 2, 4).reshape(n, -1, 64)


@functools.cache
def embedded() -> tuple[Digits, Digits]:
    """The zeros and ones that come with the package (training, test), after their checksum was compared."""
    raw = lzma.decompress(resources.files("certiformer.lab.tasks").joinpath("data", "mnist01.xz").read_bytes())
    found = hashlib.sha256(raw).hexdigest()
    if found != CONTENT_SHA256:
        raise InputError(
            "mnist01.xz", f"SHA-256 {found}", CONTENT_SHA256, "The file is damaged: reinstall certiformer."
        )
    content = np.frombuffer(raw, np.uint8)
    content.flags.writeable = False
    half = TRAIN * 785
    parts = []
    for part, count in ((content[:half], TRAIN), (content[half:], TEST)):
        parts.append(Digits(part[count:].reshape(count, 28, 28), part[:count]))
    return parts[0], parts[1]
