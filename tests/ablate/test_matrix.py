"""A matrix says what each variant changes; every mistake in it is one sentence."""

from dataclasses import replace
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.ablate.matrix import bundled_matrices, choose_variants, load_matrix, plan_variants, scale_steps
from cmi.reward.train.config import TrainConfig, load_config

TWO_STAGES = """
reference = "all"

[variants.all]

[variants.quarter]
train.0.fraction = 0.25
steps = "0.25x"
optimizer.lr = "0.5x"

[variants.experts-linear]
like = "experts"
loss.mapping = "linear"

[variants.experts]
after = "all"
train = [{ratings = "ratings.jsonl"}]
loss.label_smoothing = 0.0

[variants.experts-fresh]
like = "experts"
after = ""
"""


@pytest.fixture
def plan(base, tmp_path):
    def plan(text: str, *, of: TrainConfig | None = None) -> dict:
        path = tmp_path / "matrix.toml"
        path.write_text(text)
        matrix, folder = load_matrix(str(path))
        variants = plan_variants(of or load_config(str(base)), matrix, path.name, folder, Path("runs"))
        return {variant.name: variant for variant in variants}

    return plan


def test_a_variant_differs_in_what_it_states(plan, base, votes, tmp_path):
    stated = load_config(str(base))
    found = plan(TWO_STAGES)
    assert found["all"].config == stated
    quarter = found["quarter"].config
    assert (quarter.steps, quarter.optimizer.lr) == (2, stated.optimizer.lr / 2)
    assert quarter.data == (replace(stated.data[0], fraction=0.25),)
    experts, linear, fresh = (found[name] for name in ("experts", "experts-linear", "experts-fresh"))
    assert (experts.after, experts.config.model.checkpoint, experts.config.model.head) == ("all", "runs/all", "keep")
    assert experts.config.data[0].ratings == tmp_path / "ratings.jsonl"
    assert linear.config == replace(experts.config, loss=replace(experts.config.loss, mapping="linear"))
    assert linear.after == "all"
    assert (fresh.after, fresh.config.model) == ("", stated.model)
    assert fresh.config.data == experts.config.data
    assert linear.changes == "as experts, loss.mapping = linear"
    assert list(found).index("all") < list(found).index("experts") < list(found).index("experts-linear")


def test_only_what_is_named_is_chosen_with_what_it_needs(plan):
    variants = list(plan(TWO_STAGES).values())
    assert [one.name for one in choose_variants(variants, ["experts-linear"], "quarter")] == [
        *("all", "quarter", "experts-linear")
    ]
    assert choose_variants(variants, [], "all") == variants
    with pytest.raises(InputError, match=r"no variant is called 'expert'; did you mean 'experts'\? There are all, "):
        choose_variants(variants, ["expert"], "all")


def test_fewer_steps_are_fewer_of_everything(plan):
    config = replace(plan(TWO_STAGES)["all"].config, steps=1000, validate_every=100)
    config = scale_steps(replace(config, optimizer=replace(config.optimizer, warmup=50)), 0.1)
    assert (config.steps, config.validate_every, config.optimizer.warmup) == (100, 10, 5)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("loss.maping = 'none'", "variant 'x': 'loss.maping' is not known; did you mean 'mapping'? Known fields: "),
        ("loss.mapping = 'log'", "variant 'x': 'loss.mapping' is 'log', expected one of tanh, linear, none, ordinal"),
        ("sttep = 3", "variant 'x': 'sttep' is not known; did you mean 'steps'? Known fields: model, train, "),
        ("train.1.limit = 3", "variant 'x': source 1 is changed, but there are 1, counted from 0"),
        ("train.0.limt = 3", "variant 'x': 'train[0].limt' is not known; did you mean 'limit'?"),
        ("steps = 'half'", "variant 'x': 'steps' is 'half', expected a whole number"),
        ("after = 'al'", "'after' of variant 'x': no variant is called 'al'; did you mean 'all'? There are all, x"),
        ("like = 'x'", "x -> x: a variant is like or after itself"),
        ("axes = ['melody']", "variant 'x': 'axes[0]' is 'melody', expected one of musicality, alignment, overall"),
    ],
)
def test_a_mistake_in_a_variant_is_one_sentence(plan, text, sentence):
    with pytest.raises(InputError) as error:
        plan(f'reference = "all"\n[variants.all]\n[variants.x]\n{text}\n')
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
    assert "matrix.toml: " in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('reference = "none"\n[variants.all]', "'reference': no variant is called 'none'; there are all"),
        ('reference = "a/b"\n[variants."a/b"]', "variant 'a/b': expected letters, digits,"),
        ('referense = "all"\n[variants.all]', "'referense' is not known; did you mean 'reference'?"),
        (
            'reference = "all"\n[variants.all]\n[[tables]]\ntitle = "T"\nvariants = ["al"]',
            "table 'T': no variant is called 'al'; did you mean 'all'?",
        ),
        ('reference = "all"\ntest = [{share = 0.2}]\n[variants.all]', "'test' has a 'share'"),
        ("[variants.all", "matrix.toml: not TOML"),
    ],
)
def test_a_mistake_in_the_matrix_is_one_sentence(plan, text, sentence):
    with pytest.raises(InputError) as error:
        plan(text)
    assert sentence in str(error.value)


def test_a_matrix_that_is_not_there_names_those_that_come_with_cmi():
    with pytest.raises(InputError, match=r"mine.toml: no such file; expected a TOML file or one of paper-ablations, "):
        load_matrix("mine.toml")


@pytest.mark.parametrize("name", bundled_matrices())
def test_every_bundled_matrix_can_be_planned(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix, folder = load_matrix(name)
    variants = plan_variants(load_config("paper-stage1"), matrix, name, folder, tmp_path / "runs")
    assert {variant.name for variant in variants} == set(matrix.variants)
    shown = {row for table in matrix.tables for row in table.variants}
    assert shown == set(matrix.variants)  # nothing is trained for no table
    for table in matrix.tables:
        for printed in table.paper.values():
            assert {row.split()[0] for row in printed} <= set(table.variants)


def test_the_papers_rows_are_as_the_paper_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matrix, folder = load_matrix("paper-ablations")
    base = load_config("paper-stage1")
    found = {one.name: one for one in plan_variants(base, matrix, "paper-ablations", folder, tmp_path)}
    assert [found[f"size-{size}"].config.steps for size in ("4k", "8k", "16k", "32k", "110k")] == [
        round(1.5 * size / base.batch) for size in (4000, 8000, 16000, 32000, 110000)
    ]  # the same 1.5 epochs (table 10)
    assert {found[f"steps-{size}"].config.steps for size in ("4k", "8k", "16k", "32k", "110k")} == {2000}
    assert (found["hard"].config.steps, found["hard"].config.loss.label_smoothing) == (14000, 0.0)
    stage_2 = load_config("paper-stage2")
    assert replace(found["distil-both"].config, model=stage_2.model) == stage_2
    assert found["musicality-no-prompt"].config == replace(found["musicality"].config, prompts=False)
    titles = [table.title.split(",")[0] for table in matrix.tables]
    assert list(dict.fromkeys(titles)) == [f"Table {number}" for number in (4, 9, 10, 11, 14, 16)]
