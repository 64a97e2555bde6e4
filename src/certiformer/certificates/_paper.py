"""Where the certificates come from."""

from certiformer.theory.core import Paper

CERTIFICATES = Paper("certificates", "The certiformer authors", "Certificates that are not vacuous", 2026)
