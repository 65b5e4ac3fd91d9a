"""The MIR set's truth is the audio's, and answers that repeat it score perfectly on CMI-Bench's own tasks."""

import json
import re

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Item, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.responses import audio_key, find_annotations, read_instructions
from cmi.bench.tasks import load_task
from cmi.studio.mir import PROMPTS, make_mir_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("mir")
    assert make_mir_set(made, 6, seed=2) == dict.fromkeys(PROMPTS, 6)
    return made


def records(folder, dataset):
    return [json.loads(line) for line in (folder / "annotations" / f"CMI_{dataset}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", PROMPTS)
def test_the_truth_scores_perfectly(folder, name):
    dataset = DATASETS[name]
    items = [
        Item(
            asked.instruction,
            asked.output,
            asked.output,
            audio_key(asked.audio_path),
            asked.audio_start,
            asked.audio_end,
        )
        for _, asked in read_instructions(find_annotations(folder / "annotations")[name], dataset)
    ]
    evaluation = load_task(dataset).evaluate(items, Setting(name, "strict", "oracle", Tools()))
    assert evaluation.n == 6
    assert evaluation.unparsed == 0
    for metric, value in zip(evaluation.metrics, evaluation.values()[0], strict=True):
        assert value == pytest.approx(100, abs=1e-6), metric.name


def test_notes_sound_at_the_pitch_that_is_stated(folder):
    for record in records(folder, "Nsynth_pitch"):
        sound, rate = soundfile.read(folder / record["audio_path"][0])
        part = sound[rate // 2 : rate // 2 + 8192].mean(axis=1) * np.hanning(8192)
        likeness = np.fft.irfft(np.abs(np.fft.rfft(part, 16384)) ** 2)[:8192]
        wanted = rate / (440 * 2 ** ((int(record["output"]) - 69) / 12))  # samples of a period
        near = np.arange(int(wanted / 1.3), int(wanted * 1.3) + 2)
        found = near[np.argmax(likeness[near])]
        assert abs(12 * np.log2(found / wanted)) < 0.5, record["uuid"]


def test_beats_fall_where_the_drums_are_struck(folder):
    """Energy rises at most beats of pieces with drums or plucked chords: more than between them."""
    rises = []
    for record in records(folder, "gtzan_beat"):
        sound, rate = soundfile.read(folder / record["audio_path"][0])
        energy = np.add.reduceat(sound.mean(axis=1) ** 2, np.arange(0, len(sound), rate // 100))
        onset = np.maximum(np.diff(np.log(energy + 1e-6)), 0)
        beats = np.array([float(time[:-1]) for time in record["output"].split(",")])
        between = (beats[1:] + beats[:-1]) / 2 + 0.037

        def strength(times, onset=onset):
            places = np.round(times * 100).astype(int)
            return np.mean([onset[max(0, p - 3) : p + 3].max(initial=0) for p in places if p < len(onset)])

        rises.append(strength(beats) > strength(between))
    assert np.mean(rises) > 0.8


def test_the_same_seed_gives_the_same_bytes(folder, tmp_path):
    make_mir_set(tmp_path, 6, seed=2)
    for path in folder.rglob("*.*"):
        assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes()


def test_a_folder_keeps_to_one_seed_and_length(folder):
    """Audio that is there is kept: another seed's truth would be told of it."""
    for other in ({"seed": 3}, {"seed": 2, "seconds": 10}):
        with pytest.raises(InputError, match="created with other settings"):
            make_mir_set(folder, 6, **other)


def test_shorter_pieces_have_their_own_truth(tmp_path):
    make_mir_set(tmp_path, 1, seed=2, seconds=8)
    for dataset in ("gtzan_beat", "gtzan_downbeat", "MedleyDB"):
        [record] = records(tmp_path, dataset)
        assert record["audio_end"] == 8.0
        assert soundfile.info(tmp_path / record["audio_path"][0]).duration <= 8.0
        assert max(float(time) for time in re.findall(r"(?:^|[(,])([\d.]+)", record["output"])) < 8
