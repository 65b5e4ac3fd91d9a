"""The demonstration's page: ranked takes, pairs against nulls, the probe, MIR, CMI-Bench."""

import shlex
from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from cmi.demo.run import Demo
from cmi.demo.tables import PAIRS_NOTE, TakeRow, judged_pairs, picked_sentence, prompt_text, take_rows
from cmi.probe.accuracy import Accuracy, Proportion, table
from cmi.report.html import details, fact_list, interval_bar, page, table_html
from cmi.report.numbers import interval, percent

CHANCE = 0.5


def page_of(demo: Demo, out: Path) -> str:
    """Write the HTML; recordings are linked relative to `out`, the page's folder."""
    body = "\n".join([_head(demo), _takes(demo, out), _pairs(demo), _probe(demo), _mir(demo), _bench(demo), _next(out)])
    style = files("cmi.demo").joinpath("page.css").read_text(encoding="utf-8")
    return page("cmi: a demonstration", body, style)


def _head(demo: Demo) -> str:
    return f"""<h1>What cmi measured on this machine</h1>
<p>All music here was made by cmi’s studio, so the right answers are known by construction. No people were asked, and
nano was trained on such music, though not on these pieces.</p>
{fact_list({"Scored by": demo.model, **demo.versions})}"""


def _takes(demo: Demo, out: Path) -> str:
    rows = take_rows(demo)
    cards = "\n".join(_card(row, out) for row in rows)
    return f"""<h2>One prompt, {len(rows)} takes, the best first</h2>
<blockquote>{escape(prompt_text(demo))}</blockquote>
<p>{escape(picked_sentence(demo))} Scores compare takes and have no unit; the truth is what the generator did.</p>
<ol class="takes">
{cards}
</ol>"""


def _card(row: TakeRow, out: Path) -> str:
    audio = row.ranked.candidate.take.audio
    assert isinstance(audio, Path)
    source = escape(quote(audio.relative_to(out).as_posix()))
    score, truth = row.ranked.score, row.truth
    badge = ' <span class="badge">the best</span>' if row.rank == 1 else ""
    return f"""<li{' class="best"' if row.rank == 1 else ""}>
<div class="rank">{row.rank}</div>
<div><h3>{escape(row.name)}{badge}</h3>
<audio controls preload="none" src="{source}" aria-label="{escape(row.name)}"></audio></div>
<div><p class="quiet">score</p><p><strong>{row.ranked.mean:.2f}</strong></p>
<p>musicality {score.musicality:.2f}</p><p>alignment {score.alignment:.2f}</p></div>
<div><p class="quiet">truth, 0 to 1</p><p><strong>{row.quality:.2f}</strong></p>
<p>musicality {truth["musicality"]:.2f} ({escape(row.flaw)})</p>
<p>alignment {truth["alignment"]:.2f} ({escape(row.asked)})</p></div>
</li>"""


def _pairs(demo: Demo) -> str:
    rows = "\n".join(_pair_row(*row) for row in judged_pairs(demo))
    heads = "".join(f"<th>{head}</th>" for head in ("axis", "by", "n", "right", "95 %", "0 to 100 %, chance dashed"))
    return f"""<h2>Pairs whose better take is known</h2>
<p>How often the better take of a pair wins, by the scorer and by null baselines. Seed
{demo.plan.pairs_seed}. {escape(PAIRS_NOTE)} If the scorer’s interval overlaps a null’s, they cannot be told apart.</p>
<div class="scroll"><table>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
{details("By kind of pair", [table_html(table("Small groups say little", demo.accuracies))])}
{details("As a benchmark of reward models: CMI-RewardBench", [table_html(table) for table in demo.rewardbench])}"""


def _pair_row(found: Accuracy, kind: str, name: str, share: Proportion) -> str:
    bar = interval_bar(name, share.value, share.interval, CHANCE, kind)
    cells = (found.axis, name, str(found.n), f"{percent(share.value)} %", interval(share.interval, 0, 100))
    return f'<tr class="{kind}">{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}<td>{bar}</td></tr>'


def _probe(demo: Demo) -> str:
    summary, *tables = demo.probe
    return f"""<h2>What moves the scorer</h2>
<p>A glance at <code>cmi probe</code>: the same songs in other files, with flaws of known strength, and under
prompts that do not fit.</p>
{table_html(summary)}
{details("Every version", [table_html(table) for table in tables])}"""


def _mir(demo: Demo) -> str:
    side_by_side, *listeners = demo.mir
    return f"""<h2>What can be heard</h2>
<p>The other half of cmi is CMI-Bench: questions about music for audio language models. Here they are about clips whose
notes are known, and supervised models (<code>cmi bench run --listener reference</code>) answer them beside nulls that
do not use the audio.</p>
{table_html(side_by_side)}
{details("Every listener in full", [table_html(table) for table in listeners])}"""


def _bench(demo: Demo) -> str:
    scores, *nulls = demo.bench
    return f"""<h2>CMI-Bench on sample answers</h2>
<p>An audio language model’s answers on 14 tasks, written for the demonstration.</p>
{table_html(scores)}
{details("Null baselines", [table_html(table) for table in nulls])}"""


def next_commands(out: Path) -> list[str]:
    takes, mir = (shlex.quote(str(out / name)) for name in ("takes", "mir/annotations"))
    return [
        'cmi score take1.wav take2.wav --text "slow sad piano with rain"',
        f"cmi pick {takes} --copy-to best/",
        "cmi probe nano --pieces 16 --plot probe.png",
        "cmi studio make pairs/ --pairs 1000",
        f"cmi bench run --listener qwen2-audio --data {mir} --out answers/",
        f"cmi bench score answers/ --annotations {mir}",
    ]


def _next(out: Path) -> str:
    commands = "\n".join(next_commands(out))
    return f"""<h2>Next</h2>
<p>The same on your own takes, with more songs, with more pairs, and on your own model’s answers:</p>
<pre>{escape(commands)}</pre>
<p>Your own model is a class: <code>cmi score take1.wav --model my_models:MyScorer</code>.</p>"""
