"""From files to sizes, roles, networks and the document: every family, against numpy and the engine by hand."""

from __future__ import annotations

import importlib.util
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from certiformer.certification.verify import schema
from certiformer.checkpoints import CheckpointError, Options, inspect, open_checkpoint
from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.measuring import Measurer
from certiformer.checkpoints.network_builder import Model, Tensors
from certiformer.checkpoints.roles import assign
from certiformer.checkpoints.sizes import product_norm, sizes
from certiformer.checkpoints.violations import THEOREMS
from certiformer.cli import application
from certiformer.theory import networks
from certiformer.theory.core import find
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.schema import violations
from certiformer.theory.networks import Head, Weight
from checkpoints import tiny

ASKED = {"vit.timm": {"heads": tiny.H}, "torch.encoder": {"heads": tiny.H, "activation": "gelu", "norm_first": False}}
KEYS = {
    "family",
    "parameters",
    "tensors",
    "not_recognised",
    "layers",
    "violations",
    "log10_coefficient",
    "log10_n_needed",
}
ENTRY = {
    "name",
    "role",
    "layer",
    "shape",
    "spectral",
    "frobenius",
    "norm_21",
    "norm_21_rows",
    "norm_11",
    "stable_rank",
}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CERTIFORMER_CACHE", str(tmp_path / "cache"))


def look(path, family="", **options):
    return inspect(path, Options(**{**ASKED.get(family, {}), **options}))


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_every_family_is_recognised_and_measured(family, tmp_path):
    tensors, config = tiny.FAMILIES[family]()
    document = look(tiny.write_folder(tmp_path / "m", tensors, config), family)
    assert document["family"] == family
    assert set(document) >= KEYS
    assert document["not_recognised"] == []
    json.dumps(document, allow_nan=False)
    listed = {entry["name"]: entry for entry in document["tensors"]}
    assert set(listed) | set(document["buffers"]) == set(tensors)
    transposed = family == "gpt2"
    for name, values in tensors.items():
        if name in document["buffers"]:
            continue
        entry = listed[name]
        assert set(entry) >= ENTRY
        assert entry["shape"] == list(values.shape)
        matrix = values.astype(float).reshape(values.shape[0], -1)
        if "cls_token" in name:
            matrix = values.reshape(-1, 1)
        elif values.ndim == 3:
            matrix = values[0]
        elif transposed and "c_" in name and values.ndim == 2:
            matrix = values.T
        matrix = matrix.astype(float)
        truth = np.linalg.svd(matrix, compute_uv=False)[0]
        assert truth <= entry["spectral"] <= truth * (1 + 1e-6)
        assert entry["frobenius"] == pytest.approx(np.linalg.norm(matrix), rel=1e-9)
        assert entry["norm_21"] == pytest.approx(np.linalg.norm(matrix, axis=0).sum(), rel=1e-9)
        assert entry["norm_21_rows"] == pytest.approx(np.linalg.norm(matrix, axis=1).sum(), rel=1e-9)
        assert entry["norm_11"] == pytest.approx(np.abs(matrix).sum(), rel=1e-9)
        assert entry["stable_rank"] == pytest.approx((np.linalg.norm(matrix) / truth) ** 2, rel=1e-6)
    depth = 3 if family == "albert" else tiny.L
    assert [layer["index"] for layer in document["layers"]] == list(range(depth))
    assert document["parameters"] == sum(v.size for n, v in tensors.items() if n not in document["buffers"])
    assert 0 < document["log10_n_needed"] < 12
    assert all(math.isfinite(layer["lipschitz_log10"]) for layer in document["layers"])


def test_an_inspection_carries_a_report(tmp_path):
    known = look(tiny.write_folder(tmp_path / "m", *tiny.bert()))
    statement = known.report["inspect"]
    assert (statement.log10, statement.dominating) == (known["log10_n_needed"], known["dominating"])
    assert "m (" in known.headline
    assert known.conditions == known.report.conditions == tuple(known["remarks"])
    bare = look(tiny.write_npz(tmp_path / "odd.npz", {"what": np.eye(3)}))
    assert bare.report.best is None
    assert bare["no_network"] in bare.headline
    for one in (known, bare):
        assert len(str(one).splitlines()) <= 12
        assert str(one).startswith(one.headline[:40])
        assert list(violations(json.loads(json.dumps(one.report.document, allow_nan=False)), schema())) == []


