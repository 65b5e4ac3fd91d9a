"""People from recruiting platforms: a place of their own, which nobody else can take over."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.arena.store import assign, outcomes, people, projects, recruit
from cmi.arena.store.errors import Refused
from cmi.arena.store.exits import Exit, read_exit
from cmi.arena.store.study import Study

PROLIFIC = recruit.PLATFORMS["prolific"]


def link_of(pid: str = "5f1", session: str = "s1") -> dict[str, str]:
    return {"PROLIFIC_PID": pid, "STUDY_ID": "st", "SESSION_ID": session, "utm": "not asked for"}


@pytest.fixture
def study(database, new_study):
    return new_study(database, pairs=3, **PROLIFIC, exit_complete="DONE1", exit_returned="BACK1")


@pytest.fixture
def token(database, study):
    return recruit.recruiting_link(database, study.id).token


def test_the_same_submission_is_the_same_person_with_the_same_progress(database, token, study):
    first = recruit.enter(database, token, link_of(), consented=True)
    page = assign.next_page(database, first.person)[0]
    again = recruit.enter(database, token, link_of(), consented=False)
    assert again.person == first.person and again.session_token != first.session_token
    assert assign.next_page(database, again.person)[0].key == page.key
    assert people.session(database, first.session_token).person == first.person, "two tabs do not sign each other out"
    [row] = outcomes.list_participants(database, study.id)
    assert row["participant"] == "5f1"
    assert row["parameters"] == {"PROLIFIC_PID": "5f1", "STUDY_ID": "st", "SESSION_ID": "s1"}


def test_who_knows_the_link_and_an_id_does_not_get_into_that_place(database, token):
    person = recruit.enter(database, token, link_of(), consented=True).person
    other = recruit.enter(database, token, link_of("6a2", "s2"), consented=True).person
    for attempt in (link_of(session="s3"), link_of(session=""), {"PROLIFIC_PID": "5f1"}):
        for holder in (None, other):
            with pytest.raises(Refused) as refused:
                recruit.look(database, token, attempt, holder)
            assert refused.value.code == "place"
            with pytest.raises(Refused):
                recruit.enter(database, token, attempt, True, holder)
    assert recruit.look(database, token, {"PROLIFIC_PID": "5f1"}, person).place == "here"


def test_without_a_proof_only_the_browser_that_began_gets_back(database, new_study):
    study = new_study(database, pairs=1, participant="workerId")
    token = recruit.recruiting_link(database, study.id).token
    person = recruit.enter(database, token, {"workerId": "17"}, True).person
    with pytest.raises(Refused, match="already in use"):
        recruit.enter(database, token, {"workerId": "17"}, True)
    assert recruit.enter(database, token, {"workerId": "17"}, True, person).person == person


def test_signed_links_let_in_only_whom_we_have_signed(database, new_study):
    study = new_study(database, pairs=1, participant="id", signed_only=True)
    link = recruit.recruiting_link(database, study.id)
    signed = {"id": "ann", "signature": link.sign("ann")}
    person = recruit.enter(database, link.token, signed, True).person
    assert recruit.enter(database, link.token, signed, True).person == person, "from any browser"
    for forged in ({"id": "bob"}, {"id": "bob", "signature": link.sign("ann")}, {"id": "bob", "signature": "é\ud800"}):
        with pytest.raises(Refused, match="changed or is incomplete"):
            recruit.look(database, link.token, forged)
    assert link.signed_address("https://a.example/", study.settings, "a b@x") == (
        f"https://a.example/enter?study={link.token}&id=a+b%40x&signature={link.sign('a b@x')}"
    )


def test_nobody_enters_without_consent_and_nothing_is_kept_of_them(database, study, token):
    projects.change(database, study.id, consent="Read this.")
    with pytest.raises(Refused) as refused:
        recruit.enter(database, token, link_of(), consented=False)
    assert refused.value.code == "consent"
    assert outcomes.list_participants(database, study.id) == []


def test_a_link_leads_nowhere_when_it_was_renewed_or_the_study_takes_nobody(database, study, token):
    renewed = recruit.recruiting_link(database, study.id, renew=True).token
    for wrong in (token, "nothing", "", "é", "x" * 999):
        with pytest.raises(Refused, match="open study"):
            recruit.look(database, wrong, link_of())
    projects.change(database, study.id, state="closed")
    with pytest.raises(Refused, match="closed"):
        recruit.enter(database, renewed, link_of(), consented=True)
    projects.change(database, study.id, settings={"participant": "", "proof": ""})
    with pytest.raises(Refused, match="open study"):
        recruit.look(database, renewed, link_of())


@pytest.mark.parametrize("participant", ["", "{{%PROLIFIC_PID%}}", "[PROLIFIC_PID]", "a b", "x" * 129, "a\x00", "é"])
def test_what_no_platform_sends_is_not_a_participant(database, token, participant):
    with pytest.raises(Refused, match="has no participant id"):
        recruit.look(database, token, link_of(participant))


def test_a_withdrawal_deletes_the_ids_and_leaves_no_second_attempt(database, study, token):
    person = recruit.enter(database, token, link_of(), consented=True).person
    people.withdraw(database, study.id, person)
    with pytest.raises(Refused) as refused:
        recruit.enter(database, token, link_of(), consented=True)
    assert refused.value.code == "withdrawn"
    [row] = outcomes.list_participants(database, study.id)
    assert (row["participant"], row["parameters"]) == (None, {})


def test_of_many_who_open_a_link_at_once_all_get_one_place(database, study, token):
    with ThreadPoolExecutor(6) as pool:
        signed_in = list(pool.map(lambda _: recruit.enter(database, token, link_of(), True), range(6)))
    assert len({one.person for one in signed_in}) == 1
    assert all(people.session(database, one.session_token) for one in signed_in)
    assert len(people.list_people(database, study.id)) == 1


def test_two_studies_have_places_of_their_own(database, study, token, new_study):
    other = new_study(database, pairs=1, **PROLIFIC)
    first = recruit.enter(database, token, link_of(), True)
    second = recruit.enter(database, recruit.recruiting_link(database, other.id).token, link_of(), True, first.person)
    assert first.person != second.person


def test_exits_are_an_address_or_a_code():
    url = "https://app.prolific.com/submissions/complete?cc=C1"
    assert read_exit(url, {}, "PROLIFIC_PID") == read_exit("C1", {}, "PROLIFIC_PID") == Exit(url, "C1")
    assert read_exit("C1", {}, "id") == Exit(None, "C1") and read_exit("", {}, "id") == Exit(None, None)
    filled = read_exit("https://x.example/p/{id}?a={b}&c={id}", {"id": "/?&#{b}"}, "id")
    assert filled.url == "https://x.example/p/%2F%3F%26%23%7Bb%7D?a=&c=%2F%3F%26%23%7Bb%7D"


@pytest.mark.parametrize(
    "wrong",
    [
        {"exit_complete": "javascript:alert(1)"},
        {"exit_complete": "//evil.example"},
        {"exit_complete": "https://{id}.example/"},
        {"exit_complete": "https://me:secret@x.example/"},
        {"exit_complete": "https://x.example/ y"},
        {"exit_complete": "https://x.example:port/"},
        {"exit_complete": "https://x.example/" + "y" * 2000},
        {"participant": "a b"},
        {"participant": "study"},
        {"proof": "SESSION_ID"},
        {"participant": "id", "proof": "id"},
        {"participant": "id", "parameters": "a,b c"},
        {"parameters": ",".join(f"p{n}" for n in range(21))},
        {"qualify_pairs": 3, "qualify_right": 4},
        {"qualify_pairs": 3},
        {"qualify_right": 1},
        {"check_attempts": 0},
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_sentence(wrong):
    with pytest.raises(InputError, match=r"^the settings: .*expected") as refused:
        Study().changed(wrong)
    assert "\n" not in str(refused.value)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=30), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
def test_an_exit_that_is_accepted_is_a_web_address_or_a_code(setting, parameters):
    try:
        accepted = Study().changed({"exit_complete": setting}).exit_complete
    except InputError:
        return
    url, code = read_exit(accepted, parameters, "id")
    assert url is None or url.startswith(("http://", "https://"))
    assert url is not None or accepted == (code or "")
