"""The papers' models, data, training and measurement, and what trains for a certificate. Needs the extra [train]."""
