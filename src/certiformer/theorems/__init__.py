"""Every numbered statement that bounds something, one file each, named as a reader says it. Found by walking; see `core.registry`."""
