"""A picture of a network: the size of the signals on the way, and how sensitive the output is to each of them."""

from __future__ import annotations

from matplotlib.figure import Figure

from certiformer.report.figure import PRINTED_COLOUR, SOUND_COLOURS
from certiformer.theory.networks.network import Composition


def network_figure(found: Composition) -> Figure:
    """log10 of radius and sensitivity, layer by layer."""
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    rows = found.layers
    places = range(len(rows))
    for key, label, colour in (
        ("log10_sensitivity", "sensitivity of the output to this signal", PRINTED_COLOUR),
        ("log10_radius", "radius of the signal", SOUND_COLOURS[0]),
        ("log10_half_diameter", "half-diameter of the signal", SOUND_COLOURS[1]),
    ):
        heights = [float("nan") if row[key] is None else row[key] for row in rows]
        axes.plot(places, heights, color=colour, lw=1.6, label=label)
    axes.set(title=found.network.name, xlabel="node, from the tokens to the output", ylabel="log10")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    return figure
