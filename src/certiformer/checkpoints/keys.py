"""The settings of a file, read key by key. A key that nobody has read is harmless for a stated reason, or refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from certiformer.checkpoints.checkpoint_error import CheckpointError, NoNetwork, shown
from certiformer.theory.core.errors import InputError
from certiformer.theory.networks.architecture import ACTIVATIONS

_BECAUSE: Mapping[str, str] = {
    "nothing is dropped when a network is used": """
        hidden_dropout_prob attention_probs_dropout_prob attention_dropout classifier_dropout classifier_dropout_prob
        resid_pdrop embd_pdrop attn_pdrop hidden_dropout dropout qa_dropout seq_classif_dropout embedding_dropout
        mlp_dropout summary_first_dropout summary_last_dropout""",
    "weights are read, not drawn": "initializer_range initializer_factor initializer_cutoff_factor",
    "which word stands for what": """
        bos_token_id eos_token_id pad_token_id unk_token_id sep_token_id cls_token_id mask_token_id
        decoder_start_token_id forced_bos_token_id forced_eos_token_id eos_token_ids n_special
        predict_special_tokens""",
    "how texts are drawn from the logits": """
        use_cache temperature top_k top_p do_sample num_beams num_beam_groups max_length min_length typical_p
        repetition_penalty length_penalty diversity_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size
        early_stopping bad_words_ids num_return_sequences suppress_tokens begin_suppress_tokens
        exponential_decay_length_penalty remove_invalid_values return_dict_in_generate output_scores output_past
        task_specific_params prefix""",
    "names, versions and labels": """
        model_type general.architecture _name_or_path transformers_version torch_dtype dtype finetuning_task
        tokenizer_class _commit_hash return_dict output_attentions output_hidden_states problem_type label2id
        _attn_implementation_autoset _num_labels is_llama_config transformers.js_config""",
    "the same numbers in another order or precision": """
        chunk_size_feed_forward pretraining_tp reorder_and_upcast_attn gradient_checkpointing torchscript use_bfloat16
        xla_device deterministic_flash_attn reference_compile repad_logits_with_grad sparse_prediction
        sparse_pred_ignore_index""",
    "masks change no bound": """
        is_decoder sliding_window use_sliding_window max_window_layers local_attention global_attn_every_n_layers
        use_bidirectional_attention attention.sliding_window""",
    "angles of rotations change no bound": """
        rope_theta rope_interleaved rotary_emb_base global_rope_theta local_rope_theta no_rope_layer_interval
        rope.freq_base rope.dimension_count""",
    "of heads whose tensors would stand out": """
        summary_type summary_use_proj summary_activation summary_proj_to_labels encoder_stride pooler_output_size
        pooler_act""",
    "read by no version of the library": """
        n_ctx directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head
        pooler_type gap_size net_structure_type num_memory_blocks down_scale_factor tf_legacy_loss
        tie_weights_""",
    "the table of positions is in the file": "sinusoidal_pos_embds",
    "cutting coordinates off at a level moves no two values apart": "clip_qkv",
}
HARMLESS: Mapping[str, str] = {key: reason for reason, keys in _BECAUSE.items() for key in keys.split()}
"""Keys that change no number here, each with the reason."""
PREFIXES = ("general.", "tokenizer.", "split.", "quantize.")
"""Of GGUF: names, words and how the file was made."""
ROTATIONS = [
    "rope_type",
    "type",
    "rope_theta",
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
    "short_factor",
    "long_factor",
    "beta_fast",
    "beta_slow",
    "truncate",
    "finetuned",
    "attention_factor",
    "mscale",
    "mscale_all_dim",
    "partial_rotary_factor",
]
GGUF = {
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
}
"""The same settings under the names that GGUF uses."""

HEADS = {
    "ForSequenceClassification": "classifier",
    "ForImageClassification": "classifier",
    "ForTokenClassification": "tokens",
    "ForQuestionAnswering": "tokens",
    "ForMaskedLM": "masked",
    "ForCausalLM": "words",
    "LMHeadModel": "words",
    "Model": "",
}
"""What the name of a class says about its output."""


class Keys:
    """What config.json, the GGUF header or the caller says; sizes that it does not say are those of the tensors.

    `shape` gives (outputs, inputs) of the tensor of a role, None where the file has none; `shape` itself is None where
    there are no tensors at all. `given` is what the caller says, `unused` are names that the caller says do nothing.
    """

    def __init__(
        self,
        path: str | Path,
        config: Mapping[str, Any],
        shape: Callable[[str], tuple[int, int] | None] | None = None,
        given: Mapping[str, Any] | None = None,
        unused: Sequence[str] = (),
    ) -> None:
        self.path, self.shape, self.given, self.unused = path, shape, given or {}, unused
        architecture = f"{config.get('general.architecture', '')}."
        plain = {key.removeprefix(architecture): value for key, value in config.items()}
        self.config = {GGUF.get(key, key): value for key, value in plain.items()}
        self.kind = str(config.get("model_type", config.get("general.architecture", "")))
        self.read: set[str] = set()

    # --- values ----------------------------------------------------------------------------------------------------

    def take(self, *names: str) -> Any:
        """The first of these keys that is set; all of them count as read."""
        self.read.update(names)
        return next((self.config[name] for name in names if self.config.get(name) is not None), None)

    def _typed(self, kind: type, names: Sequence[str], default: Any) -> Any:
        value = self.take(*names)
        if value is None:
            return default
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            problem = f"config.json: {names[0]} is {shown(value)}, expected {kind.__name__}"
            raise CheckpointError(self.path, problem)
        return value

    def flag(self, name: str, default: bool) -> bool:
        return bool(self._typed(bool, (name,), default))

    def number(self, *names: str, default: float) -> float:
        value = self._typed(float, names, None)
        if value is not None and not math.isfinite(value):
            raise CheckpointError(self.path, f"config.json: {names[0]} is {value}")
        return default if value is None else float(value)

    def count(self, *names: str, default: int | None = None, role: str = "", axis: int = 0) -> int:
        """A count that the file says, else that of the tensor of a role, else `default`; else it is asked for."""
        value = self._typed(int, names, None)
        if value is None and role and (there := self.size(role)) is not None:
            value = there[axis]
        value = default if value is None else value
        name = names[0] if names else role
        if value is None:
            raise InputError(name, None, f"a count in {shown(self.path)}")
        if not 1 <= value <= 2**31:
            raise CheckpointError(self.path, f"config.json: {name} is {value}, expected a count")
        return int(value)

    def eps(self, *names: str, default: float) -> float:
        eps = self.number(*names, default=default) if names else default
        if not 0 < eps < math.inf:
            raise CheckpointError(self.path, f"a normalisation with eps = {eps}")
        return eps

    def activation(self, *names: str, default: str | None) -> str:
        name = self.given.get("activation") or self._typed(str, names, default)
        if name is None:
            raise self.asked("activation", "--activation relu or gelu")
        if name not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise CheckpointError(self.path, f"activation {shown(name)} has no rule; known: {known}")
        return str(name)

    def heads(self, *names: str) -> int:
        value = self.given.get("heads") or self._typed(int, names, None)
        if value is None:
            raise self.asked("heads", "--heads")
        if not 1 <= value <= 10_000:
            raise CheckpointError(self.path, f"{value} heads")
        return int(value)

    def head_size(self, width: int, heads: int) -> int:
        """The coordinates of a head where all heads share the width."""
        if width % heads:
            raise CheckpointError(self.path, f"{width} coordinates, which {heads} heads cannot share")
        return width // heads

    def layers(self, *names: str, depth: int | None) -> int:
        found = self.count(*names, default=depth)
        if depth is not None and found != depth:
            raise CheckpointError(self.path, f"config.json says {found} layers, the weights have {depth}")
        return found

    def asked(self, name: str, option: str) -> InputError:
        expected = f"a value: it is not in {shown(Path(self.path).name)}"
        return InputError(name, "nothing", expected, f"Give {option}, or put config.json beside the weights")

    def expect(self, name: str, *allowed: Any) -> None:
        """A key that may say one thing only."""
        value = self.take(name)
        if value is not None and value not in allowed and not self.unused_key(name):
            raise NoNetwork(self.path, f"config.json sets {shown(name)} = {shown(value)}, which is not read here")

    # --- tensors ---------------------------------------------------------------------------------------------------

    def size(self, role: str) -> tuple[int, int] | None:
        return None if self.shape is None else self.shape(role)

    def has(self, role: str, default: bool = False) -> bool:
        """Whether the file has a tensor of that role; `default` where there are no tensors."""
        return default if self.shape is None else self.size(role) is not None

    def head(self, default: str) -> str:
        """What stands behind the last block: "classifier", "tokens" (one that reads every token as it is), "masked",

        "words" (the logits of the next token), or "" for nothing. The tensors decide; without any, the class that the
        configuration names, or the family's `default`.
        """
        named = self.take("architectures")
        name = str(named[0]) if isinstance(named, list) and named else ""
        if name.endswith("ForMultipleChoice"):
            raise NoNetwork(
                self.path, f"config.json sets architectures = {shown(named)}, which compares several inputs"
            )
        found = next((head for ending, head in HEADS.items() if name.endswith(ending)), default)
        if self.shape is None:
            if name and not name.endswith(tuple(HEADS)) and not self.given.get("classes"):
                problem = f"config.json sets architectures = {shown(named)}, whose output is not read here"
                raise NoNetwork(self.path, problem, "For a classifier give --classes")
            return "classifier" if self.given.get("classes") else found
        if self.has("classifier"):
            return "tokens" if found == "tokens" else "classifier"
        if self.has("masked.dense") or self.has("masked.head"):
            return "masked"
        return "words" if self.has("head") or (default == "words" and found != "") else ""

    def classes(self) -> int:
        """Of the classifier in the file; without one, what the caller or the configuration says."""
        labels = self.take("id2label")
        told = len(labels) if isinstance(labels, Mapping) and labels else 2
        told = self.count("num_labels", default=told)
        return self.given.get("classes") or self.count(default=told, role="classifier")

    def tied(self, default: bool) -> bool:
        """Whether the word table is the head; where nobody says so, whether the file has no other."""
        fallback = default if self.shape is None else not (self.has("head") or self.has("masked.head"))
        return self.flag("tie_word_embeddings", fallback)

    # --- what all families read ------------------------------------------------------------------------------------

    def rotation(self) -> float:
        """What rotations multiply the scores by: 1, or the square of a factor on cosines and sines (YaRN, LongRoPE)."""
        partial = self.number("partial_rotary_factor", "rotary_pct", default=1.0)
        given = self.take("rope_parameters", "rope_scaling")
        if self.config.get("rope.scaling.type") in ("none", "linear"):
            self.take("rope.scaling.type", "rope.scaling.factor")
        if given is None:
            return 1.0
        if not isinstance(given, Mapping):
            raise CheckpointError(self.path, f"config.json: rope_scaling is {shown(given)}, expected a table")
        tables = list(given.values()) if given and all(isinstance(t, Mapping) for t in given.values()) else [given]
        return max(self._factor(table, partial) for table in tables) if tables else 1.0

    def _factor(self, table: Mapping[str, Any], partial: float) -> float:
        kind = table.get("rope_type", table.get("type", "default"))
        scaled = kind in ("yarn", "longrope", "su")
        unknown = [key for key in table if key not in ROTATIONS]
        unknown += ["attention_factor"] if table.get("attention_factor") is not None and not scaled else []
        if unknown or not (scaled or kind in ("default", "linear", "dynamic", "llama3")):
            key = unknown[0] if unknown else "rope_type"
            raise NoNetwork(self.path, f"config.json sets rotations with {key} = {shown(table.get(key, kind))}")
        found = self._attention_factor(table, kind) if scaled else 1.0
        share = table.get("partial_rotary_factor", partial)
        # Coordinates that are not rotated keep their scores.
        return found**2 if share == 1.0 else max(1.0, found**2)

    def _attention_factor(self, table: Mapping[str, Any], kind: str) -> float:
        try:
            if table.get("attention_factor") is not None:
                return abs(float(table["attention_factor"]))
            original = self.take("original_max_position_embeddings")
            original = float(table.get("original_max_position_embeddings") or original or math.nan)
            factor = table.get("factor")
            factor = float(factor) if factor is not None else self.count("max_position_embeddings") / original
            if kind != "yarn":
                found = 1.0 if factor <= 1.0 else math.sqrt(1.0 + math.log(factor) / math.log(original))
            else:
                above, below = table.get("mscale"), table.get("mscale_all_dim")
                above, below = (float(above), float(below)) if above and below else (1.0, 0.0)
                grown = math.log(max(1.0, factor))
                found = (1.0 + 0.1 * above * grown) / (1.0 + 0.1 * below * grown)
        except (TypeError, ValueError, ZeroDivisionError):
            found = math.nan
        if not math.isfinite(found):
            raise CheckpointError(self.path, f"config.json: rotations of type {kind} without their numbers")
        return found

    def unused_key(self, name: str) -> bool:
        """Whether the caller has said that a key changes nothing."""
        return any(fnmatchcase(name, pattern) for pattern in self.unused)

    def finish(self) -> None:
        """Every key has been read, is harmless, or ends it here."""
        self.expect("position_embedding_type", "absolute")
        self.expect("add_cross_attention", False)
        self.expect("is_encoder_decoder", False)
        self.expect("tie_encoder_decoder", False)
        self.expect("pruned_heads", {})
        self.take("tie_word_embeddings", "architectures", "id2label", "num_labels")
        self.take("original_max_position_embeddings", "rope_parameters", "rope_scaling")
        kinds = self.take("layer_types")
        if kinds is not None and not {*map(str, kinds)} <= {"full_attention", "sliding_attention"}:
            raise NoNetwork(self.path, f"config.json sets layer_types = {shown(kinds)}, which are not all attention")
        for key, value in self.config.items():
            known = key in self.read or key in HARMLESS or key.startswith(PREFIXES) or value is None
            if not (known or self.unused_key(key)):
                raise NoNetwork(self.path, f"config.json sets {shown(key)} = {shown(value)}, which is not read here")
