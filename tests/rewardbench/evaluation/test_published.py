"""The numbers of the paper's Tables 2 to 5, 9 to 11 and 14 to 21: all there, and consistent with each other."""

from collections import Counter
from statistics import mean

import pytest

from cmi.ablate.published import published_ablations
from cmi.reward.pick.report import table_5
from cmi.rewardbench.analysis.analyse import published_tables
from cmi.rewardbench.evaluation.cells import RewardCell
from cmi.rewardbench.evaluation.tables import (
    COLUMNS,
    group_tables,
    published_group_tables,
    published_groups,
    published_rows,
    read_published,
)

HALF_STEP = 0.0051  # of two decimals: of a mean of two printed numbers, and of the printed mean


def numbers(table):
    return {
        row.model: {key: float(text) if text else None for key, text in row.numbers.items()}
        for row in published_rows(table)
    }


@pytest.mark.parametrize(
    ("table", "rows", "columns", "absent"), [("table2", 15, 8, 0), ("table3", 13, 9, 12), ("table4", 5, 4, 0)]
)
def test_every_number_is_there_with_its_source(table, rows, columns, absent):
    found = published_rows(table)
    assert len(found) == rows == len({row.model for row in found})
    assert {len(row.numbers) for row in found} == {columns}
    assert {row.source for row in found} == {f"CMI-RewardBench, Table {table[-1]}"}
    assert sum(text == "" for row in found for text in row.numbers.values()) == absent


@pytest.mark.parametrize("table", ["table2", "table3"])
def test_every_column_has_its_place_among_our_cells(table):
    assert set(COLUMNS[table]) == set(published_rows(table)[0].numbers)
    assert len({column[1:] for column in COLUMNS[table].values()}) == len(COLUMNS[table])


def test_groups_are_all_there_and_their_weighted_means_are_the_totals_of_tables_2_and_3():
    found = published_groups()
    assert len(found) == len(set(found)) == 346
    by_table = Counter(one.table for one in found)
    assert by_table == {"17": 36, "20": 15 * 7, "21": 15 * 5 + 17 * 5 + 9 * 5}
    sizes = {"<3": 66, "=3": 128, ">3": 306}
    for model, row in numbers("table2").items():
        own = {
            one.group: float(one.value)
            for one in found
            if (one.table, one.task, one.model) == ("21", "musicality preference", model)
        }
        kinds = (own["instrumental"] + own["vocal"]) / 2
        assert row["cmi_pref_acc"] == pytest.approx(kinds, abs=0.11), model  # 78.20 in Table 2 is 78.10 in Table 21
        if model.startswith(("CMI-RM", "audiobox", "PAM", "SongEval")):  # language models' levels have other sizes
            weighted = sum(own[group] * n for group, n in sizes.items()) / 500
            assert row["cmi_pref_acc"] == pytest.approx(weighted, abs=0.25), model


def test_windows_are_all_there_and_overall_lies_between_the_bins():
    rows = read_published("windows")
    assert len(rows) == 30
    for start in range(0, 30, 5):
        for metric in ("rmse", "lcc"):
            *bins, overall = (float(row[metric]) for row in rows[start : start + 5])
            assert min(bins) <= overall <= max(bins)


def test_own_rows_by_group_stand_above_the_published_ones():
    about = {"dataset": "music-arena", "task": "musicality preference", "metric": "ACC", "protocol": "paper"}
    counts = {"n": 9, "unscored": 0, "unparsed": None, "undecided": 0, "prompts": 9}
    cell = RewardCell(model="mine", group="2025-07 and 08", value=0.5, low=None, high=None, **about, **counts)
    [table] = group_tables([cell], "month", "paper")
    assert table.headers == ["model", "2025-07 and 08", "2025-09", "2025-10", "2025-11", "2025-12"]
    assert table.rows[0] == ["mine", "50.00 (9)", "", "", "", ""] and len(table.rows) == 16
    assert ["SongEval-RM", "73.60", "78.69", "71.92", "64.34", "78.18"] in table.rows
    assert group_tables([cell], "confidence", "paper") == []


