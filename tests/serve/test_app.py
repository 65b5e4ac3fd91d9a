"""What clients ask for and get."""

import math

import numpy as np
import pytest
from tests.serve.conftest import encoded, sound

from cmi.reward.model.validation import validated_on

NANO = "nano@1aab600e5412"


def test_a_take_has_both_axes_and_their_mean(client):
    answer = client.post("/score", json={"audio": sound(0.5), "text": "four", "id": "x"})
    assert answer.status_code == 200
    assert answer.json() == {
        "model": "loudness@1",
        "validated_on": None,
        "takes": [{"id": "x", "musicality": 0.5, "alignment": 4.0, "overall": 2.25, "seconds": None, "notes": []}],
    }


def test_several_takes_have_prompts_of_their_own_and_stay_in_order(client):
    takes = [{"audio": sound(level), "text": "x" * i} for i, level in enumerate((0.5, 0.25, 0.75))]
    scores = client.post("/score", json={"takes": takes}).json()["takes"]
    assert [(one["musicality"], one["alignment"]) for one in scores] == [(0.5, 0), (0.25, 1), (0.75, 2)]


def test_files_are_scored_by_a_form_as_curl_sends_it(client, folder):
    files = [("audio", (folder / name).open("rb")) for name in ("loud.wav", "quiet.wav")]
    scores = client.post("/score", files=files, data={"text": "piano"}).json()["takes"]
    assert [round(one["musicality"], 3) for one in scores] == [0.6, 0.1]
    assert {one["alignment"] for one in scores} == {5.0}


def test_one_broken_take_does_not_spoil_the_others(client, folder):
    takes = [{"audio": {"path": name}, "id": name} for name in ("loud.wav", "silent.wav", "missing.wav")]
    heard, silent, missing = client.post("/score", json={"takes": takes}).json()["takes"]
    assert heard["musicality"] == pytest.approx(0.6)
    assert silent == {"id": "silent.wav", "error": "silent.wav: silent"}
    assert missing == {"id": "missing.wav", "error": "missing.wav: No such file or directory"}


def test_a_request_of_which_nothing_can_be_heard_is_refused(client, folder):
    answer = client.post("/score", json={"audio": {"path": "silent.wav"}})
    assert answer.status_code == 422
    assert answer.json() == {"code": "sound", "message": "silent.wav: silent"}


def test_curl_needs_no_header_for_json(client, folder):
    """`curl -d` says that it sends a form; the page's example does."""
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = client.post("/score", content=b'{"audio": {"path": "../secret.wav"}}', headers=headers)
    assert answer.status_code == 403
    assert answer.json() == {"code": "path", "message": "take 1: outside the folders that this server may read"}
    assert client.post("/score", content=b'{"audio": {"path": "loud.wav"}}', headers=headers).status_code == 200


def test_where_an_upload_is_kept_is_not_told(client, folder):
    answer = client.post("/score", files={"audio": (folder / "silent.wav").open("rb")})
    assert answer.json()["message"] == "audio 1: silent"


def test_two_takes_are_compared_by_the_logistic_of_their_difference(client):
    answer = client.post("/compare", json={"a": sound(0.25), "b": sound(0.75), "text": "x"}).json()
    assert answer["musicality"] == pytest.approx(1 / (1 + math.exp(0.5)))
    assert answer["alignment"] == 0.5
    assert answer["overall"] == pytest.approx(1 / (1 + math.exp(0.25)))
    assert answer["preferred"] == "b"
    assert answer["a"]["musicality"] == 0.25
    assert client.post("/compare", json={"a": sound(0.5), "b": sound(0.5)}).json()["preferred"] == "tie"


def test_takes_are_ranked_best_first_by_the_axis_that_was_asked_for(client):
    takes = [sound(0.25), sound(0.75), sound(0.5)]
    for by in ("overall", "musicality"):
        ranking = client.post("/rank", json={"takes": takes, "by": by}).json()["ranking"]
        assert [one["index"] for one in ranking] == [1, 2, 0]
    by_alignment = client.post("/rank", json={"takes": takes, "by": "alignment"}).json()["ranking"]
    assert [one["index"] for one in by_alignment] == [0, 1, 2], "equal ones stay in their order"


def test_a_request_of_verl_omni_gets_a_finite_score_and_both_axes(client):
    request = {
        "protocol_version": "1",
        "waveform_f32_base64": encoded(np.full(12_000, 0.5)),
        "num_samples": 12_000,
        "sample_rate": 24_000,
        "prompt": "slow piano",
        "metadata": {"id": "sample-1", "seed": 7},
    }
    answer = client.post("/verl-omni", json=request)
    assert answer.json() == {"score": 5.25, "musicality": 0.5, "alignment": 10.0, "seconds": 0.5, "noted": 0}
    assert "X-CMI-Validated-On" not in answer.headers


def test_nano_says_what_it_was_validated_on_and_verl_omni_gets_numbers_alone(serving):
    client = serving(name=NANO)
    audio = {"waveform_f32_base64": encoded(np.full(12_000, 0.5)), "num_samples": 12_000, "sample_rate": 24_000}
    verl = client.post("/verl-omni", json={"protocol_version": "1", **audio})
    assert all(isinstance(value, int | float) and math.isfinite(value) for value in verl.json().values())
    assert verl.headers["X-CMI-Validated-On"] == validated_on(NANO)
    answers = [
        client.post("/score", json={"audio": sound()}),
        client.post("/compare", json={"a": sound(), "b": sound()}),
        client.post("/rank", json={"takes": [sound()]}),
        client.get("/healthz"),
    ]
    assert [answer.json()["validated_on"] for answer in answers] == [validated_on(NANO)] * 4
    assert validated_on(NANO) in client.get("/").text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"protocol_version": "2"}, "protocol_version"),
        ({"num_samples": 11_999}, "num_samples is 11999, but waveform_f32_base64 holds 12000"),
        ({"sample_rate": 0}, "sample_rate"),
        ({"waveform_f32_base64": "?"}, "not valid base64"),
        ({"waveform_f32_base64": encoded([math.nan] * 12_000)}, "NaN"),
    ],
)
def test_what_verl_omni_may_not_send_is_refused(client, change, said):
    request = {
        "protocol_version": "1",
        "waveform_f32_base64": encoded(np.full(12_000, 0.5)),
        "num_samples": 12_000,
        "sample_rate": 24_000,
    }
    answer = client.post("/verl-omni", json=request | change)
    assert answer.status_code == 422
    assert said in answer.json()["message"]


def test_the_server_tells_its_model_its_routes_and_its_counts(client):
    assert client.get("/healthz").json() == {"model": "loudness@1"}
    assert "POST /compare" in client.get("/").text
    for _ in range(2):
        client.post("/score", json={"audio": sound()})
    client.get("/nothing/here")
    metrics = client.get("/metrics").text
    assert "cmi_takes_from_memory 1.0" in metrics
    assert 'cmi_requests_total{path="/score",status="200"} 2.0' in metrics
    assert 'cmi_requests_total{path="other",status="404"} 1.0' in metrics
