"""Experiments: `papers` holds what the papers print, `designs` our own, `sweep` runs them; look up in `registry`."""
