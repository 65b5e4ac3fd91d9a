"""Every mistake in a configuration is one sentence that names the file, the field and what was expected."""

import pytest
import yaml
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app
from cmi.reward.model.head import Downsampling
from cmi.reward.train.config import bundled_configs, load_config

PAIRS = {"preferences": "pairs.jsonl"}


def test_what_is_stated_is_read_and_the_rest_has_defaults(write_config, tmp_path):
    path = write_config(
        model={
            "checkpoint": "here",
            "head": "fresh",
            "architecture": {"heads": 2, "take": {"kind": "mean", "factor": 4}},
        },
        data=[{**PAIRS, "weight": 2}],
        optimizer={"lr": 0.5},
    )
    path.write_text(path.read_text().replace("lr: 0.5", "lr: 1e-4"))  # which YAML 1.1 reads as text
    config = load_config(str(path))
    assert config.data[0].preferences == tmp_path / "pairs.jsonl"
    assert config.data[0].weight == 2.0
    assert config.model.architecture.take == Downsampling("mean", 4)
    assert config.optimizer.lr == 1e-4
    assert (config.loss.label_smoothing, config.loss.mapping) == (0.2, "tanh")
    assert (config.steps, config.batch) == (12, 8)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sede": 1}, "'sede' is not known; did you mean 'seed'? Known fields: model, train,"),
        (
            {"model": {"checkpoint": "here", "heads": 3}},
            "'model.heads' is not known; did you mean 'head'? Known",
        ),
        ({"model": {}}, "'model.checkpoint' is missing"),
        ({"model": "here"}, "'model' is 'here', expected a table of named fields"),
        ({"model": {"checkpoint": 3}}, "'model.checkpoint' is 3, expected text"),
        ({"model": {"checkpoint": "here", "head": "new"}}, "'model.head' is 'new', expected one of keep, fresh"),
        (
            {"model": {"checkpoint": "here", "architecture": {"heads": 2}}},
            "'model' has an 'architecture', which",
        ),
        (
            {"model": {"checkpoint": "here", "head": "fresh", "architecture": {"take": {"kind": "max"}}}},
            "'model.architecture.take.kind' is 'max', expected one of none, mean,",
        ),
        (
            {"model": {"checkpoint": "here", "head": "fresh", "architecture": {"text": {"kind": "mean", "factor": 0}}}},
            "'model.architecture.text.factor' is 0, expected at least 1",
        ),
        (
            {"model": {"checkpoint": "here", "head": "fresh", "architecture": {"heads": 0}}},
            "'model.architecture.heads' is 0, expected at least 1",
        ),
        ({"data": []}, "'data' is a list of 0, expected 1 or more entries"),
        ({"data": PAIRS}, "'data' is a table, expected a list"),
        ({"data": [{}]}, "'data[0]' must name a file of 'preferences' or one of 'ratings'"),
        ({"data": [{**PAIRS, "ratings": "r.jsonl"}]}, "'data[0]' must name a file of 'preferences' or one of"),
        ({"data": [{"preferences": 3}]}, "'data[0].preferences' is 3, expected text"),
        ({"data": [{**PAIRS, "weight": 0}]}, "'data[0].weight' is 0, expected at least 0.001"),
        ({"data": [PAIRS, {**PAIRS, "wieght": 1}]}, "'data[1].wieght' is not known"),
        ({"validation": [{"split": "valid"}]}, "'validation[0]' must name a file"),
        ({"loss": {"label_smoothing": 1}}, "'loss.label_smoothing' is 1, expected at most 0.999"),
        ({"loss": {"label_smoothing": float("nan")}}, "'loss.label_smoothing' is nan, expected at most 0.999"),
        ({"loss": {"mapping": "sigmoid"}}, "'loss.mapping' is 'sigmoid', expected one of tanh, linear, none, ordinal"),
        ({"loss": {"confidence_weighting": "yes!"}}, "'loss.confidence_weighting' is 'yes!', expected true or false"),
        ({"optimizer": {"lr": "fast"}}, "'optimizer.lr' is 'fast', expected a number"),
        ({"optimizer": {"lr": -0.1}}, "'optimizer.lr' is -0.1, expected at least 0"),
        ({"modality_dropout": {"text": 1.5}}, "'modality_dropout.text' is 1.5, expected at most 1"),
        ({"steps": 10.5}, "'steps' is 10.5, expected a whole number"),
        ({"steps": True}, "'steps' is True, expected a whole number"),
        ({"steps": None}, "'steps' is empty, expected a whole number"),
        ({"batch": 0}, "'batch' is 0, expected at least 1"),
        ({"seed": -1}, "'seed' is -1, expected at least 0"),
        ({"early_stop": 0}, "'early_stop' is 0, expected at least 1"),
        ({"precision": "fp16"}, "'precision' is 'fp16', expected one of auto, fp32, bf16"),
        ({"window": "mean10"}, "'window' is 'mean10', expected one of first10, first120"),
    ],
)
def test_a_mistake_is_one_sentence(write_config, changes, sentence):
    with pytest.raises(InputError) as raised:
        load_config(str(write_config(**changes)))
    assert str(raised.value).startswith(f"{write_config()}: ")
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_stopping_early_needs_something_to_validate_on(settings, tmp_path):
    del settings["validation"]
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump({**settings, "early_stop": 3}))
    with pytest.raises(InputError, match="'early_stop' needs 'validation'"):
        load_config(str(path))


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe", b"- 1", b"", b"just words"])
def test_what_is_no_configuration_is_one_sentence(tmp_path, content):
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"^\S*bad.yaml( line \d+)?: (not YAML|.*expected a table|'model' is missing)"):
        load_config(str(path))


@pytest.mark.parametrize("name", ["votes", "votes.jsonl", "votes.csv.gz"])
def test_preferences_instead_of_a_configuration_train_nano_on_their_training_prompts(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir() if name == "votes" else (tmp_path / name).write_text("")
    config = load_config(name)
    assert config.model.checkpoint == "nano"
    assert [(source.dataset, source.split) for source in config.data] == [(name, "train")]
    assert [source.share for source in config.validation] == [0.25]


def test_configurations_that_come_with_cmi_are_named_without_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bundled_configs() == ["own-votes", "paper-stage1", "paper-stage2"]
    votes, one, two = map(load_config, bundled_configs())
    assert [source.dataset for source in votes.data] == ["votes"]
    assert (one.steps, one.batch, one.loss.label_smoothing, one.model.head) == (2000, 48, 0.2, "fresh")
    assert (two.batch, two.loss.label_smoothing, two.loss.mapping, two.model.head) == (48, 0.0, "tanh", "keep")
    assert [source.dataset for source in (*one.data, *two.data)] == ["cmi-pref-pseudo", "cmi-pref", "musiceval"]
    with pytest.raises(InputError, match="expected a YAML file, one of own-votes, paper-stage1, paper-stage2, or"):
        load_config("paper-stage3")


def test_help_shows_how_to_use_it():
    shown = CliRunner().invoke(app, ["train", "--help"])
    assert shown.exit_code == 0
    assert "cmi train paper-stage1" in shown.output
