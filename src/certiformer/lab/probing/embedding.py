"""Texts to vectors: the tokenizer of the checkpoint's folder and the encoder, remembered on disk by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.checkpoint_error import CheckpointError
from certiformer.checkpoints.encoder import Encoder
from certiformer.theory.core.errors import CertiformerError, InputError

Progress = Callable[[int, int], None]
"""Told the tokens done, and all of them."""


def _tokenizer(folder: Path, longest: int) -> Any:
    """The tokenizer of a folder: special tokens included, cut at `longest`."""
    try:
        import tokenizers
    except ImportError as error:
        raise CertiformerError("texts need the package tokenizers: pip install 'certiformer[text]'") from error
    file, words = folder / "tokenizer.json", folder / "vocab.txt"
    tokenizer: Any
    if file.is_file():
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the package raises bare Exceptions
            raise CheckpointError(file, f"is no tokenizer ({error})") from None
    elif words.is_file():
        from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

        tokenizer = BertWordPieceTokenizer(str(words))
    else:
        raise CheckpointError(folder, "has no tokenizer.json and no vocab.txt", "Texts cannot be read without")
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    return tokenizer


def embed(
    path: Path,
    texts: Sequence[str],
    *,
    longest: int,
    cache: Cache,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """One vector of features per text."""
    encoder, ids = read(path, texts, longest)
    return np.array(remembered(encoder, "features", encoder.features, ids, cache, progress))


def read(path: Path, texts: Sequence[str], longest: int) -> tuple[Encoder, list[list[int]]]:
    """The encoder of a folder, and the tokens of the texts."""
    if not path.is_dir():
        raise InputError("checkpoint", str(path), "a folder with weights, config.json and the tokenizer")
    encoder = Encoder(path)
    if not 1 <= longest <= encoder.longest:
        raise InputError("tokens", longest, f"1 to {encoder.longest}, the positions of the encoder")
    tokenizer = _tokenizer(path, longest)
    return encoder, [list(tokenizer.encode(text).ids) for text in texts]


def remembered(
    encoder: Encoder,
    what: str,
    compute: Callable[[Sequence[int]], npt.NDArray[Any]],
    ids: Sequence[Sequence[int]],
    cache: Cache,
    progress: Progress | None = None,
) -> list[npt.NDArray[Any]]:
    """`compute` of every text, kept under the hash of its tokens: an interrupted run continues."""
    identity = encoder.identity()
    keys = [f"{what} {identity} {hashlib.sha256(repr(list(one)).encode()).hexdigest()}" for one in ids]
    stored = {key: cache.get_array(key) for key in keys}
    known = {key: values for key, values in stored.items() if values is not None}
    missing = {key: one for key, one in zip(keys, ids, strict=True) if key not in known}
    total, done = sum(map(len, missing.values())), 0
    for key, values in zip(missing, encoder.each(compute, list(missing.values())), strict=True):
        known[key] = values
        cache.put_array(key, values)
        done += len(missing[key])
        if progress is not None:
            progress(done, total)
    return [known[key] for key in keys]
