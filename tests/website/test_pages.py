"""The pages of the site: made from the classes, with formulas, links that lead somewhere, and code that runs."""

import inspect
import json
import posixpath
import re
from pathlib import Path

import pytest

from certiformer.certificates import certificates
from certiformer.certification.verify import schema
from certiformer.theory.core import find, results
from website import certificates as certificate_pages
from website import commands, reference, report_json, staging
from website.curves import drawing
from website.formulas import mathml, typeset
from website.gallery import ORDER
from website.proofs import anchor, proof_of
from website.results import result_page
from website.series import natural_input, series
from website.settings import navigation
from website.verdicts import counterexample, counterexample_code

ROOT = Path(__file__).parents[2]
REFUTED = {
    "id": "trauger.lem3.1",
    "version": "printed",
    "verdict": "refuted",
    "attained": 0.25,
    "bound": 0.0,
    "ratio": "inf",
    "attacks": 1000,
    "why": "one point",
    "counterexample": {"attack": "trauger.lem3.1", "data": {"atoms": [[1.0]], "weights": [0.5], "k": 1}},
}


def test_every_result_has_both_statements_in_mathematics():
    for id, result in results().items():
        story = result.sections
        assert story.sound_latex, f"{id}: write the sound statement as `.. math::` under `Sound:`"
        assert story.printed_latex or not result.has_printed(), id
        for latex in filter(None, (story.printed_latex, story.sound_latex)):
            found = mathml(latex)
            assert found.startswith("<math"), id
            assert "\\" not in re.sub(r'alttext="[^"]*"', "", found), f"{id}: {latex} has a word MathML does not know"


def test_the_page_of_a_false_result_tells_everything():
    result = find("trauger.lem3.1")
    page = result_page(result, {result.id: {"printed": REFUTED}}, ROOT)
    for part in (
        "## As printed",
        "## What is wrong",
        "counterexample that runs",
        "## What holds",
        "## Printed and sound",
        "## Move the inputs",
    ):
        assert part in page
    assert "<math" in page
    assert 'class="status false"' in page
    assert "attained 0.25, bound 0: refuted" in page
    assert "../proofs/trauger.md#lemma-31" in page
    assert f"$ {result.example}" in page


def test_a_page_has_one_head_whatever_its_weight():
    page = result_page(find("trauger.lem3.1"), {}, ROOT)
    weighted = staging.weighted("results/trauger.lem3.1.md", page)
    assert weighted.startswith("---\nsearch:\n  boost: ")
    assert weighted.count("---\n") == page.count("---\n") == 2
    assert staging.weighted("gates.md", "# Gates\n").endswith("---\n\n# Gates\n")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("C/eps^2", "C/ε<sup>2</sup>"),
        ("B_{W_c}", "B<sub>W<sub>c</sub></sub>"),
        ("2 Bx^2", "2 Bx<sup>2</sup>"),
        ("docs/a_b.md", "docs/a_b.md"),
    ],
)
def test_scripts_within_scripts_and_behind_strokes(written, shown):
    assert typeset(written, greek=True) == shown


def test_a_counterexample_that_refutes_nothing_ends_the_build():
    document = {
        **REFUTED,
        "counterexample": {"attack": "trauger.lem3.1", "data": {"atoms": [[1.0]], "weights": [1.0], "k": 1}},
    }
    with pytest.raises(RuntimeError, match="does not refute"):
        counterexample(document)
    assert "recheck" in counterexample_code({"id": "x"})


def test_proofs_are_found_by_their_headings():
    assert proof_of(find("trauger.thm4.1"), ROOT).heading.startswith("Theorem 4.1")
    assert proof_of(find("trauger.lem3.5"), ROOT).heading.startswith("Lemmas 3.3 to 3.6")
    assert proof_of(find("trauger.corD.0.2"), ROOT).heading.startswith("Theorem 4.1 and")
    assert proof_of(find("arda.rem3"), ROOT).heading.startswith("Softmax")
    assert anchor("Softmax (`arda.fact1`, `arda.rem3`)") == "softmax-ardafact1-ardarem3"
    for result in results().values():
        assert (ROOT / "docs" / proof_of(result, ROOT).page).exists()


