"""Which result of the papers speaks about which model, and with what inputs; the reason why not, otherwise."""

from __future__ import annotations

from certiformer.certification.bindings import arda, deora, li, mwigo, trauger
from certiformer.certification.bindings._application import Application as Application
from certiformer.certification.bindings._application import Binding as Binding

BINDINGS: dict[str, Binding] = {
    **trauger.BINDINGS,
    **mwigo.BINDINGS,
    **li.BINDINGS,
    **deora.BINDINGS,
    **arda.BINDINGS,
}
