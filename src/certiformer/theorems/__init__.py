"""Every numbered result, one file each, named as a reader says it. Found by walking; see `core.registry`."""
