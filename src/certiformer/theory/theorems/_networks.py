"""`networks`, imported when a result is first composed: results are listed and explained without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certiformer.theory.core.lazy import Lazy

if TYPE_CHECKING:
    from certiformer.theory import networks as networks
else:
    networks = Lazy("certiformer.theory.networks")
