"""Certificates whose files have not moved to `certiformer.certificates` yet."""

from certiformer.certificates._paper import CERTIFICATES as CERTIFICATES
