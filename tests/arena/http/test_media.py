"""Sounds by opaque id, whole or in part."""

import pytest


@pytest.fixture
def sound(study):
    return study.sounds[0]


@pytest.fixture
def content(tones):
    return tones[0][0].read_bytes()


def test_a_sound_is_served_whole_and_only_as_sound(annotator, sound, content):
    answer = annotator.get(f"/media/{sound}")
    assert answer.content == content
    assert answer.headers["content-type"] == "audio/wav"
    assert answer.headers["content-length"] == str(len(content))
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["cache-control"].startswith("private")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "wav" not in answer.headers.get("content-disposition", "")


def test_a_part_of_a_sound(annotator, sound, content):
    for asked, start, stop in (("0-99", 0, 100), ("100-", 100, len(content)), ("-50", len(content) - 50, len(content))):
        answer = annotator.get(f"/media/{sound}", headers={"range": f"bytes={asked}"})
        assert answer.status_code == 206
        assert answer.content == content[start:stop]
        assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(content)}"
        assert answer.headers["content-length"] == str(stop - start)


@pytest.mark.parametrize(
    "ranges",
    ["0-1,2-3", ",".join(f"{start}-" for start in range(5000)), ",".join(["0-"] * 2000), "5-1", "a-b", "0-1;2-3"],
)
def test_a_range_bomb_costs_no_more_than_the_file(annotator, sound, content, ranges):
    answer = annotator.get(f"/media/{sound}", headers={"range": f"bytes={ranges}"})
    assert answer.status_code == 200
    assert answer.content == content


@pytest.mark.parametrize("ranges", ["999999-", "999999999999999999-", "-0", "99999-100000"])
def test_a_part_beyond_the_end_is_refused(annotator, sound, content, ranges):
    answer = annotator.get(f"/media/{sound}", headers={"range": f"bytes={ranges}"})
    assert (answer.status_code, answer.json()["code"]) == (416, "range")
    assert answer.headers["content-range"] == f"bytes */{len(content)}"


def test_what_the_browser_has_is_not_sent_again(annotator, sound):
    tag = annotator.get(f"/media/{sound}").headers["etag"]
    again = annotator.get(f"/media/{sound}", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    for kept, status in ((tag, 206), ('"other"', 200)):
        headers = {"range": "bytes=0-9", "if-range": kept}
        assert annotator.get(f"/media/{sound}", headers=headers).status_code == status


def test_sounds_of_another_project_do_not_exist(annotator, sign_in, other_study, sound):
    stranger = sign_in(other_study)
    owner = sign_in(other_study, "owner")
    for visitor in (stranger, owner):
        answer = visitor.get(f"/media/{sound}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not found")
    assert annotator.get(f"/media/{sound}").status_code == 200


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
    assert answer.status_code in (404, 422), answer.text
    assert set(answer.json()) == {"code", "message"}


def test_a_file_that_is_gone_is_not_found_and_not_named(owner, study, tones, database, tmp_path):
    from cmi.arena import sounds

    gone = tmp_path / "gone.wav"
    gone.write_bytes(b"")
    with database.writing() as connection:
        id_ = sounds.register(connection, study.id, gone, tones[0][1]._replace(digest="0" * 64))
    gone.unlink()
    answer = owner.get(f"/media/{id_}")
    assert answer.status_code == 404
    assert "gone" not in answer.text