def test_formats_and_storage_conventions_do_not_change_the_network(tmp_path):
    tensors, config = tiny.llama()
    first = look(tiny.write_folder(tmp_path / "a", tensors, config))
    second = look(tiny.write_gguf(tmp_path / "b.gguf", tensors, config))
    tensors, config = tiny.vit()
    third = look(tiny.write_folder(tmp_path / "c", tensors, config))
    tensors, config = tiny.timm()
    fourth = look(tiny.write_npz(tmp_path / "d.npz", tensors), heads=tiny.H)
    for one, other in ((first, second), (third, fourth)):
        for key in ("log10_coefficient", "log10_n_needed", "sensitivity_log10", "parameters"):
            assert one[key] == pytest.approx(other[key], rel=1e-6)  # GGUF stores eps in single precision
        for a, b in zip(one["layers"], other["layers"], strict=True):
            np.testing.assert_allclose(a["score_norms"], b["score_norms"], rtol=1e-9)


def test_the_network_is_the_one_composed_by_hand(tmp_path):
    tensors, config = tiny.bert()
    document = look(tiny.write_folder(tmp_path / "m", tensors, config))

    def weight(name, values):
        matrix = np.asarray(values, float).reshape(len(values), -1)
        s = np.linalg.svd(matrix, compute_uv=False)[0]
        return Weight(name, matrix.shape, spectral=s, frobenius=np.linalg.norm(matrix), max_row=_row(matrix))

    def blocks(name, values):
        width = tiny.D // tiny.H
        norms = tuple(np.linalg.norm(values[:, h * width : (h + 1) * width], 2) for h in range(tiny.H))
        return Weight(name, values.shape, spectral=np.linalg.norm(values, 2), blocks=norms)

    def _row(matrix):
        return np.linalg.norm(matrix, axis=1).max()

    def norm(z, at):
        gain, shift = tensors[f"{at}.weight"], tensors[f"{at}.bias"]
        return networks.layer_norm(z, weight(f"{at}.g", gain), weight(f"{at}.b", shift), eps=1e-12)

    z = networks.add(
        *(
            networks.embedding(weight(part, tensors[f"embeddings.{part}_embeddings.weight"]), positions=tiny.T)
            for part in ("word", "position", "token_type")
        )
    )
    z = start = norm(z, "embeddings.LayerNorm")
    for n in range(tiny.L):
        at = f"encoder.layer.{n}."
        heads = []
        for h in range(tiny.H):
            rows = slice(h * tiny.D // tiny.H, (h + 1) * tiny.D // tiny.H)
            cut = {
                f"{part}{end}": weight(f"{n}.{h}.{part}{end}", tensors[f"{at}attention.self.{part}.{full}"][rows])
                for part in ("query", "key", "value")
                for end, full in (("", "weight"), ("_bias", "bias"))
            }
            heads.append(Head(scale=1 / math.sqrt(tiny.D // tiny.H), **cut))
        output = blocks(f"{n}.o", tensors[f"{at}attention.output.dense.weight"].astype(float))
        shift = weight(f"{n}.ob", tensors[f"{at}attention.output.dense.bias"])
        z = norm(
            networks.add(z, networks.attention(z, heads, output=output, output_bias=shift)),
            f"{at}attention.output.LayerNorm",
        )
        up, down = (weight(f"{n}.{p}", tensors[f"{at}{p}.dense.weight"]) for p in ("intermediate", "output"))
        shifts = [weight(f"{n}.{p}b", tensors[f"{at}{p}.dense.bias"]) for p in ("intermediate", "output")]
        block = networks.feed_forward(z, up, down, networks.GELU, up_shift=shifts[0], down_shift=shifts[1])
        z = norm(networks.add(z, block), f"{at}output.LayerNorm")
    end = networks.readout(networks.mean_pool(z), Weight("w", (1, tiny.D), spectral=1.0))
    by_hand = networks.analyse(end).sensitivity(start).ln / math.log(10)
    assert document["sensitivity_log10"] == pytest.approx(by_hand, abs=1e-8)
    first = np.linalg.norm(
        tensors["encoder.layer.0.attention.self.query.weight"][:4].T.astype(float)
        @ tensors["encoder.layer.0.attention.self.key.weight"][:4].astype(float),
        2,
    )
    assert document["layers"][0]["score_norms"][0] == pytest.approx(first, rel=1e-8)


def test_gains_are_folded_into_what_reads_them(tmp_path):
    """The same function with W diag(g) in the file and gains of one is the same network, LoRA's price included."""
    tensors, config = tiny.llama()
    folded = dict(tensors)
    for n in range(tiny.L):
        at = f"model.layers.{n}."
        readers = {"input_layernorm": ("q", "k", "v"), "post_attention_layernorm": ("gate", "up")}
        for norm, names in readers.items():
            gain = tensors[f"{at}{norm}.weight"].astype(np.float64)
            folded[f"{at}{norm}.weight"] = np.ones(tiny.D)
            for name in names:
                where = f"{at}{'self_attn' if norm.startswith('input') else 'mlp'}.{name}_proj.weight"
                folded[where] = tensors[where] * gain
    plain = look(tiny.write_folder(tmp_path / "a", tensors, config))
    other = look(tiny.write_folder(tmp_path / "b", folded, config))
    for key in ("sensitivity_log10", "log10_coefficient", "log10_n_needed", "log10_ln_cover"):
        assert plain[key] == pytest.approx(other[key], rel=1e-9)
    short = {**tensors, "model.layers.0.input_layernorm.weight": np.ones(tiny.D - 1, np.float32)}
    folder = tiny.write_folder(tmp_path / "c", short, config)
    with pytest.raises(CheckpointError, match="15 entries"):
        look(folder)


def test_shifts_of_layer_norms_are_folded_into_biases(tmp_path):
    """W(g*u + b) + c = (W diag(g))u + (Wb + c): a file that says it the other way is the same network."""
    tensors, config = tiny.gpt2()
    folded = dict(tensors)
    for n in range(tiny.L):
        for norm, name in (("ln_1", "attn.c_attn"), ("ln_2", "mlp.c_fc")):
            gain, shift = (tensors[f"h.{n}.{norm}.{end}"].astype(np.float64) for end in ("weight", "bias"))
            stored = tensors[f"h.{n}.{name}.weight"].astype(np.float64)
            folded[f"h.{n}.{name}.weight"] = stored * gain[:, None]
            folded[f"h.{n}.{name}.bias"] = tensors[f"h.{n}.{name}.bias"] + shift @ stored
            folded |= {f"h.{n}.{norm}.weight": np.ones(tiny.D), f"h.{n}.{norm}.bias": np.zeros(tiny.D)}
    plain = look(tiny.write_folder(tmp_path / "a", tensors, config))
    other = look(tiny.write_folder(tmp_path / "b", folded, config))
    for key in ("sensitivity_log10", "log10_coefficient", "log10_n_needed", "log10_ln_cover"):
        assert plain[key] == pytest.approx(other[key], rel=1e-9)
    # What did not move costs nothing, folded or not.
    still = look(tmp_path / "a", reference=tmp_path / "a")
    assert still["log10_ln_cover"] < 3.0


@pytest.mark.parametrize("family", ["gpt2", "vit", "vit.timm", "torch.encoder", "llama"])
def test_folding_makes_no_value_larger(family, tmp_path, monkeypatch):
    tensors, config = tiny.llama(tied=False) if family == "llama" else tiny.FAMILIES[family]()
    first = {"norm_first": True} if family == "torch.encoder" else {}
    folder = tiny.write_folder(tmp_path / "a", tensors, config)
    folded = look(folder, family, **first)
    monkeypatch.setattr(Tensors, "folds", lambda *_, **__: False)
    plain = look(folder, family, **first)
    for key in ("sensitivity_log10", "log10_coefficient", "log10_n_needed", "log10_ln_cover"):
        assert folded[key] < plain[key]
    for one, other in zip(folded["layers"], plain["layers"], strict=True):
        assert one["attention_log10"] < other["attention_log10"]
        assert one["feed_forward_log10"] < other["feed_forward_log10"]


def test_sizes_of_folded_parts_hold_whatever_was_rounded(tmp_path):
    """Gains and shifts in double precision: norms of the exact products, in fractions, are never above."""
    rng = np.random.default_rng(3)
    tensors, config = tiny.gpt2()
    tensors = {name: rng.normal(size=values.shape) / 3.0 for name, values in tensors.items()}
    roles = assign(open_checkpoint(tiny.write_folder(tmp_path / "a", tensors, config)))
    _, weights = Model.of(roles).build(Measurer(Cache("norms", kept=False)))
    weight, bias = weights.part("up", 0), weights.part("up.bias", 0)
    stored, own = tensors["h.0.mlp.c_fc.weight"].T, tensors["h.0.mlp.c_fc.bias"]
    gain, shift = tensors["h.0.ln_2.weight"], tensors["h.0.ln_2.bias"]
    entries = [abs(Fraction(w) * Fraction(g)) for row in stored for w, g in zip(row, gain, strict=True)]
    assert weights.measurer.sizes(weight).norm_11 >= sum(entries)
    assert Fraction(weights.measurer.sizes(weight).frobenius) ** 2 >= sum(entry**2 for entry in entries)
    sums = [
        Fraction(c) + sum(Fraction(w) * Fraction(b) for w, b in zip(row, shift, strict=True))
        for row, c in zip(stored, own, strict=True)
    ]
    found = weights.measurer.sizes(bias)
    assert Fraction(found.spectral) ** 2 >= sum(one**2 for one in sums) >= Fraction(found.spectral_below) ** 2
    assert Fraction(found.max_row) >= max(map(abs, sums))
    assert found.spectral - found.spectral_below < 1e-10


def test_norms_on_queries_and_keys(tmp_path):
    """Qwen3: the scores have a bound whatever W_Q and W_K are, so the sizes of these no longer matter to the rest."""
    tensors, config = tiny.llama(qk_norm=True)
    document = look(tiny.write_folder(tmp_path / "a", tensors, config))
    assert (document["family"], document["not_recognised"]) == ("llama", [])
    assert {e["role"] for e in document["tensors"]} >= {"query.norm.gain", "key.norm.gain"}
    name = "model.layers.1.self_attn.q_proj.weight"
    longer = look(tiny.write_folder(tmp_path / "b", {**tensors, name: 10 * tensors[name]}, config))

    def into(document, layer):
        return document["layers"][layer]["attention_log10"]

    assert 0 < into(longer, 1) - into(document, 1) < 1  # only through dq, never through the radius of q
    whole = {f"model.layers.{n}.self_attn.q_norm.weight": np.ones(tiny.D, np.float32) for n in range(tiny.L)}
    folder = tiny.write_folder(tmp_path / "c", {**tensors, **whole}, config)
    with pytest.raises(CheckpointError, match=r"q_norm.weight: \(16, 1\), expected \(4, 1\)"):
        look(folder)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("mixtral", "top-k routing"), ("newcomer", "stands in no table")],
)
def test_model_types_that_compute_something_else_are_only_measured(kind, words, tmp_path):
    tensors, config = tiny.llama()
    document = look(tiny.write_folder(tmp_path / "m", tensors, {**config, "model_type": kind}))
    assert (document["family"], document["layers"]) == (None, [])
    assert words in document["no_network"]
    assert len(document["tensors"]) == len(tensors)


def test_swapping_a_matrix_changes_a_norm_or_is_refused(tmp_path):
    tensors, config = tiny.bert()
    name = "encoder.layer.0.attention.self.query.weight"
    straight = look(tiny.write_folder(tmp_path / "a", tensors, config))
    turned = look(tiny.write_folder(tmp_path / "b", {**tensors, name: tensors[name].T.copy()}, config))
    one, other = (next(e for e in d["tensors"] if e["name"] == name) for d in (straight, turned))
    assert one["norm_21"] == pytest.approx(other["norm_21_rows"])
    assert one["norm_21"] != pytest.approx(other["norm_21"], rel=1e-6)
    up = "encoder.layer.0.intermediate.dense.weight"
    with pytest.raises(CheckpointError, match="shape of"):
        look(tiny.write_folder(tmp_path / "c", {**tensors, up: tensors[up].T.copy()}, config))


def test_unknown_tensors_are_listed_and_unknown_models_measured(tmp_path):
    tensors, config = tiny.bert()
    extra = {**tensors, "adapter.secret.weight": np.ones((3, 2), np.float32)}
    document = look(tiny.write_folder(tmp_path / "a", extra, config))
    assert document["not_recognised"] == ["adapter.secret.weight"]
    assert any(entry["role"] == "not recognised" for entry in document["tensors"])
    assert (document["log10_n_needed"], document["layers"]) == (None, [])
    document = look(tiny.write_folder(tmp_path / "b", {"some.thing": np.ones((3, 2), np.float32)}, {}))
    assert (document["family"], document["layers"], document["log10_n_needed"]) == (None, [], None)
    assert document["tensors"][0]["spectral"] == pytest.approx(math.sqrt(6))


def test_what_no_file_says_is_asked_for(tmp_path):
    path = tiny.write_npz(tmp_path / "e.npz", tiny.torch_encoder()[0])
    with pytest.raises(InputError, match="--heads"):
        inspect(path)
    with pytest.raises(InputError, match="--activation"):
        inspect(path, Options(heads=4))
    with pytest.raises(InputError, match="--norm-first"):
        inspect(path, Options(heads=4, activation="relu"))
    with pytest.raises(CheckpointError, match="heads cannot share"):
        inspect(path, Options(heads=7, activation="relu", norm_first=True))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_hidden_layers": 7}, "7 layers"),
        ({"num_attention_heads": "four"}, "expected int"),
        ({"layer_norm_eps": 0.0}, "eps"),
        ({"hidden_act": "mish"}, "no rule"),
    ],
)
def test_configs_that_contradict_the_weights(change, words, tmp_path):
    tensors, config = tiny.bert()
    with pytest.raises(CheckpointError, match=words):
        look(tiny.write_folder(tmp_path / "m", tensors, {**config, **change}))


