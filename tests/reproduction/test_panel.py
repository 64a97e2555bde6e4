"""Figures as data: legends that hide no curve, and curves that are not there."""

import itertools
import math

import pytest

from certiformer.reproduction.panel import Panel, Plot, Series

MEASURED = Series("measured: slope -0.50 [-0.60, -0.40]", [1, 10], [1.0, 0.3], [0.9, 0.2], [1.1, 0.4])
PRINTED = Series.theory("printed", {1: 2.0, 10: 0.2}, printed=True)
SOUND = Series.theory("sound", {1: 4.0, 10: 1.3})


def legends(plot):
    plot.figure.draw_without_rendering()
    return [axes.get_legend() for axes in plot.figure.axes]


def test_many_lines_stand_above_the_curves_and_few_among_them():
    three, one = Panel("n", "risk", [MEASURED, PRINTED, SOUND], log="xy"), Panel("n", "risk", [MEASURED], log="xy")
    tall = Plot([three, Panel("n", "risk", [Series("other", [1, 10], [1.0, 0.3])], "a title", "xy")], "")
    for axes, legend in zip(tall.figure.axes, legends(tall), strict=True):
        assert legend.get_window_extent().y0 >= axes.get_window_extent().y1 - 2.0
    inside = Plot([one, Panel("n", "risk", [PRINTED], log="xy")], "")
    (legend, _) = legends(inside)
    assert legend.get_window_extent().y1 <= inside.figure.axes[0].get_window_extent().y1
    assert tall.figure.get_figheight() > inside.figure.get_figheight()


def test_equal_names_share_one_legend():
    plot = Plot([Panel("n", "a", [MEASURED, PRINTED]), Panel("n", "b", [MEASURED, PRINTED])], "")
    assert legends(plot) == [None, None]
    (shared,) = plot.figure.legends
    assert [text.get_text() for text in shared.get_texts()] == [MEASURED.label, PRINTED.label]


def test_panels_with_some_of_the_names_share_it_too_where_colours_agree():
    full = Panel("n", "a", [MEASURED, SOUND, PRINTED])
    plot = Plot([Panel("n", "b", [MEASURED, PRINTED]), full], "")
    assert legends(plot) == [None, None]
    assert [text.get_text() for text in plot.figure.legends[0].get_texts()] == [MEASURED.label, "sound", "printed"]
    other = Series("other", [1, 10], [1.0, 1.0])
    apart = Plot([Panel("n", "a", [other, MEASURED]), Panel("n", "b", [MEASURED])], "")
    assert None not in legends(apart)


def test_formulas_are_typeset():
    named = Series("γ_*, M^(2-b), X_QK^T at 2^24", [1, 10], [1.0, 2.0])
    (legend,) = legends(Plot([Panel("width d_m", "risk", [named])], ""))
    (text,) = legend.get_texts()
    assert text.get_text() == r"γ$_{*}$, M$^{2-b}$, X$_{\mathrm{QK}}^{T}$ at 2$^{24}$"


def test_what_cannot_be_drawn_has_no_name_in_the_legend():
    negative = Series.theory("printed", {1: -1.0, 10: math.inf}, printed=True)
    (legend,) = legends(Plot([Panel("n", "gap", [MEASURED, negative], log="y")], ""))
    assert [text.get_text() for text in legend.get_texts()] == [MEASURED.label]
    (both,) = legends(Plot([Panel("n", "gap", [MEASURED, negative])], ""))
    assert len(both.get_texts()) == 2


def test_a_curve_keeps_its_colour_where_another_one_is_missing():
    absent = Series("H", [1, 10], [math.nan, math.nan])
    full, part = Panel("n", "a", [MEASURED, SOUND, PRINTED]), Panel("n", "b", [absent, MEASURED])
    plot = Plot([Panel("n", "a", [Series("H", [1, 10], [1.0, 1.0]), MEASURED]), part, full], "")
    colours = [
        {line.get_label(): line.get_color() for line in axes.get_lines()}[MEASURED.label] for axes in plot.figure.axes
    ]
    assert colours[0] == colours[1] != colours[2]


def test_ticks_whose_names_would_touch_have_none():
    sizes = [256, 512, 1000, 1024, 10**6]
    plot = Plot([Panel("n", "ratio", [Series("", sizes, [1.0] * 5)], log="xy")], "")
    plot.figure.draw_without_rendering()
    (axes,) = plot.figure.axes
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    assert {label.get_text() for label in labels} >= {"1,024", "$10^{6}$"}
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_a_panel_without_runs_says_so():
    plot = Plot([Panel("n", "risk", [], "clipped", "xy"), Panel("n", "risk", [MEASURED], log="xy")], "")
    empty, drawn = plot.figure.axes
    assert [text.get_text() for text in empty.texts] == ["no runs yet"]
    assert not drawn.texts


def test_the_band_of_a_mean_on_a_logarithmic_axis_is_that_of_its_logarithm():
    """Student's interval cannot fall through the axis; another one that is not positive reaches its bottom."""
    student = Series("measured", [1, 10], [2.0, 1.0], [-1.0, 0.5], [5.0, 1.5])
    other = Series("bootstrapped", [1, 10], [2.0, 1.0], [-1.0, 0.5], [9.0, 2.0])
    unknown = Series("no interval", [1, 10], [2.0, 1.0], [-math.inf, -math.inf], [math.inf, math.inf])
    for series, expected in ((student, 2.0 * math.exp(-1.5)), (other, 1e-3), (unknown, 2.0)):
        plot = Plot([Panel("n", "gap", [series], log="y")], "")
        plot.figure.draw_without_rendering()
        (axes,) = plot.figure.axes
        (band,) = axes.collections
        lowest = min(y for x, y in band.get_paths()[0].vertices if x == 1.0)
        assert lowest == pytest.approx(expected)
        assert axes.get_ylim()[0] >= 0.01


def test_panels_of_a_row_share_an_axis_where_they_are_compared():
    small, large = Series("a", [1, 2], [0.1, 0.2]), Series("b", [1, 2], [1.0, 2.0])
    plot = Plot([Panel("n", "gap", [small]), Panel("n", "gap", [large])], "", shared=True)
    left, right = plot.figure.axes
    assert left.get_ylim() == right.get_ylim()


def test_theories_of_one_side_have_dashes_of_their_own():
    others = [Series.theory(f"sound {i}", {1: 1.0 + i, 10: 1.0}) for i in range(3)]
    plot = Plot([Panel("n", "risk", [SOUND, *others, PRINTED], log="xy")], "")
    lines = plot.figure.axes[0].get_lines()
    assert len({(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}) == 5


def test_a_short_logarithmic_axis_has_several_names():
    plot = Plot([Panel("epoch", "loss", [Series("runs", [50, 90, 200], [0.075, 0.1, 0.16])], log="xy")], "")
    plot.figure.draw_without_rendering()
    (axes,) = plot.figure.axes
    low, high = axes.get_ylim()
    inside = [t for t in axes.yaxis.get_major_ticks() if low <= t.get_loc() <= high and t.label1.get_text()]
    assert len(inside) >= 2
