"""Experiments: `papers` holds what the papers print, `designs` our own, `sweep` runs them; see `study_registry`."""
