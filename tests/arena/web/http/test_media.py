"""Sounds as annotators get them: whole or in part, by addresses that are good for one view, and nothing but sound."""

import io

import numpy as np
import pytest
import soundfile

from cmi.arena.audio import sounds


@pytest.fixture
def url(annotator):
    """The address of a take."""
    return annotator.post(f"/api/views/{annotator.begun()}/begin").json()["takes"]["a"]["url"]


@pytest.fixture
def content(annotator, url):
    return annotator.get(url).content


def test_a_sound_is_served_whole_and_only_as_sound(annotator, url, content, tones):
    answer = annotator.get(url)
    samples, _ = soundfile.read(io.BytesIO(answer.content))
    assert any(np.array_equal(samples, soundfile.read(path)[0]) for path, _ in tones)
    assert answer.headers["content-type"] == "audio/flac"
    assert answer.headers["content-length"] == str(len(content))
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["cache-control"].startswith("private")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not {"content-disposition", "last-modified"} & set(answer.headers)


def test_a_part_of_a_sound(annotator, url, content):
    for asked, start, stop in (("0-99", 0, 100), ("100-", 100, len(content)), ("-50", len(content) - 50, len(content))):
        answer = annotator.get(url, headers={"range": f"bytes={asked}"})
        assert answer.status_code == 206
        assert answer.content == content[start:stop]
        assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(content)}"
        assert answer.headers["content-length"] == str(stop - start)


@pytest.mark.parametrize(
    "ranges",
    ["0-1,2-3", ",".join(f"{start}-" for start in range(5000)), ",".join(["0-"] * 2000), "5-1", "a-b", "0-1;2-3"],
)
def test_a_range_bomb_costs_no_more_than_the_file(annotator, url, content, ranges):
    answer = annotator.get(url, headers={"range": f"bytes={ranges}"})
    assert answer.status_code == 200
    assert answer.content == content


@pytest.mark.parametrize("ranges", ["999999-", "999999999999999999-", "-0", "99999-100000"])
def test_a_part_beyond_the_end_is_refused(annotator, url, content, ranges):
    answer = annotator.get(url, headers={"range": f"bytes={ranges}"})
    assert (answer.status_code, answer.json()["code"]) == (416, "range")
    assert answer.headers["content-range"] == f"bytes */{len(content)}"


def test_what_the_browser_has_is_not_sent_again(annotator, url):
    tag = annotator.get(url).headers["etag"]
    again = annotator.get(url, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    for kept, status in ((tag, 206), ('"other"', 200)):
        headers = {"range": "bytes=0-9", "if-range": kept}
        assert annotator.get(url, headers=headers).status_code == status


def test_an_address_is_good_for_its_own_view_and_its_own_annotator(annotator, sign_in, study, other_study, url, owner):
    for visitor in (sign_in(study), sign_in(other_study)):
        answer = visitor.get(url)
        assert (answer.status_code, answer.json()["code"]) == (404, "not found")
    assert owner.get(url).status_code == 403
    assert annotator.get(url).status_code == 200
    assert annotator.get(url.replace("/a", "/reference")).status_code == 404  # the pair has none
    assert annotator.get(url.replace("/a", "/c")).status_code == 422


def test_takes_cannot_be_played_before_the_instruction_was_read(annotator):
    view = annotator.get("/api/next").json()["view"]
    assert annotator.get(f"/media/{view}/a").status_code == 404
    annotator.post(f"/api/views/{view}/begin")
    assert annotator.get(f"/media/{view}/a").status_code == 200


def test_sounds_by_their_id_are_for_those_who_may_know_what_they_are(
    annotator, owner, observer, sign_in, other_study, study
):
    sound = study.sounds[0]
    assert owner.get(f"/media/{sound}").status_code == observer.get(f"/media/{sound}").status_code == 200
    assert annotator.get(f"/media/{sound}").json()["code"] == "role"
    answer = sign_in(other_study, "owner").get(f"/media/{sound}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not found")


@pytest.mark.parametrize(
    "path",
    [
        "/media/..%2f..%2fetc%2fpasswd",
        "/media/../../etc/passwd",
        "/media/%2e%2e/%2e%2e/etc/passwd",
        "/media/..%5c..%5cwin.ini",
        "/media/%00",
        "/media//etc/passwd",
        "/media/file:%2f%2f%2fetc%2fpasswd",
        "/media/" + "a" * 65,
        "/media/" + "a" * 5000,
        "/media/*",
        "/media/%27%20OR%201=1--",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/annotate.html",
        "/static/js",
        "/static/",
    ],
)
def test_no_request_reaches_a_file_by_its_path(annotator, path):
    answer = annotator.get(path)
    assert answer.status_code in (403, 404, 422), answer.text
    assert set(answer.json()) == {"code", "message"}


def test_a_file_that_is_gone_is_not_found_and_not_named(owner, study, tones, database, tmp_path):
    gone = tmp_path / "gone.wav"
    gone.write_bytes(b"")
    with database.writing() as connection:
        id_ = sounds.register(connection, study.id, gone, tones[0][1]._replace(digest="0" * 64))
    gone.unlink()
    answer = owner.get(f"/media/{id_}")
    assert answer.status_code == 404
    assert "gone" not in answer.text
