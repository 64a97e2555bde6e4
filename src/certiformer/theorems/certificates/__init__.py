"""Certificates that say something at laptop size; `certiformer certify` reports them next to the papers' bounds."""

from certiformer.core import Paper

CERTIFICATES = Paper("certificates", "The certiformer authors", "Certificates that are not vacuous", 2026)
