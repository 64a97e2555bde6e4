"""ALBERT: groups of layers, each used several times (tied); a narrow table and a map to the width."""

from certiformer.checkpoints.families._table import Family, bare, buffer, encoder_end, layer_norm, linear, norm, table
from certiformer.checkpoints.families.bert import post_norm, tables
from certiformer.checkpoints.keys import Keys
from certiformer.theory.core.errors import InputError
from certiformer.theory.networks.architecture import Architecture, Block

LAYER = "encoder.albert_layer_groups.{n}.albert_layers.{i}."


def architecture(keys: Keys, depth: int | None) -> Architecture:
    after = layer_norm(keys.eps("layer_norm_eps", default=1e-12))
    activation = keys.activation("hidden_act", default="gelu_new")
    width = keys.count("hidden_size", role="output")
    hidden = keys.count("intermediate_size", role="down", axis=1)
    halves = post_norm(keys, width, keys.heads("num_attention_heads"), hidden, activation, after)
    inner = keys.count("inner_group_num", default=1)
    groups = keys.count("num_hidden_groups", default=1 if depth is None else max(1, depth // inner))
    layers = keys.count("num_hidden_layers", default=depth)
    if layers > 10_000 or groups > layers or (depth is not None and groups * inner != depth):
        raise InputError("num_hidden_groups", groups, f"at most {layers} groups of {inner}, all of them in the file")
    labels = [int(n / (layers / groups)) * inner + i for n in range(layers) for i in range(inner)]
    dimension = keys.count("embedding_size", role="word", axis=1)
    source = tables(keys, dimension, after, mapped=True)
    end = encoder_end(keys, width, source, pooler="tanh", masked=activation, norm=after)
    return Architecture(width, source, tuple(Block(str(label), halves) for label in labels), end)


FAMILY = Family(
    key="albert",
    title="ALBERT",
    model_types=("albert",),
    prefixes=("albert.",),
    architecture=architecture,
    rows=(
        table("embeddings.word_embeddings", "word"),
        table("embeddings.position_embeddings", "position"),
        table("embeddings.token_type_embeddings", "type"),
        norm("embeddings.LayerNorm", "embedding.norm"),
        linear("encoder.embedding_hidden_mapping_in", "embedding.map"),
        linear(LAYER + "attention.query", "query"),
        linear(LAYER + "attention.key", "key"),
        linear(LAYER + "attention.value", "value"),
        linear(LAYER + "attention.dense", "output"),
        norm(LAYER + "attention.LayerNorm", "attention.norm"),
        linear(LAYER + "ffn", "up"),
        linear(LAYER + "ffn_output", "down"),
        norm(LAYER + "full_layer_layer_norm", "feedforward.norm"),
        linear("pooler", "pooler"),
        linear("classifier", "classifier"),
        linear("qa_outputs", "classifier"),
        linear("predictions.dense", "masked.dense"),
        norm("predictions.LayerNorm", "masked.norm"),
        linear("predictions.decoder", "masked.head"),
        bare("predictions.bias", "masked.shift"),
        linear("sop_classifier.classifier", "next_sentence"),
        *buffer("embeddings.position_ids"),
    ),
)
