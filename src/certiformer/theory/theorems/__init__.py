"""Every numbered statement that bounds something, one file each, named as a reader says it; see `core.registry`."""
