"""Texts to vectors: the tokenizer of the checkpoint's folder and the encoder, remembered on disk by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.encoder import Encoder
from certiformer.checkpoints.errors import CheckpointError
from certiformer.core.errors import CertiformerError, InputError

CHUNK = 256
"""Texts per entry of the cache: an interrupted run goes on where it stopped."""


class Tokens:
    """Token ids of a text, special tokens included, cut at `longest`."""

    def __init__(self, folder: Path, longest: int) -> None:
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
        self.tokenizer, self.longest = tokenizer, longest

    def ids(self, text: str) -> list[int]:
        """The ids of the tokens of a text."""
        return list(self.tokenizer.encode(text).ids)


def embed(
    path: Path,
    texts: Sequence[str],
    *,
    longest: int,
    cache: Cache,
    progress: Callable[[int, int], None] | None = None,
) -> npt.NDArray[np.float64]:
    """One vector per text; chunks of texts of similar length, each remembered under the hash of its tokens."""
    if not path.is_dir():
        raise InputError("checkpoint", str(path), "a folder with weights, config.json and the tokenizer")
    encoder = Encoder(path)
    if longest > encoder.longest:
        raise InputError("tokens", longest, f"at most {encoder.longest}, the positions of the encoder")
    tokens = Tokens(path, longest)
    ids = [tokens.ids(text) for text in texts]
    identity = encoder.identity()
    order = sorted(range(len(ids)), key=lambda index: (len(ids[index]), ids[index]))
    found = np.zeros((len(ids), encoder.width))
    total, done = sum(map(len, ids)), 0
    for start in range(0, len(order), CHUNK):
        part = order[start : start + CHUNK]
        chunk = [ids[index] for index in part]
        key = f"embedding {identity} {hashlib.sha256(repr(chunk).encode()).hexdigest()}"
        known = cache.get_array(key)
        if known is None or known.shape != (len(part), encoder.width):
            known = encoder.embed(chunk)
            cache.put_array(key, known)
        found[part] = known
        done += sum(map(len, chunk))
        if progress is not None:
            progress(done, total)
    return found