def test_a_drawing_has_both_sides_and_no_number_out_of_range():
    found = series(find("trauger.lem3.6"))
    assert found.input == natural_input(find("trauger.lem3.6")).name
    picture = drawing(found, "covering number")
    assert 'class="printed colour0"' in picture
    assert 'class="sound colour0' in picture
    assert "nan" not in picture
    numbers = [float(x) for points in re.findall(r'points="([^"]+)"', picture) for x in re.split(r"[ ,]", points)]
    assert min(numbers) >= 0
    assert max(numbers) <= 720


def test_every_certificate_says_what_it_claims_and_what_not():
    for kind in certificates().values():
        claims, denies = certificate_pages.claimed(kind)
        assert claims.startswith("Guarantees")
        assert all(sentence not in claims for sentence in denies)
    page = certificate_pages.certificate_page(certificates()["holdout"], repetitions=40)
    assert "breaks a rule" in page
    assert "of 40" in page


def test_no_public_function_has_more_than_twelve_parameters():
    found = {}
    for package, _ in reference.PACKAGES:
        for each in reference.names_of(package):
            for name, value in [
                (each.name, each.value),
                *(vars(each.value).items() if inspect.isclass(each.value) else ()),
            ]:
                if inspect.isfunction(value) and not name.startswith("_"):
                    named = [one for one in inspect.signature(value).parameters.values() if one.kind != one.VAR_KEYWORD]
                    found[each.module, each.name, name] = len(named)
    assert len(found) > 300
    assert {where: count for where, count in found.items() if count > 12} == {}


def test_every_public_name_is_documented():
    assert reference.undocumented() == []


def test_signatures_are_shown_as_they_are_typed():
    page = reference.reference_page("certiformer.evaluation", "losses")
    assert "def mean_limits(" in page
    assert "delta: float" in page
    assert "-&gt; Limits" in page


def test_the_page_of_commands_has_every_option():
    page = commands.commands_page()
    options = json.loads((ROOT / "tests" / "surface" / "surface.json").read_text())["verbs"]
    for verb, names in options.items():
        assert f"## `certiformer {verb}`" in page, verb
        assert all(name in page for name in names if name.startswith("--")), verb


def test_every_field_of_a_report_is_on_its_page():
    page = report_json.schema_page()
    for entry in (schema(), *schema()["$defs"].values()):
        for name in entry.get("properties", {}):
            assert re.search(rf"<code>{name}</code></td><td>.+?</td><td>\w", page), f"{name} has no meaning"


def test_mathematics_in_prose_is_set():
    set_ = typeset("||W_c^T||_{1,inf} <= B_x and N^(-1/2), 10^7; not `a_b`, mean_loss, risk_01 or [d_m](d_m.md)")
    norm = "‖W<sub>c</sub><sup>T</sup>‖<sub>1,∞</sub> ≤ B<sub>x</sub>"
    assert set_.startswith(f"{norm} and N<sup>−1/2</sup>, 10<sup>7</sup>; not `a_b`, mean_loss, risk_01")
    assert "](d_m.md)" in set_
    assert typeset("## W_QK") == "## W_QK"


def test_the_navigation_has_every_page_written_by_hand_and_no_other():
    def leaves(entry):
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values() if isinstance(entry, dict) else entry:
                yield from leaves(inner)

    listed = set(leaves(navigation([])))
    by_hand = set(staging.hand_written(ROOT))
    made = ("results/", "certificates/", "reference/", "gallery/", "tutorials/", "sliders.md")
    assert by_hand - listed == {"results.md"}, (
        "the table of results is linked from pages; the rest belongs into the list"
    )
    assert {page for page in listed - by_hand if not page.startswith(made)} == set()


def test_links_of_pages_written_by_hand_stay_inside_the_site():
    pages = staging.hand_written(ROOT) | {f"tutorials/{name}.md": "" for name in ORDER}
    for path, text in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", staging.relinked(path, text, pages, ROOT)):
            name = target.partition("#")[0]
            if "://" not in target and name and not name.endswith(staging.COPIED):
                assert posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) in pages, (
                    f"{path} links to {target}"
                )
