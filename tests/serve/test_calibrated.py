"""A server with a calibration corrects the scores of takes that name their generator, on every route."""

import numpy as np
import pytest

from cmi.reward.scoring.calibration import AxisCalibration, Calibration, CalibrationGain, SystemOffset

from .conftest import encoded, sound

GAIN = CalibrationGain(30, 30, 5, 0.5, 0.6, 0.1, 0.01, 0.2, 0.01, 0.0, 0.02, -0.01, 0.01, 0.01, "a gain")
OFFSETS = {"new": SystemOffset(2.0, 1.0, 3.0, 20), "old": SystemOffset(-2.0, -3.0, -1.0, 20)}
CALIBRATION = Calibration("loudness@1", {"musicality": AxisCalibration(30, OFFSETS, GAIN)}, {}, "1", 1.0)


@pytest.fixture
def calibrated(serving):
    return serving(calibration=CALIBRATION)


def test_a_score_has_the_offset_of_the_generator(calibrated, client):
    body = {"audio": {**sound(0.5), "generator": "new"}, "text": "x"}
    [raw] = client.post("/score", json=body).json()["takes"]
    answer = calibrated.post("/score", json=body).json()
    [found] = answer["takes"]
    assert answer["model"] == CALIBRATION.name and "calibrated" in calibrated.get("/healthz").json()["model"]
    assert found["musicality"] == pytest.approx(raw["musicality"] + 2) and found["alignment"] == raw["alignment"]
    assert found["overall"] == pytest.approx((found["musicality"] + found["alignment"]) / 2)
    assert raw["notes"] == found["notes"] == []


def test_the_same_sound_of_another_generator_is_not_answered_from_memory_with_the_first_offset(calibrated):
    scores = {
        name: calibrated.post("/score", json={"audio": {**sound(0.5), "generator": name}}).json()["takes"][0]
        for name in ("new", "old", "")
    }
    assert scores["new"]["musicality"] - scores["old"]["musicality"] == pytest.approx(4.0)
    assert "its generator is unknown" in scores[""]["notes"][0]


def test_comparing_and_ranking_use_it(calibrated):
    quiet, loud = {**sound(0.1), "generator": "new"}, {**sound(0.6), "generator": "old"}
    assert calibrated.post("/compare", json={"a": quiet, "b": loud}).json()["preferred"] == "a"
    ranked = calibrated.post("/rank", json={"takes": [loud, quiet], "by": "musicality"}).json()["ranking"]
    assert [one["index"] for one in ranked] == [1, 0]


def test_forms_and_verl_omni_name_the_generator_too(calibrated, folder):
    files = {"audio": (folder / "loud.wav").read_bytes()}
    [found] = calibrated.post("/score", files=files, data={"generator": "new"}).json()["takes"]
    assert found["musicality"] > 2
    body = {"protocol_version": "1", "waveform_f32_base64": encoded(np.full(8_000, 0.5)), "num_samples": 8_000}
    body |= {"sample_rate": 16_000, "metadata": {"generator": "new"}}
    assert calibrated.post("/verl-omni", json=body).json()["musicality"] == pytest.approx(2.5)
    body["metadata"] = {"generator": ["new"]}
    assert calibrated.post("/verl-omni", json=body).json()["musicality"] == pytest.approx(0.5)


def test_a_generator_of_the_wrong_kind_is_refused(calibrated):
    assert calibrated.post("/score", json={"audio": {**sound(), "generator": 7}}).status_code == 422
    assert calibrated.post("/score", json={"audio": {**sound(), "generator": "x" * 2000}}).status_code == 422
