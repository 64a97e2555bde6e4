"""A spam filter with a guarantee: SpamAssassin, a frozen MiniLM, a linear head.

python examples/certify_a_spam_filter.py OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from certiformer.lab.probing.probe import predict, probe
from material import fetch


def main(out: Path) -> None:
    encoder = fetch("minilm")
    found = probe(encoder, fetch("spam"), most=4000, delta=0.05, repeats="group")
    page, _ = found.write(out)
    sys.stdout.write(f"{found.report.headline}\n")
    for row in found.report.statements:
        if row.value is not None and row.version == "sound":
            sys.stdout.write(f"  {row.id:20s} {row.value:.4f}  {row.subject}\n")
    mails = out / "mails.csv"
    mails.write_text(
        "text\n"
        "You have won a free prize! Click here now\n"
        "Re: build fails. I tried your patch and the test still fails on my machine; which version do you use?\n"
    )
    answers = predict(encoder, out / "predictor-holdout.safetensors", mails)
    sys.stdout.write(f"two new mails: {', '.join(answers)}\nsee {page}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("out"))
