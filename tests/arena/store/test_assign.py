"""Who gets which pair: overlap on target, hidden pairs by share, nothing twice, and the same page after a reload."""

import threading
from collections import Counter

import pytest

from cmi.arena.store import choose_view, pairs, people, projects, votes
from cmi.arena.store.assign import Done, View, begin, look, next_page, progress
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.votes import Ballot, counted, save

BALLOT = Ballot("a", 3, "b", 4)


def vote(database, person) -> View | Done:
    view = next_page(database, person)[0]
    if isinstance(view, View):
        begin(database, person, view.key)
        save(database, person, view.key, BALLOT)
    return view


def vote_all(database, person) -> list[View]:
    shown = []
    while isinstance(view := vote(database, person), View):
        shown.append(view)
    return shown


def first_votes(database, project) -> Counter[str]:
    return Counter(v.pair for v in counted(database, project.id) if v.repeat_of is None)


def test_a_reload_shows_the_same_page_and_a_vote_the_next_one(database, new_study, new_people):
    project = new_study(database)
    [person] = new_people(database, project)
    first = next_page(database, person)[0]
    assert next_page(database, person)[0] == first and first.begun is None
    begun = begin(database, person, first.key)
    assert next_page(database, person)[0] == begun == begin(database, person, first.key)
    save(database, person, first.key, BALLOT)
    assert next_page(database, person)[0].pair != first.pair
    assert look(database, person, first.key).vote.ballot.musicality == "b"


def test_every_pair_gets_the_votes_it_wants_and_no_person_a_pair_twice(database, new_study, new_people):
    project = new_study(database, 24, modalities=4, overlap_share=0.5, overlap_votes=3, repeat_share=0.0)
    everyone = new_people(database, project, 4)
    waiting = list(everyone)
    while waiting:
        waiting = [person for person in waiting if isinstance(vote(database, person), View)]
    wanted = {pair: count for pair, _, _, count in pairs.wanted(database, project.id)}
    assert first_votes(database, project) == wanted
    assert sorted(wanted.values()) == [1] * 12 + [3] * 12
    votes_of = Counter((v.person, v.pair) for v in counted(database, project.id))
    assert set(votes_of.values()) == {1}


def test_many_at_once_never_give_a_pair_too_many(database, new_study, new_people):
    """Every thread is a person who votes until nothing is left."""
    project = new_study(database, 24, gold=3, modalities=4, overlap_share=0.5, gold_share=0.1, repeat_share=0.1)
    crowd = new_people(database, project, 8)
    failures: list[BaseException] = []

    def run(person: str) -> None:
        try:
            vote_all(database, person)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(person,)) for person in crowd]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    got = first_votes(database, project)
    for pair, _, kind, wanted in pairs.wanted(database, project.id):
        if kind == "ordinary":
            assert got[pair] == wanted


@pytest.mark.parametrize("pairs_there", [30, 1])
def test_two_pages_of_one_person_that_ask_at_once_get_the_same_view(database, new_study, new_people, pairs_there):
    project = new_study(database, pairs_there)
    [person] = new_people(database, project)
    barrier, got = threading.Barrier(6), []

    def ask() -> None:
        barrier.wait()
        got.append(next_page(database, person)[0].key)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 6 and len(set(got)) == 1


def test_pairs_that_others_have_begun_come_first_so_that_overlap_is_complete_early(
    sqlite_database, new_study, new_people
):
    project = new_study(sqlite_database, 40, overlap_share=0.25, repeat_share=0.0)
    one, two = new_people(sqlite_database, project, 2)
    for _ in range(20):
        vote(sqlite_database, one)
    begun = {v.pair for v in counted(sqlite_database, project.id)}
    half_done = {pair for pair, _, _, n in pairs.wanted(sqlite_database, project.id) if n == 2 and pair in begun}
    assert half_done
    assert {vote(sqlite_database, two).pair for _ in half_done} == half_done


def test_a_person_gets_modalities_in_proportion(sqlite_database, new_study, new_people):
    project = new_study(sqlite_database, 40, modalities=4, repeat_share=0.0)
    [person] = new_people(sqlite_database, project)
    counts = Counter(vote(sqlite_database, person).modality for _ in range(12))
    assert set(counts.values()) == {3} and len(counts) == 4


def test_gold_and_repeats_come_by_their_shares_and_repeats_are_swapped(sqlite_database, new_study, new_people):
    project = new_study(sqlite_database, 80, gold=20, gold_share=0.2, repeat_share=0.1)
    [person] = new_people(sqlite_database, project)
    for _ in range(60):
        vote(sqlite_database, person)
    by_view = {v.view: v for v in counted(sqlite_database, project.id)}
    repeats = [v for v in by_view.values() if v.repeat_of]
    assert sum(v.kind == "gold" for v in by_view.values()) in (11, 12, 13)
    assert len(repeats) in (5, 6, 7)
    order = [v.view for v in by_view.values()]
    for again in repeats:
        before = by_view[again.repeat_of]
        assert before.pair == again.pair and before.swapped != again.swapped and before.kind == "ordinary"
        assert order.index(again.view) - order.index(before.view) > choose_view.REPEAT_GAP


