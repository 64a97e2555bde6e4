"""Which covers a weight may use where: tags, references, tied weights, joint bounds; and errors that say what to do."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from certiformer.theory import networks as net
from certiformer.theory.calculus import chaining, covers
from certiformer.theory.core.errors import InputError
from certiformer.theory.networks import Head, Reference, Weight
from certiformer.theory.networks.magnitude import size

PLAIN = Head(score=Weight("A", (2, 2), spectral=1.0))
SCALES = np.geomspace(1e-6, 2.0, 25)


def one_linear(weight: Weight, *, projected: bool = True, **options: object) -> net.Analysis:
    z = net.linear(net.tokens(weight.shape[1], 1.0, positions=4), weight)
    if projected:
        z = net.project(z)
    w = Weight("w", (1, weight.shape[0]), frobenius=1.0)
    return net.analyse(net.readout(net.pick(z), w), **options)


def term(analysis: net.Analysis, name: str) -> covers.Cover:
    return next(one.cover for one in analysis.terms if one.name == name)


def test_the_cover_of_a_weight_is_the_minimum_at_every_radius() -> None:
    weight = Weight("W", (8, 8), l1=2.0, frobenius=1.5, spectral=1.0)
    cover = term(one_linear(weight, samples=100), "W")
    parts = [
        covers.maurey(2.0, 64),
        covers.dual_sudakov(1.5, 8, 8),
        covers.volumetric(1.0, 64),
        covers.perceptron_matrix(1.5, 400, 8),
    ]
    for eps in SCALES:
        assert cover.log_size(eps) == pytest.approx(min(part.log_size(eps) for part in parts))


def test_covers_of_sample_points_need_a_sample() -> None:
    weight = Weight("W", (1, 64), frobenius=1.0)
    on_sample, everywhere = (term(one_linear(weight, samples=n), "W") for n in (50, None))
    assert not on_sample.domain
    assert everywhere.domain
    assert on_sample.log_size(0.5) < everywhere.log_size(0.5)


def test_external_covers_count_at_half_the_radius_in_a_proper_analysis() -> None:
    weight = Weight("W", (50, 50), rows_two_one=1.0)
    proper, external = (term(one_linear(weight, proper=p, samples=50), "W") for p in (True, False))
    five = covers.rows_two_one(1.0, 50, 200)
    assert external.log_size(0.9) == pytest.approx(five.log_size(0.9))
    assert proper.log_size(0.9) >= external.log_size(0.9)
    assert (proper.proper, external.proper) == (True, False)


def test_an_external_analysis_never_enters_a_proper_chain() -> None:
    analysis = one_linear(Weight("W", (8, 8), frobenius=1.0), proper=False)
    with pytest.raises(InputError, match="a proper cover"):
        chaining.proper_chain(analysis.cover, 1.0, 100)
    assert all(not one.cover.proper for one in analysis.terms)
    assert analysis.rademacher(10**6) == pytest.approx(chaining.external_chain(analysis.cover, 1.0, 10**6), rel=1e-6)


def test_external_covers_need_a_projection_before_the_next_weight() -> None:
    weight = Weight("W", (4, 4), rows_two_one=1.0, spectral=1.0)
    with pytest.raises(InputError, match=r"covers of W.*proper_only=True, or project"):
        one_linear(weight, projected=False, proper=False)
    assert one_linear(weight, projected=True, proper=False).rademacher(10**6) < 1.0
    assert one_linear(weight, projected=False, proper=True).rademacher(10**6) < 1.0


def test_a_weight_may_be_kept_to_proper_covers() -> None:
    kept = Weight("W", (4, 4), rows_two_one=1.0, spectral=1.0, proper_only=True)
    analysis = one_linear(kept, projected=False, proper=False, samples=100)
    proper = one_linear(kept, projected=False, proper=True, samples=100)
    for eps in SCALES:
        assert term(analysis, "W").log_size(eps) == term(proper, "W").log_size(eps)


def test_column_bounds_alone_give_proper_covers_but_not_with_a_spectral_bound() -> None:
    alone = Weight("W", (4, 4), one_inf=1.0)
    assert alone.keeps_class
    assert not Weight("W", (4, 4), one_inf=1.0, spectral=1.0).keeps_class
    # ||x||_1 <= 2 ||x||_2 in four dimensions.
    cover = term(one_linear(alone), "W")
    assert cover.log_size(0.5) <= covers.columns_one_inf(1.0, 4, 4).scaled(2.0).log_size(0.5)


def test_hatted_gains_must_be_bounded_too() -> None:
    gain = Weight("g", (4, 1), rows_two_one=1.0)
    z = net.layer_norm(net.tokens(4, 1.0, positions=2), gain)
    graph = net.linear(z, Weight("W", (4, 4), spectral=1.0))
    with pytest.raises(InputError, match="covers of g"):
        net.analyse(graph, proper=False)
    assert net.analyse(graph).coefficients["W"].value > 0.0


def test_a_class_is_widened_to_contain_its_centre() -> None:
    """A reference of spectral norm 2 in a class of radius 1: the coarsest cover is the reference, and it has norm 2."""
    weight = Weight("W", (3, 3), frobenius=0.5, spectral=1.0, reference=Reference(spectral=2.0))
    assert weight.spectral_norm.value == pytest.approx(2.0)
    z = net.linear(net.tokens(3, 1.0, positions=2), weight)
    graph = net.linear(z, Weight("U", (3, 3), spectral=1.0))
    assert net.analyse(graph).coefficients["U"].value == pytest.approx(2.0)
    # The cover still pays for the distance only.
    assert term(net.analyse(graph), "W").log_size(0.5) == 0.0


def test_frozen_weights_cost_nothing() -> None:
    frozen = Weight("W", (3, 3), frobenius=0.0, reference=Reference(spectral=2.0))
    analysis = one_linear(frozen)
    alone = net.analyse(net.readout(net.pick(net.tokens(3, 1.0, positions=4)), Weight("w", (1, 3), frobenius=1)))
    assert analysis.log_size(0.01) == pytest.approx(alone.log_size(0.01))


def test_blocks_are_widened_as_well() -> None:
    out = Weight("O", (2, 4), spectral=1.0, blocks=(0.3, 0.4), reference=Reference(1.0, blocks=(0.5, 0.2)))
    assert [out.block_norm(h, 2).value for h in range(2)] == pytest.approx([0.5, 0.4])
    with pytest.raises(InputError, match="blocks of O"):
        out.block_norm(0, 3)
    plain = Weight("O", (2, 4), spectral=1.0, blocks=(0.3, 0.4))
    assert [plain.block_norm(h, 2).value for h in range(2)] == pytest.approx([0.3, 0.4])


def test_joint_bounds_on_query_and_key_only_count_in_external_analyses() -> None:
    head = Head(query=Weight("Q", (2, 2), spectral=10), key=Weight("K", (2, 2), spectral=10), joint=0.0)
    x = net.tokens(2, 1.0, positions=3)
    graph = net.attention(x, head)
    assert net.analyse(graph, proper=False).sensitivity(x).value == pytest.approx(1.0)
    assert net.analyse(graph, proper=True).sensitivity(x).value == pytest.approx(201.0)


def test_an_external_query_matrix_is_refused_since_the_key_matrix_needs_its_norm() -> None:
    head = Head(query=Weight("Q", (2, 2), rows_two_one=1.0), key=Weight("K", (2, 2), spectral=1))
    graph = net.attention(net.tokens(2, 1.0, positions=3), head)
    with pytest.raises(InputError, match="covers of Q"):
        net.analyse(graph, proper=False)


def test_tied_weights_add_up_and_give_up_covers_of_hatted_inputs() -> None:
    tied = Weight("W", (4, 4), frobenius=1.0, spectral=1.0)
    x = net.tokens(4, 1.0, positions=2)
    analysis = net.analyse(net.linear(net.linear(x, tied), tied), samples=10)
    assert analysis.coefficients["W"].value == pytest.approx(2.0)
    assert len(analysis.terms) == 1
    assert analysis.terms[0].cover.domain


def test_a_key_matrix_shared_by_heads_is_covered_at_their_common_inputs() -> None:
    shared = Weight("K", (1, 4), frobenius=1.0)
    heads = [
        Head(value=Weight(f"V{h}", (2, 4), spectral=1), query=Weight(f"Q{h}", (1, 4), spectral=1), key=shared)
        for h in range(2)
    ]
    x = net.tokens(4, 1.0, positions=3)
    analysis = net.analyse(net.attention(x, heads, output=Weight("O", (4, 4), spectral=1)), samples=10)
    assert not term(analysis, "K").domain
    assert not term(analysis, "O").domain


def test_a_table_is_covered_on_its_entries_whatever_the_sample() -> None:
    table = Weight("E", (50, 4), frobenius=1.0, max_row=0.5)
    analysis = net.analyse(net.linear(net.embedding(table, positions=9), Weight("W", (4, 4), spectral=1)))
    cover = term(analysis, "E")
    assert cover.domain
    assert cover.log_size(0.4) <= covers.perceptron_matrix(1.0, 50, 4).log_size(0.4)
    assert cover.log_size(0.5) == 0.0  # every row is within its own norm of zero


def test_covers_of_oriented_norms_are_used_for_maps_and_not_for_tables() -> None:
    """Row sums and column norms belong to x -> Wx; a table is read the other way round."""
    weight = Weight("W", (50, 50), rows_two_one=1.0)
    cover = term(one_linear(weight, proper=False), "W")
    # Without a sample: the 50 unit vectors, for inputs of l1 norm sqrt(50).
    atoms = covers.rows_two_one(1.0, 50, 50, domain=True).scaled(math.sqrt(50.0))
    assert cover.log_size(0.9) == pytest.approx(min(atoms.log_size(0.9), covers.dual_sudakov(1, 50, 50).log_size(0.9)))
    sparse = net.analyse(net.linear(net.tokens(50, 1.0, positions=2, l1=1.0), weight))
    assert term(sparse, "W").log_size(0.9) == pytest.approx(
        covers.rows_two_one(1.0, 50, 50).made_proper().log_size(0.9)
    )
    table = net.analyse(net.embedding(weight, positions=2))
    parts = [
        covers.volumetric(1.0, 2500),
        covers.dual_sudakov(1.0, 50, 50),
        covers.perceptron_matrix(1.0, 50, 50),
    ]
    assert term(table, "W").log_size(0.9) == pytest.approx(min(part.log_size(0.9) for part in parts))


def test_two_weights_may_not_share_a_name() -> None:
    x = net.tokens(2, 1.0, positions=2)
    graph = net.linear(net.linear(x, Weight("W", (2, 2), spectral=1)), Weight("W", (2, 2), spectral=2))
    with pytest.raises(InputError, match="one weight per name"):
        net.analyse(graph)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Weight("W", (2, 2)), "at least one norm bound"),
        (lambda: Weight("W", (2, 2), spectral=-1.0), "spectral of W"),
        (lambda: Weight("W", (2, 2), frobenius=math.nan), "frobenius of W"),
        (lambda: Weight("W", (0, 2), spectral=1.0), "shape of W"),
        (lambda: net.tokens(2, math.inf, positions=1), "a finite bound"),
        (lambda: net.tokens(2, math.nan, positions=1), "radius"),
        (lambda: net.tokens(2, 1.0, positions=0), "counts"),
        (lambda: net.layer_norm(net.tokens(2, 1.0, positions=1), eps=0.0), "a positive number"),
        (lambda: Head(value=Weight("V", (2, 2), spectral=1)), "either score, or both"),
        (lambda: Head(score=Weight("A", (2, 2), spectral=1), rotary=True), "separate query and key"),
        (lambda: Head(score=Weight("A", (2, 2), spectral=1), joint=1.0), "separate query and key"),
        (lambda: Head(query=Weight("Q", (2, 2), spectral=1)), "either score, or both"),
        (
            lambda: Head(
                query=Weight("Q", (2, 2), spectral=1), key=Weight("K", (2, 2), spectral=1), rotary=True, joint=1
            ),
            "no joint bound with rotations",
        ),
        (lambda: net.attention(net.tokens(2, 1.0, positions=1), []), "one head"),
        (lambda: net.attention(net.tokens(2, 1.0, positions=1), [PLAIN, PLAIN]), "several with output"),
        (
            lambda: net.analyse(net.add(net.tokens(2, 1.0, positions=3), net.tokens(2, 1.0, positions=2))),
            "equal shapes",
        ),
        (lambda: net.Activation("exp", math.inf), "finite Lipschitz"),
        (
            lambda: net.analyse(net.linear(net.tokens(3, 1.0, positions=1), Weight("W", (2, 2), spectral=1))),
            "shape of W",
        ),
        (
            lambda: net.analyse(net.add(net.tokens(3, 1.0, positions=1), net.tokens(2, 1.0, positions=1))),
            "equal shapes",
        ),
        (
            lambda: net.analyse(
                net.project(net.vocabulary(net.tokens(2, 1.0, positions=1), Weight("W", (9, 2), spectral=1)))
            ),
            "Only a loss",
        ),
        (lambda: net.analyse(net.tokens(2, 1.0, positions=1)).rademacher(10), "one scalar per sample"),
        (lambda: one_linear(Weight("W", (2, 2), spectral=1.0), samples=10).rademacher(11), "at most the 10 samples"),
    ],
)
def test_errors_say_what_was_wrong(build: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build()  # type: ignore[operator]


def test_a_loss_in_a_known_interval_has_half_its_length_as_range() -> None:
    z = net.vocabulary(net.tokens(2, 3.0, positions=1), Weight("W", (9, 2), max_row=1.0))
    assert net.analyse(net.loss(z, 2.0)).range.value == pytest.approx(6.0)
    assert net.analyse(net.loss(z, 2.0, bound=4.0)).range.value == pytest.approx(2.0)


@pytest.mark.parametrize("d", [4, 400])
def test_a_gain_is_covered_in_the_sup_metric_or_with_a_discount_in_the_euclidean_one(d: int) -> None:
    gain = Weight("g", (d, 1), l1=2.0, frobenius=0.8, max_row_distance=0.7, reference=Reference(2.0, max_row=1.0))
    graph = net.layer_norm(net.tokens(d, 1.0, positions=3), gain)
    cover, discount = term(net.analyse(graph), "g"), math.sqrt(1 - 1 / d)
    parts = [
        covers.volumetric(0.7, d),
        covers.dual_sudakov(0.8, d, 1).scaled(discount),
        covers.maurey(2.0, d).scaled(discount),
        covers.perceptron_vocabulary(0.8, 1, d),
    ]
    assert cover.domain
    for eps in SCALES:
        assert cover.log_size(eps) == pytest.approx(min(part.log_size(eps) for part in parts))


def test_a_vocabulary_head_is_covered_coordinate_by_coordinate() -> None:
    head = Weight("W", (1000, 4), frobenius=1.0)
    graph = net.loss(net.vocabulary(net.tokens(4, 1.0, positions=2), head), 2.0)
    cover = term(net.analyse(graph, samples=10), "W")
    assert cover.log_size(0.6) == pytest.approx(covers.perceptron_vocabulary(1.0, 20, 1000).log_size(0.6))


def test_a_bias_reads_a_constant_so_its_cover_holds_everywhere() -> None:
    shift = Weight("b", (2, 1), rows_two_one=1.0)
    cover = term(net.analyse(net.bias(net.tokens(2, 1.0, positions=2), shift)), "b")
    assert cover.domain


def test_every_operation_rounds_up() -> None:
    rng = np.random.default_rng(0)
    for ln_x, ln_y in [(-math.log(2), -math.log(2)), (700.0, 699.0), *rng.uniform(-3, 3, (200, 2)).tolist()]:
        x, y = net.Magnitude(ln_x), net.Magnitude(ln_y)
        with mpmath.workdps(40):
            assert (x + y).ln >= mpmath.log(mpmath.exp(ln_x) + mpmath.exp(ln_y))
            assert (x * y).ln >= mpmath.mpf(ln_x) + mpmath.mpf(ln_y)
            assert (x / y).ln >= mpmath.mpf(ln_x) - mpmath.mpf(ln_y)
            assert size(math.exp(ln_x)).ln >= mpmath.log(mpmath.mpf(math.exp(ln_x)))
            assert x.value >= mpmath.exp(ln_x) or x.value == math.inf
    z = net.loss(net.readout(net.pick(net.tokens(2, 1e3, positions=1)), Weight("w", (1, 2), spectral=1.0)), 1.0, 10.0)
    assert net.analyse(z).range.value >= 5.0
    assert net.analyse(z).rademacher(1) >= 5.0


def test_a_class_of_zero_functions_has_no_complexity() -> None:
    z = net.readout(net.tokens(2, 0.0, positions=1), Weight("w", (1, 2), spectral=1.0))
    assert net.analyse(z).rademacher(10) == 0.0


def test_magnitudes_beyond_floats_are_infinite_as_numbers_only() -> None:
    assert net.Magnitude(750.0).value == math.inf
    assert net.Magnitude(700.0).value == pytest.approx(math.exp(700.0))


def test_one_head_with_an_output_matrix_and_bias() -> None:
    x = net.tokens(2, 1.0, positions=3)
    out, shift = Weight("O", (3, 2), spectral=0.5), Weight("b", (3, 1), spectral=0.2)
    node = net.attention(x, PLAIN, output=out, output_bias=shift)
    analysis = net.analyse(node)
    assert analysis.sensitivity(x).value == pytest.approx(0.5 * 3.0)
    assert analysis.coefficients["b"].value == pytest.approx(1.0)
    assert analysis.signals[node].radius.value == pytest.approx(0.7)


def test_cross_attention_to_oneself_is_self_attention() -> None:
    x = net.tokens(2, 1.0, positions=3)
    itself, plain = net.attention(x, PLAIN, keys=x), net.attention(x, PLAIN)
    assert len(itself.parents) == 1
    assert net.analyse(itself).sensitivity(x) == net.analyse(plain).sensitivity(x)


def test_a_single_token_is_added_to_every_position() -> None:
    many, one = net.tokens(2, 1.0, positions=3, half_diameter=0.4), net.tokens(2, 0.5, positions=1)
    for node, positions in ((net.add(many, one), 3), (net.add(one, one), 1)):
        assert net.analyse(node).signals[node].positions == positions
    node = net.add(many, one)
    assert net.analyse(node).signals[node].half_diameter.value == pytest.approx(0.4)


@pytest.mark.parametrize("norm", [net.layer_norm, net.rms_norm])
def test_the_usual_eps_is_the_default(norm: object) -> None:
    x = net.tokens(2, 1.0, positions=1)
    assert net.analyse(norm(x)).sensitivity(x).value == pytest.approx(1e5**0.5)  # type: ignore[operator]
