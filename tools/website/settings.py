"""The settings of MkDocs: no font, script or icon from elsewhere; light and dark; works from a file on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from certiformer.certificates import certificates
from certiformer.theory.core import papers, results
from website.reference import PACKAGES

Navigation = Sequence[Mapping[str, Any]]


def settings(navigation: Navigation, source: str, target: str) -> dict[str, Any]:
    """Written as JSON, which is YAML too."""
    return {
        "site_name": "certiformer",
        "site_description": "The theory of Transformer generalization as numbers a person can rely on",
        "docs_dir": source,
        "site_dir": target,
        "use_directory_urls": False,
        "nav": list(navigation),
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.indexes", "navigation.prune", "navigation.top", "content.code.copy", "toc.follow"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo"},
            ],
        },
        "plugins": [],
        "extra": {"generator": False},
        "extra_css": ["assets/site.css"],
        "markdown_extensions": [
            "admonition",
            "attr_list",
            "md_in_html",
            "tables",
            {"toc": {"permalink": True}},
            "pymdownx.details",
            "pymdownx.highlight",
            "pymdownx.superfences",
        ],
        "validation": {
            "links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"},
            "nav": {"omitted_files": "info", "not_found": "warn"},
        },
    }


def navigation(gallery: Sequence[str]) -> list[dict[str, Any]]:
    """The table of contents."""
    return [
        {"Home": "index.md"},
        {"Find": "find.md"},
        {"Install": "install.md"},
        {
            "Five minutes": [
                {"for the theorist": "tours/theorist.md"},
                {"for the practitioner": "tours/practitioner.md"},
                {"for the student": "tours/student.md"},
                {"for the contributor": "tours/contributor.md"},
                {"a longer tour": "guide.md"},
            ]
        },
        {"Gallery": ["gallery/index.md", *gallery]},
        {"Sliders": "sliders.md"},
        {
            "Results": [
                "results/index.md",
                *(
                    {
                        paper.short if key not in ("toolbox", "certificates") else f"Our own: {key}": [
                            {f"{result.id}": f"results/{result.id}.md"}
                            for result in results().values()
                            if result.paper.key == key
                        ]
                    }
                    for key, paper in papers().items()
                ),
                {"Proofs": [{name: f"proofs/{name}.md"} for name in PROOFS]},
            ]
        },
        {
            "Certificates": [
                "certificates/index.md",
                {"What is claimed": "certificates.md"},
                *({id: f"certificates/{id}.md"} for id in certificates()),
                {"The demo": "demo.md"},
                {"Recipes": "recipes.md"},
                {"Evaluation": "evaluation.md"},
                {"Gates": "gates.md"},
                {"What a Sample records": "sample.md"},
                {"Security": "security.md"},
            ]
        },
        {"Networks": [{"Compose": "compose.md"}, {"Checkpoints": "checkpoints.md"}]},
        {
            "Truth": [
                {"CLAIMS": "CLAIMS.md"},
                {"LIMITATIONS": "LIMITATIONS.md"},
                {"The audit": "audit.md"},
                {"The proof kernel": "proof-kernel.md"},
                {"Status": "status.md"},
            ]
        },
        {
            "Reproduction": [
                {"Every item of the papers": "papers/items.md"},
                {"The papers' experiments": "reproduction.md"},
                {"Nine words": "verdicts.md"},
                {"Readings of Mwigo & Dasgupta": "mwigo-readings.md"},
                {"Published runs": "reproduction/runs/README.md"},
            ]
        },
        {
            "Reference": [
                "reference/index.md",
                *({package: f"reference/{package}.md"} for package, _ in PACKAGES),
            ]
        },
        {
            "Contribute": [
                {"Contributing": "contributing.md"},
                {"Add a bound": "add-a-bound.md"},
                {"Add a certificate": "add-a-certificate.md"},
                {"Add an experiment": "add-an-experiment.md"},
                {"Speed": "benchmarks.md"},
                {"Changelog": "changelog.md"},
            ]
        },
    ]


PROOFS = (
    "trauger",
    "mwigo",
    "deora",
    "arda",
    "li",
    "certificates",
    "compression",
    "coordinate-covers",
    "covers",
    "chaining",
    "layers",
    "tails",
    "evaluation",
)
