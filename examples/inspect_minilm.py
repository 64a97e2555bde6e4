"""What theory says of MiniLM: norms, sensitivities per layer, and the number of examples a covering bound would need.

python examples/inspect_minilm.py
"""

from __future__ import annotations

from rich.console import Console

from certiformer.checkpoints import Options, inspect
from certiformer.report.checkpoints import inspection_table
from material import fetch


def main() -> None:
    # The file has a pooler that sentence embeddings do not use.
    document = inspect(fetch("minilm"), Options(assume_unused=("pooler.*",)))
    Console().print(inspection_table(document))


if __name__ == "__main__":
    main()