def test_hidden_views_do_not_use_up_what_a_pair_wants(sqlite_database, new_study, new_people):
    project = new_study(sqlite_database, 20, overlap_share=0.0, repeat_share=0.5)
    [person] = new_people(sqlite_database, project)
    vote_all(sqlite_database, person)
    assert set(first_votes(sqlite_database, project).values()) == {1}
    assert len(first_votes(sqlite_database, project)) == 20


def test_the_same_seed_gives_the_same_order_and_another_seed_another(sqlite_database, new_study, new_people):
    def texts(seed: int) -> list[str]:
        project = new_study(sqlite_database, 12, overlap_share=0.0, repeat_share=0.0, seed=seed)
        [person] = new_people(sqlite_database, project)
        return [view.text for view in vote_all(sqlite_database, person)]

    assert texts(1) == texts(1) != texts(2)


def test_the_seed_alone_determines_which_takes_are_swapped(database, new_study, new_people):
    """PostgreSQL draws the order itself; it must be the same."""
    project = new_study(database, 20, gold=4, repeat_share=0.0, seed=7)
    [person] = new_people(database, project)
    vote_all(database, person)
    cast = list(counted(database, project.id))
    assert len(cast) >= 16
    assert all(one.swapped == (pairs.chance(7, "order", one.pair, person) < 0.5) for one in cast)


def test_about_half_of_the_takes_are_shown_swapped(sqlite_database, new_study, new_people):
    project = new_study(sqlite_database, 60, overlap_share=0.0, repeat_share=0.0)
    [person] = new_people(sqlite_database, project)
    vote_all(sqlite_database, person)
    assert 15 < sum(v.swapped for v in counted(sqlite_database, project.id)) < 45


def test_what_is_abandoned_goes_to_others_and_a_late_vote_is_kept(database, new_study, new_people, clock):
    database.now = clock
    project = new_study(database, 1, overlap_share=0.0)
    slow, other = new_people(database, project, 2)
    late = next_page(database, slow)[0]
    begin(database, slow, late.key)
    assert next_page(database, other)[0] == Done("no more pairs")
    clock.time += choose_view.HOLD + 1
    assert vote(database, other).pair == late.pair
    save(database, slow, late.key, BALLOT)
    assert first_votes(database, project)[late.pair] == 2
    assert next_page(database, slow)[0] == Done("no more pairs")


def test_who_comes_back_after_an_hour_goes_on_where_the_pair_is_still_wanted(database, new_study, new_people, clock):
    database.now = clock
    project = new_study(database, 2, overlap_share=0.0)
    slow, other = new_people(database, project, 2)
    mine = next_page(database, slow)[0]
    vote(database, other)
    clock.time += choose_view.HOLD + 1
    assert next_page(database, slow)[0].key == mine.key
    assert vote(database, other).pair == mine.pair, "an hour later it was nobody's"
    assert next_page(database, slow)[0] == Done("no more pairs"), "and then it was full"


def test_quotas_count_every_vote_and_a_persons_own_comes_before_the_projects(database, new_study, new_people):
    project = new_study(database, 20, quota=3, overlap_share=0.0)
    one, two = new_people(database, project, 2)
    people.change(database, project.id, two, quota=5)
    assert (len(vote_all(database, one)), len(vote_all(database, two))) == (3, 5)
    assert next_page(database, one)[0] == Done("quota")
    assert progress(database, one) == (3, 3) and progress(database, two) == (5, 5)


def test_pause_and_close_stop_new_pages(database, new_study, new_people):
    project = new_study(database, 5)
    one, two = new_people(database, project, 2)
    view = next_page(database, one)[0]
    people.change(database, project.id, two, state="paused")
    assert next_page(database, two)[0] == Done("paused")
    projects.change(database, project.id, state="paused")
    assert next_page(database, one)[0] == Done("paused")
    with pytest.raises(Refused, match="paused"):
        begin(database, one, view.key)
    projects.change(database, project.id, state="closed")
    assert next_page(database, one)[0] == Done("closed")
    projects.change(database, project.id, state="open")
    assert next_page(database, one)[0].key == view.key


def test_a_view_is_its_persons_alone_and_owners_do_not_vote(database, new_study, new_people):
    project = new_study(database, 5)
    one, two = new_people(database, project, 2)
    view = next_page(database, one)[0]
    for strange in (view.key + "x", "", "../" + view.key, "\x00", "\ud800"):
        with pytest.raises(NotFound):
            begin(database, one, strange)
    for call in (begin, look):
        with pytest.raises(NotFound):
            call(database, two, view.key)
    [invite] = people.invite(database, project.id, "owner", days=1)
    owner = people.join(database, invite.token, None, consented=True).person
    with pytest.raises(Refused) as refused:
        next_page(database, owner)[0]
    assert refused.value.code == "role"


def test_withdrawal_gives_the_pairs_to_others(database, new_study, new_people):
    project = new_study(database, 6, overlap_share=0.0, repeat_share=0.3)
    one, two = new_people(database, project, 2)
    vote_all(database, one)
    assert next_page(database, two)[0] == Done("no more pairs")
    people.withdraw(database, project.id, one)
    vote_all(database, two)
    assert len(first_votes(database, project)) == 6
    assert {v.person for v in votes.counted(database, project.id)} == {two}
