"""The settings of MkDocs: no font, script or icon from elsewhere; light and dark; works from a file on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from certiformer.certificates import certificates
from certiformer.theory.core import Result, papers, results
from website.gallery import ORDER
from website.reference import PACKAGES

Navigation = Sequence[Mapping[str, Any]]


def settings(navigation: Navigation, source: str, target: str) -> dict[str, Any]:
    """Written as JSON, which is YAML too."""
    return {
        "site_name": "certiformer",
        "site_description": "Error limits for your model, and checked generalization bounds for Transformers",
        "docs_dir": source,
        "site_dir": target,
        "use_directory_urls": False,
        "nav": list(navigation),
        "theme": {
            "name": "material",
            "font": False,
            "features": [
                "navigation.indexes",
                "navigation.prune",
                "navigation.top",
                "content.code.copy",
                "toc.follow",
                "search.highlight",
            ],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo"},
            ],
        },
        "plugins": [{"search": {"separator": r"[\s\-,:;!=\[\]()/]+|\.(?!\d)"}}, "offline"],
        "extra": {"generator": False, "polyfills": ["assets/iframe-worker.js"]},
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
    """The table of contents, by what a reader wants: learn, do, look up, understand."""
    return [
        {"Home": "index.md"},
        {"Install": "install.md"},
        {
            "Tutorials": [
                "tutorials/index.md",
                *(f"tutorials/{name}.md" for name in ORDER),
                {"Gallery": ["gallery/index.md", *gallery]},
            ]
        },
        {
            "How to": [
                {"Gate a pipeline": "how-to/gate-a-pipeline.md"},
                {"Pass, fail or undecided": "gates.md"},
                {"Groups and repeats": "how-to/groups-and-repeats.md"},
                {"Regression, multi-label": "how-to/regression-and-multi-label.md"},
                {"Any model or function": "how-to/any-function.md"},
                {"Use a held-out set again": "how-to/adaptive-use.md"},
                {"Compare, watch, abstain": "evaluation.md"},
                {"Train and certify": "recipes.md"},
                {"Bounds along training": "bounds-along-training.md"},
                {"Train a language model": "language-model.md"},
                {"Bound an architecture": "compose.md"},
                {"Inspect a checkpoint": "checkpoints.md"},
                {"Several machines": "how-to/clusters.md"},
                {"Add a bound": "add-a-bound.md"},
                {"Add a certificate": "add-a-certificate.md"},
                {"Add an experiment": "add-an-experiment.md"},
            ]
        },
        {
            "Papers": [
                {"Experiments": "reproduction.md"},
                *({papers()[key].short: f"papers/{key}.md"} for key in PAPERS),
                {"Every item": "papers/items.md"},
                {"Published runs": "reproduction/runs/README.md"},
            ]
        },
        {
            "Results": [
                "results/index.md",
                {"Sliders": "sliders.md"},
                *(
                    {
                        f"Our own: {key}" if key in OUR_OWN else paper.short: [
                            {named(result): f"results/{result.id}.md"}
                            for result in results().values()
                            if result.paper.key == key
                        ]
                    }
                    for key, paper in papers().items()
                ),
                {"Proofs": [{title: f"proofs/{name}.md"} for name, title in PROOFS.items()]},
            ]
        },
        {
            "Reference": [
                {"Commands, exit codes": "reference/commands.md"},
                {"Input files and options": "sample.md"},
                {"report.json": "reference/report-json.md"},
                {"Certificates": "certificates.md"},
                {
                    "Each certificate": [
                        "certificates/index.md",
                        *({results()[id].title: f"certificates/{id}.md"} for id in certificates()),
                    ]
                },
                {"Python": ["reference/index.md", *({package: f"reference/{package}.md"} for package, _ in PACKAGES)]},
                {"Glossary": "glossary.md"},
                {"Speed": "benchmarks.md"},
                {"Changelog": "changelog.md"},
                {"Contributing": "contributing.md"},
            ]
        },
        {
            "Explanation": [
                {"What a certificate is": "what-a-certificate-is.md"},
                {"Why bounds are vacuous": "vacuous.md"},
                {"What is claimed": "claims.md"},
                {"Claimed and actual": "claimed-and-actual.md"},
                {"How often claims are false": "coverage.md"},
                {"How verdicts are made": "verdicts.md"},
                {"The audit": "audit.md"},
                {"The demo": "demo.md"},
                {"The proof kernel": "proof-kernel.md"},
                {"Security": "security.md"},
            ]
        },
    ]


def named(result: type[Result]) -> str:
    """A result in the navigation: its place in the paper and its title."""
    return result.title if result.paper.key in OUR_OWN else f"{result.place}: {result.title}"


OUR_OWN = ("toolbox", "certificates")
PAPERS = ("mwigo", "trauger", "deora", "arda", "li")
PROOFS = {
    "trauger": "Trauger & Tewari",
    "mwigo": "Mwigo & Dasgupta",
    "deora": "Deora et al.",
    "arda": "Arda et al.",
    "li": "Li et al.",
    "li-covers": "Li et al.: covers",
    "certificates": "Certificates",
    "compression": "Compression and hold-out ledgers",
    "coordinate-covers": "Covers in coordinates",
    "covers": "Covering numbers",
    "chaining": "Chaining",
    "layers": "Layers",
    "more-layers": "More layers",
    "tails": "Tails",
    "evaluation": "Evaluation",
    "gates": "Gates",
}
"""Pages of proofs and what they are called."""