def test_weights_that_are_not_numbers(tmp_path):
    tensors, config = tiny.bert()
    tensors["encoder.layer.1.output.dense.weight"][0, 0] = np.nan
    with pytest.raises(CheckpointError, match=r"encoder.layer.1.output.dense.weight.*nan"):
        look(tiny.write_folder(tmp_path / "m", tensors, config))


def test_a_reference_centres_the_class(tmp_path):
    base, config = tiny.bert(0)
    rng = np.random.default_rng(1)
    tuned = {n: (v + 1e-4 * rng.normal(size=v.shape)).astype(np.float32) for n, v in base.items()}
    first = tiny.write_folder(tmp_path / "base", base, config)
    second = tiny.write_folder(tmp_path / "tuned", tuned, config)
    free, near = look(second), look(second, reference=first)
    assert near["log10_coefficient"] < free["log10_coefficient"] - 2
    assert near["log10_n_needed"] < free["log10_n_needed"]
    name = "encoder.layer.0.attention.self.query.weight"
    entry = next(e for e in near["tensors"] if e["name"] == name)
    moved = np.linalg.norm(tuned[name].astype(float) - base[name], 2)
    assert entry["moved_spectral"] == pytest.approx(moved, rel=1e-6)
    with pytest.raises(CheckpointError, match="of family"):
        look(second, reference=tiny.write_folder(tmp_path / "other", *tiny.llama()))


