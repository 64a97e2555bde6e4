"""`certify` with what belongs to the model, and what is declared, written as options."""

import dataclasses

import certiformer

OWN = ("heldout", "train", "data", "predictions", "evidence", "by", "only", "delta", "confidence")
OF_THE_MODEL = tuple(one.name for one in dataclasses.fields(certiformer.Subject) if one.name != "model")


def certified(given, **options):
    """The report on predictions; options that are no parameter of `certify` are declared."""
    return asked(predictions=given, **options)


def asked(model=None, *, fit=None, **options):
    """The report on a model, a learner or predictions."""
    own = {name: options.pop(name) for name in OWN if name in options}
    about = {name: options.pop(name) for name in OF_THE_MODEL if name in options}
    if fit is not None:
        own["fit"] = certiformer.Subject(fit, **about) if about else fit
    elif about:
        model = certiformer.Subject(model, **about)
    return certiformer.certify(model, declaration=options, **own)