def test_with_and_without_audio_are_means_of_two_modalities_of_125_pairs():
    for model, row in numbers("table3").items():
        parts = (
            ("without_audio_acc", ("text_acc", "text_lyrics_acc")),
            (
                "with_audio_acc",
                ("text_audio_acc", "text_lyrics_audio_acc"),
            ),
        )
        for whole, two in parts:
            if row[whole] is not None:
                assert row[whole] == pytest.approx(mean(row[key] for key in two), abs=HALF_STEP), (model, whole)


def test_correlations_lie_between_minus_one_and_one_and_taus_are_the_smallest_in_size():
    for table in ("table2", "table3"):
        for row in numbers(table).values():
            for prefix in {key.rsplit("_", 1)[0] for key in row if key.endswith("_ktau")}:
                assert -1 < row[f"{prefix}_srcc"] < 1 and abs(row[f"{prefix}_ktau"]) < abs(row[f"{prefix}_srcc"])


@pytest.mark.parametrize("tuned_on", ["only", "+ CMI-Pref", "+ CMI-Pref + MusicEval"])
def test_table_4_follows_from_tables_2_and_3(tuned_on):
    model = f"CMI-RM distill {tuned_on}"
    musicality, alignment, both = (numbers(table)[model] for table in ("table2", "table3", "table4"))
    assert both["pam_mean_srcc"] == pytest.approx(mean([musicality["pam_srcc"], alignment["pam_srcc"]]), abs=6e-5)
    assert both["musiceval_srcc"] == musicality["musiceval_srcc"]
    aligned = mean([alignment["without_audio_acc"], alignment["with_audio_acc"]])
    # Table 21 prints 78.10 for the last row where Table 2 has 78.20: only 78.10 gives Table 4's mean
    printed = 78.10 if model.endswith("MusicEval") else musicality["cmi_pref_acc"]
    assert both["cmi_pref_mean_acc"] == pytest.approx(mean([printed, aligned]), abs=HALF_STEP)


def test_accuracies_are_whole_or_half_pairs_of_their_data_sets():
    for row in numbers("table2").values():
        assert (row["cmi_pref_acc"] * 500 / 100 * 2) == pytest.approx(round(row["cmi_pref_acc"] * 10), abs=1e-9)
    for row in numbers("table3").values():
        for key in ("text_acc", "text_lyrics_acc", "text_audio_acc", "text_lyrics_audio_acc"):
            if row[key] is not None:
                assert (row[key] * 125 / 100 * 2) == pytest.approx(round(row[key] * 2.5), abs=1e-9)


def test_table_5_rises_with_n_as_the_paper_says():
    rows = table_5().rows
    assert [row[0] for row in rows] == [
        f"{model}{n}" for model in ("MusicGen", "Stable Audio") for n in ("", " (N=3)", " (N=10)")
    ]
    for column in range(1, 5):
        values = [float(row[column]) for row in rows]
        assert values[:3] == sorted(values[:3]) and values[3:] == sorted(values[3:])


def test_the_ablations_share_their_rows_of_64k_and_of_the_final_model():
    found = {table.title: {row[0]: row[1:] for row in table.rows} for table in published_ablations()}
    assert [title.split(",")[0] for title in found] == ["Table 9", *["Table 10"] * 2, *["Table 11"] * 2, "Table 16"]
    before = [rows["distil"] for title, rows in found.items() if "before stage 2" in title]
    after = [rows["distil-cmi-pref"] for rows in found.values() if "distil-cmi-pref" in rows]
    assert before == [["71.1, CE 0.593"]] * 2
    assert after == [["77.8 / 74.0"]] * 3


def test_what_was_published_of_every_analysis_is_shown_without_a_run():
    shown = sum(cell != "" for table in published_group_tables() for row in table.rows for cell in row[1:])
    assert shown == len(published_groups())
    titles = " ".join(table.title for table in published_tables())
    assert all(f"Table {number}" in titles for number in (4, 14, 15, 17, 20, 21)) and "Tables 18, 19" in titles