def test_adapters_on_top_of_a_base(tmp_path):
    base, config = tiny.llama()
    folder = tiny.write_folder(tmp_path / "base", base, config)
    targets = ["model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj"]
    factors = tiny.write_adapter(tmp_path / "lora", targets, base)
    document = look(tmp_path / "lora", base=folder)
    update = (
        2.0
        * factors[f"base_model.model.{targets[0]}.lora_B.weight"].astype(float)
        @ factors[f"base_model.model.{targets[0]}.lora_A.weight"]
    )
    row = document["adapter"]["updates"][0]
    assert (row["rank"], row["parameters"]) == (2, 2 * 32)
    assert row["spectral"] == pytest.approx(np.linalg.norm(update, 2), rel=1e-6)
    entry = next(e for e in document["tensors"] if e["name"] == f"{targets[0]}.weight")
    whole = base[f"{targets[0]}.weight"] + update
    assert entry["spectral"] == pytest.approx(np.linalg.norm(whole, 2), rel=1e-6)
    assert entry["moved_spectral"] == pytest.approx(np.linalg.norm(update, 2), rel=1e-5)
    price = document["adapter"]
    assert price["n_that_would_do"] >= 10 * price["nats"] > 10 * price["parameters"]
    assert price["certified"] is False
    # Everything but the adapted weights stands still, and a rank counts less than all entries.
    everything = look(tmp_path / "lora", base=folder, reference=folder)
    assert document["log10_ln_cover"] < everything["log10_ln_cover"]
    with pytest.raises(InputError, match="--base"):
        look(tmp_path / "lora")


