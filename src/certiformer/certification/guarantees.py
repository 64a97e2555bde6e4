"""A paragraph per certificate: what it guarantees, and what it does not."""

from __future__ import annotations

GUARANTEES = {
    "holdout": (
        "Guarantees that {subject} errs on at most this fraction of new examples from the distribution the held-out "
        "examples were drawn from. It does not guarantee anything about other distributions, about single examples, or "
        "if a held-out example had a part in training or selection. It is the yardstick: a certificate that is larger "
        "only adds that it also used these examples for something else."
    ),
    "betting": (
        "Guarantees the expected cross-entropy of {subject} after its probabilities are smoothed, p' = (1-a) p + a/K "
        "with the a shown; that smoothed predictor is what has to be deployed. It does not bound the unsmoothed "
        "cross-entropy, which may be infinite, and it needs independent examples: tokens of one text are not."
    ),
    "occam": (
        "Guarantees the error rate of {subject}, whose weights are stored in few bits under a prior that was fixed "
        "before the data were read. It uses all examples for training and for the certificate, and any search over the "
        "predictors of the prior is paid for. It does not speak about a network with other weights, not even about the "
        "same one before rounding."
    ),
    "pacbayes.gibbs": (
        "Guarantees the error rate of {subject}, averaged over the draws of its weights: each prediction is to be made "
        "with freshly drawn weights. It does not bound the error of the mean weights or of any single draw."
    ),
    "pacbayes.single": (
        "Guarantees the error rate of {subject}, drawn once from the posterior with the recorded seed. It does not "
        "hold for a network drawn again, or for the best of several draws, unless they are counted. If posterior and "
        "prior are equal it is a hold-out bound with a worse constant."
    ),
    "margin": (
        "Guarantees the error rate of {subject}, from a cover of its class of functions over the whole input domain "
        "and the examples with a small margin. All examples serve for training and for the certificate; radii, "
        "margins and the domain are on grids that were fixed in advance and are paid for. It is the bridge from the "
        "papers' covering numbers to a number that can say something."
    ),
    "disagreement": (
        "Guarantees the error rate of {subject} through a certified sibling: it errs at most as often as the sibling "
        "does, plus how often the two disagree. The unlabelled examples must be new to both. It says nothing about "
        "which of the two is right where they disagree."
    ),
    "progressive": (
        "Guarantees the average error rate of the iterates of one training pass, that is the error rate of an iterate "
        "drawn at random. It does not bound the last iterate, nor averaged weights; those may be better or worse."
    ),
}

OF_QUANTITY = {
    "gap": (
        "Bounds how much the error rate on new examples can exceed the training ramp loss shown, uniformly over the "
        "class of networks of this architecture with radii up to the rounded ones. It does not look at the training "
        "algorithm. Beyond the trivial value 1 it says nothing."
    ),
    "risk_01": (
        "Bounds the error rate on new examples by the training ramp loss shown plus a term for the whole class of "
        "networks near the initial weights. Beyond the trivial value it says nothing."
    ),
    "excess_risk": (
        "Bounds how much worse than the best possible predictor an exact empirical risk minimiser is on average over "
        "training sets. It does not speak about a given model that was trained by descent."
    ),
    "training_loss": (
        "Bounds the training loss that the training algorithm reaches. It says nothing about new examples."
    ),
}

REASONS = {
    "holdout": "no held-out examples were given",
    "betting": "it needs probabilities or logits on held-out examples",
    "occam": (
        "it needs a predictor coded under a prior fixed before the data; weights from ordinary training have no short "
        "code. The demo shows how to train one; frozen features with a linear head get one here"
    ),
    "pacbayes.gibbs": (
        "it needs a prior that is independent of the certified examples and a posterior over weights; the demo shows "
        "how, and frozen features with a linear head get one here"
    ),
    "pacbayes.single": "it needs a posterior over weights and a single draw from it with a recorded seed",
    "margin": (
        "it needs a cover of the class over the whole input domain in few coordinates; no recipe knows one for this "
        "model"
    ),
    "disagreement": "it needs a second model and unlabelled examples that are new to both",
    "progressive": "it needs the losses of one training pass, each example scored before it was learnt",
}


def guarantee(id: str, subject: str, bounds: str) -> str:
    """The paragraph for a certificate, or for a paper's result by what it bounds."""
    return GUARANTEES.get(id, OF_QUANTITY.get(bounds, "")).format(subject=subject)
