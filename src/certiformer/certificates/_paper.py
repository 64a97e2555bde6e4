"""Where the certificates come from."""

from certiformer.theory.core import Paper, Quantity, Result, Status

CERTIFICATES = Paper("certificates", "The certiformer authors", "Certificates that are not vacuous", 2026)


class CertificateBound(Result):
    """The theorem behind a certificate: a risk, in this package's own words."""

    paper = CERTIFICATES
    bounds, status = Quantity.RISK, Status.NONE