def test_the_cache_gives_the_same_document_and_notices_a_change(tmp_path):
    tensors, config = tiny.bert()
    folder = tiny.write_folder(tmp_path / "m", tensors, config)
    first, second, without = look(folder), look(folder), look(folder, cache=False)
    assert first == second == without
    tensors["encoder.layer.0.output.dense.weight"][0, 0] += 1.0
    assert look(tiny.write_folder(folder, tensors, config)) != first


def test_sizes_of_extreme_matrices_and_products():
    rng = np.random.default_rng(0)
    for scale in (1e-200, 1e200, 1.0):
        found = sizes(scale * np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 1.0]]))
        assert found.spectral == pytest.approx(5 * scale, rel=1e-9)
        assert found.norm_21 == pytest.approx(6 * scale, rel=1e-9)
        assert found.norm_21_rows == pytest.approx(8 * scale, rel=1e-9)
    for k, d in ((4, 30), (8, 8), (1, 5)):
        a, b = rng.normal(size=(2, k, d))
        truth = np.linalg.norm(a.T @ b, 2)
        assert truth * (1 - 1e-14) <= product_norm(a, b) <= truth * (1 + 1e-9)
    assert product_norm(np.zeros((2, 3)), np.ones((2, 3))) == 0.0


def test_every_violation_names_a_result_that_exists():
    for id in THEOREMS:
        assert find(id).id == id


