"""A vote from the invitation to the database, and what an annotator must not learn on the way."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cmi.arena.store import projects, votes


def test_a_vote_from_next_to_saved(annotator, database, study):
    shown = annotator.get("/api/next").json()
    assert shown["instruction"] == {
        "text": shown["instruction"]["text"],
        "lyrics": "la la",
        "reference": None,
        "modality": "text+lyrics",
    }
    assert shown["progress"] == {"done": 0, "quota": None}
    assert shown["vote"] is None
    begun = annotator.post(f"/api/views/{shown['view']}/begin").json()
    for take in begun["takes"].values():
        assert set(take) == {"url", "seconds", "peaks", "gain_db"}
        assert annotator.get(take["url"]).headers["content-type"] == "audio/flac"
    saved = annotator.vote(shown["view"]).json()
    assert saved == {"saved": True, "vote": saved["vote"], "number": 1, "again": False}
    assert len(list(votes.counted(database, study.id))) == 1
    assert annotator.get("/api/next").json()["progress"]["done"] == 1


def test_the_instruction_comes_before_the_takes(annotator, study):
    shown = annotator.get("/api/next")
    assert "takes" not in shown.json()
    assert not any(sound in shown.text for sound in study.sounds)
    looked = annotator.get(f"/api/views/{shown.json()['view']}")
    assert "takes" not in looked.json()
    assert not any(sound in looked.text for sound in study.sounds)


def test_a_reload_shows_the_same_page_and_beginning_again_the_same_takes(annotator):
    view = annotator.begun()
    assert annotator.get("/api/next").json()["view"] == view
    first, second = (annotator.post(f"/api/views/{view}/begin").json() for _ in range(2))
    assert first == second == {key: annotator.get(f"/api/views/{view}").json()[key] for key in ("takes", "needed")}


def test_nothing_an_annotator_can_ask_for_names_a_system_or_a_pair(annotator, study, systems, database):
    heard = ""
    for _ in study.pairs:
        view = annotator.begun()
        heard += annotator.get("/api/next").text + annotator.post(f"/api/views/{view}/begin").text
        heard += annotator.vote(view).text + annotator.get(f"/api/views/{view}").text
    heard += annotator.get("/api/me").text.replace('"kind":"pairs"', "", 1)  # what everybody does here is no secret
    heard += annotator.get("/api/views/recent").text + annotator.get("/api/next").text
    assert len(annotator.get("/api/views/recent").json()) == len(study.pairs)
    assert len(list(votes.counted(database, study.id))) == len(study.pairs)
    for secret in (*systems, *study.pairs, "swapped", "gold", "kind", "system", "path", ".wav"):
        assert secret not in heard, secret


def test_when_all_pairs_are_done_it_says_so(annotator, study):
    for _ in study.pairs:
        annotator.vote(annotator.begun())
    assert annotator.get("/api/next").json() == {"done": "no more pairs"}


def test_a_double_click_counts_once(annotator, database, study):
    view = annotator.begun()
    first, second = annotator.vote(view).json(), annotator.vote(view).json()
    assert (first["again"], second["again"]) == (False, True)
    assert first["vote"] == second["vote"]
    assert len(list(votes.counted(database, study.id))) == 1


def test_identical_votes_at_once_count_once(annotator, database, study):
    view = annotator.begun()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: annotator.vote(view), range(16)))
    assert {answer.status_code for answer in answers} == {200}
    assert sum(not answer.json()["again"] for answer in answers) == 1
    assert len({answer.json()["vote"] for answer in answers}) == 1
    assert len(list(votes.counted(database, study.id))) == 1


def test_a_correction_is_a_new_row_that_counts(annotator, database, study):
    view = annotator.begun()
    annotator.vote(view)
    corrected = annotator.vote(view, feedback="on second thoughts").json()
    assert (corrected["number"], corrected["again"]) == (2, False)
    vote = annotator.get(f"/api/views/{view}").json()["vote"]
    assert (vote["feedback"], vote["number"]) == ("on second thoughts", 2)
    assert vote["alignment"] == {"choice": "a", "confidence": 4, "touched": None}
    (counted,) = votes.counted(database, study.id)
    assert counted.view == view


def test_a_vote_is_given_back_as_it_was_shown_whichever_take_came_first(sign_in, study, ballot):
    for _ in range(6):  # about half of them see the takes swapped
        annotator = sign_in(study)
        while "view" in (shown := annotator.get("/api/next").json()):
            annotator.post(f"/api/views/{shown['view']}/begin")
            annotator.vote(shown["view"], heard={"a": 1.0, "b": 2.0})
            vote = annotator.get(f"/api/views/{shown['view']}").json()["vote"]
            assert vote["alignment"] == ballot["alignment"] | {"touched": None}, (
                "an old page does not say whether it was set"
            )
            assert vote["heard"] == {"a": 1.0, "b": 2.0, "reference": 0.0}


def test_another_persons_view_does_not_exist(annotator, sign_in, study):
    view = annotator.begun()
    stranger = sign_in(study)
    for answer in (
        stranger.vote(view),
        stranger.post(f"/api/views/{view}/begin"),
        stranger.get(f"/api/views/{view}"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not found")


def test_a_vote_on_takes_that_were_never_opened_is_refused(annotator):
    view = annotator.get("/api/next").json()["view"]
    answer = annotator.vote(view)
    assert (answer.status_code, answer.json()["code"]) == (409, "begin")


def test_a_vote_on_takes_that_were_not_heard_is_refused(sign_in, make_study, database):
    study = make_study("Heard", heard_share=1.0)
    annotator = sign_in(study)
    view = annotator.begun()
    answer = annotator.vote(view, heard={"a": 0.0, "b": 0.0})
    assert (answer.status_code, answer.json()["code"]) == (409, "heard")
    assert not list(votes.counted(database, study.id))


def test_seconds_that_cannot_have_passed_were_not_heard(sign_in, make_study, database, monkeypatch):
    study = make_study("Long", heard_share=1.0)
    annotator = sign_in(study)
    monkeypatch.setattr(votes, "SLACK", 0.5)  # takes of 0.3 s each
    moment = database.now()
    monkeypatch.setattr(database, "now", lambda: moment)
    view = annotator.begun()
    assert annotator.vote(view, heard={"a": 0.3, "b": 0.3}).json()["code"] == "heard"


@pytest.mark.parametrize(
    "change",
    [
        {"alignment": {"choice": "c", "confidence": 3}},
        {"alignment": {"choice": "A", "confidence": 3}},
        {"alignment": {"choice": "a", "confidence": 0}},
        {"alignment": {"choice": "a", "confidence": 6}},
        {"alignment": {"choice": "a", "confidence": 3.5}},
        {"alignment": {"choice": "a", "confidence": True}},
        {"alignment": {"choice": "a", "confidence": "3"}},
        {"alignment": {"choice": "a"}},
        {"alignment": None},
        {"musicality": "a"},
        {"feedback": "x" * 4001},
        {"feedback": None},
        {"feedback": "nul \x00"},
        {"heard": {"a": -1, "b": 0}},
        {"heard": {"a": 1e300, "b": 0}},
        {"heard": {"a": 10**400, "b": 0}},
        {"heard": {"a": 1}},
        {"system": "mine"},
        {"person": "someone"},
    ],
)
def test_a_forged_ballot_is_refused(annotator, change, database, study):
    answer = annotator.vote(annotator.begun(), **change)
    assert answer.status_code == 422
    assert set(answer.json()) == {"code", "message"}
    assert not list(votes.counted(database, study.id))


def test_script_in_feedback_comes_back_as_the_text_it_is(annotator):
    said = '<script>alert(1)</script><img src=x onerror="alert(2)"> ‮ 你好 🎵'
    view = annotator.begun()
    annotator.vote(view, feedback=said)
    answer = annotator.get("/api/views/recent")
    assert answer.json()[0]["vote"]["feedback"] == said
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_paused_study_gives_nothing_new_and_a_begun_vote_is_still_kept(annotator, database, study):
    view = annotator.begun()
    projects.change(database, study.id, state="paused")
    assert annotator.get("/api/next").json() == {"done": "paused"}
    assert annotator.vote(view).status_code == 200


def test_owners_do_not_vote_in_their_own_study(owner, observer):
    for visitor in (owner, observer):
        answer = visitor.get("/api/next")
        assert (answer.status_code, answer.json()["code"]) == (403, "role")
