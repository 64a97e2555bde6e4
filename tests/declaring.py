"""`certify(predictions=...)` with what is declared written as options."""

import certiformer

OWN = ("only", "delta", "confidence")


def certified(given, **options):
    """The report on predictions; options that are no parameter of `certify` are declared."""
    own = {name: options.pop(name) for name in OWN if name in options}
    return certiformer.certify(predictions=given, declaration=options, **own)