def test_the_command(tmp_path):
    base, config = tiny.bert(0)
    first = tiny.write_folder(tmp_path / "base", base, config)
    second = tiny.write_folder(tmp_path / "tuned", tiny.bert(1)[0], config)
    run = CliRunner().invoke
    done = run(application(), ["inspect", str(first), "--json"])
    assert set(json.loads(done.stdout)) >= KEYS
    done = run(application(), ["inspect", str(first), str(second), "--out", str(tmp_path / "out"), "--tensors"])
    assert done.exit_code == 0, done.output
    assert "side by side" in done.stdout
    assert "no paper's theorem applies" in done.stdout
    lines = (tmp_path / "out/inspect.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * len(base)
    page = (tmp_path / "out/inspect.html").read_text()
    assert "<svg" in page
    assert "encoder.layer.1.output.dense.weight" in page
    assert (tmp_path / "out/layers.svg").read_text().startswith("<svg")
    assert json.loads((tmp_path / "out/inspect.json").read_text())["checkpoints"][1]["family"] == "bert"


def test_wrappers_prefixes_and_double_claims(tmp_path):
    tensors, config = tiny.bert()
    wrapped = {f"module.bert.{name}": values for name, values in tensors.items()}
    roles = assign(open_checkpoint(tiny.write_folder(tmp_path / "a", wrapped, config)))
    assert roles.unknown == ()
    twice = {**tensors, **{f"bert.{name}": values for name, values in tensors.items()}}
    with pytest.raises(CheckpointError, match="both claim"):
        assign(open_checkpoint(tiny.write_folder(tmp_path / "b", twice, config)))


def test_the_example_that_compares(tmp_path, capsys):
    """What the example shows of a pair of files; real ones are fetched by the tests marked `real`."""
    place = Path(__file__).parents[2] / "examples" / "compare_fine_tuned.py"
    spec = importlib.util.spec_from_file_location("compare_fine_tuned", place)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    first = tiny.write_folder(tmp_path / "a", *tiny.bert())
    example.main([str(first), str(example.nudged(first))])
    told = capsys.readouterr().out
    assert "moved" in told
    assert "centred at the first" in told
