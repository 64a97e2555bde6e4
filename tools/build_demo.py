"""Train everything that `certiformer demo` needs and store it with the package (a few minutes on two cores)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from certiformer.certification.split import configuration_hash
from certiformer.lab.recipes import mnist

PLACE = Path(mnist.__file__).parent / "data" / "mnist_demo.safetensors"


def main() -> None:
    settings = mnist.Settings()
    trained = mnist.train(settings, mnist.SHIPPED_SEED)
    digest = np.frombuffer(configuration_hash(asdict(settings)).encode(), dtype=np.uint8)
    save_file({**trained, "settings": digest}, PLACE)
    print(f"wrote {PLACE} ({PLACE.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
