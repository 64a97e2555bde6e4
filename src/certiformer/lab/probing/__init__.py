"""A frozen encoder and a head, from labelled texts to certificates."""
