"""The demonstration's page: takes and pairs to listen to, the probe, MIR and CMI-Bench, each with a comment."""

import shlex
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path

from cmi.critic import observe
from cmi.demo.mir import AnsweredClip
from cmi.demo.run import Demo, JudgedPair
from cmi.demo.tables import (
    PAIRS_NOTE,
    TakeRow,
    judged_pairs,
    notice_pairs,
    notice_takes,
    pairs_to_hear,
    prompt_text,
    take_rows,
)
from cmi.probe.accuracy import Accuracy, Proportion, table
from cmi.report.html import cells, details, fact_list, interval_bar, page, table_html, table_of_rows
from cmi.report.numbers import interval, percent
from cmi.report.players import Link, link_from, moment, player, read_outline, wave
from cmi.report.tables import Table
from cmi.reward.model.validation import validation_notes
from cmi.take import Take

CHANCE = 0.5
LONGEST_ANSWER = 70  # characters of an answer that are shown


def page_of(demo: Demo, out: Path) -> str:
    """Write the HTML; recordings are linked relative to `out`, the page's folder."""
    link = link_from(out)
    parts = [_head(demo), _takes(demo, link), _pairs(demo, link), _probe(demo), _mir(demo, link), _bench(demo)]
    style = files("cmi.demo").joinpath("page.css").read_text(encoding="utf-8")
    return page("cmi: a demonstration", "\n".join([*parts, _next(out)]), style)


def _head(demo: Demo) -> str:
    validated = "".join(f"<p>{escape(sentence)}</p>" for sentence in validation_notes(demo.model))
    return f"""<h1>What cmi measured on this machine</h1>
<p>All music here was made by cmi’s studio, so the right answers are known by construction. No people were asked, and
nano was trained on such music, though not on these pieces.</p>
{validated}
{fact_list({"Scored by": demo.model, **demo.versions})}"""


def _notice(sentences: str) -> str:
    return f'<p class="notice">{escape(sentences)}</p>'


def _takes(demo: Demo, link: Link) -> str:
    rows = take_rows(demo)
    cards = "\n".join(_card(row, link) for row in rows)
    return f"""<h2>One prompt, {len(rows)} takes, the best first</h2>
<blockquote>{escape(prompt_text(demo))}</blockquote>
{_notice(notice_takes(demo))}
<p class="quiet">Scores compare takes and have no unit; the truth, from 0 to 1, is what the generator did. A click on a
waveform plays from there; what is said with a time was found by measurement alone, without a model.</p>
<ol class="takes">
{cards}
</ol>"""


def _card(row: TakeRow, link: Link) -> str:
    score, truth, audio = row.ranked.score, row.truth, row.ranked.audio
    badge = ' <span class="badge">picked</span>' if row.rank == 1 else ""
    observed = observe(audio)
    said = "".join(moment(row.name, one.start, one.sentence) for one in observed)
    said += "".join(f"<li>{escape(note)}</li>" for note in row.ranked.notes)
    marked = [(one.start, one.end) for one in observed]
    return f"""<li class="take{" best" if row.rank == 1 else ""}">
<div><h3>{row.rank}. {escape(row.name)}{badge}</h3>
<p>score <strong>{row.ranked.mean:.2f}</strong>: musicality {score.musicality:.2f}, alignment {score.alignment:.2f}</p>
<p>truth <strong>{row.quality:.2f}</strong>: musicality {truth["musicality"]:.2f} ({escape(row.flaw)}), alignment
{truth["alignment"]:.2f} ({escape(row.asked)})</p></div>
<div>{_playable(row.name, audio, link, marked)}
<ul class="observations">{said}</ul></div>
</li>"""


def _playable(name: str, audio: Path, link: Link, marked: Iterable[tuple[float, float]] = ()) -> str:
    outline = read_outline(audio)
    short = [(start, end) for start, end in marked if end - start < outline.seconds / 2]
    return f"{wave(name, outline, short)}\n{player(name, link(audio))}"


def _pairs(demo: Demo, link: Link) -> str:
    rows = [_pair_row(*row) for row in judged_pairs(demo)]
    head = cells(["axis", "by", "n", "right", "95 %", "0 to 100 %, chance dashed"], "th")
    heard = "\n".join(_pair_to_hear(title, one, link) for title, one in pairs_to_hear(demo).items())
    return f"""<h2>Pairs whose better take is known</h2>
{_notice(notice_pairs(demo))}
{table_of_rows("How often the better take of a pair wins", head, rows)}
<p class="quiet">Seed {demo.plan.pairs_seed}. {escape(PAIRS_NOTE)}</p>
{heard}
{details("By kind of pair", [table_html(table("Small groups say little", demo.accuracies))])}
{details("As a benchmark of reward models: CMI-RewardBench", [table_html(table) for table in demo.rewardbench])}"""


def _pair_row(found: Accuracy, kind: str, name: str, share: Proportion) -> str:
    bar = interval_bar(name, share.value, share.interval, CHANCE, kind)
    texts = (found.axis, name, str(found.n), f"{percent(share.value)} %", interval(share.interval, 0, 100))
    return f'<tr class="{kind}">{cells(texts)}<td>{bar}</td></tr>'


def _pair_to_hear(title: str, judged: JudgedPair, link: Link) -> str:
    question = judged.question
    about = f"{question.axis}: the worse take has {judged.difference}; the scores differ by {judged.margin:.2f}."
    takes = {"the better take": question.better, "the worse take": question.worse}
    cards = "\n".join(_take_of_pair(f"{name}, {title.lower()}", name, take, link) for name, take in takes.items())
    return f"""<h3>{escape(title)}</h3>
<p class="quiet">{escape(about.capitalize())} Asked for: {escape(question.better.prompt.text)}</p>
<ol class="takes two">
{cards}
</ol>"""


def _take_of_pair(label: str, name: str, take: Take, link: Link) -> str:
    assert isinstance(take.audio, Path)
    return f'<li class="take"><div><h4>{escape(name)}</h4>\n{_playable(label, take.audio, link)}</div></li>'


def _probe(demo: Demo) -> str:
    summary, *tables = demo.probe
    return f"""<h2>What moves the scorer</h2>
{_noticed(summary)}
<p class="quiet">A glance at <code>cmi probe</code>: the same songs in other files, with flaws of known strength, and
under prompts that do not fit.</p>
{details("Every version", [table_html(table) for table in tables])}"""


def _noticed(shown: Table) -> str:
    """A table whose first note is what to notice, which comes before it."""
    return f"{_notice(shown.notes[0])}\n{table_html(replace(shown, notes=shown.notes[1:]))}"


def _mir(demo: Demo, link: Link) -> str:
    main, *others = demo.mir.tables
    clips = "\n".join(_clip(clip, link) for clip in demo.mir.clips)
    return f"""<h2>Questions about clips</h2>
{_noticed(main)}
<p class="quiet">The other half of cmi is CMI-Bench: questions about music for audio language models. Here they are
about clips whose notes are known; supervised models (<code>cmi bench run --listener reference</code>) answer.</p>
{details("Listen to the clips, with the right answers and the listener’s", [f'<ol class="takes two">{clips}</ol>'])}
{details("Every listener in full", [table_html(table) for table in others])}"""


def _clip(clip: AnsweredClip, link: Link) -> str:
    rows = [cells(textwrap.shorten(text, LONGEST_ANSWER) for text in answer) for answer in clip.answers]
    head, name = cells(["question", "truth", "answer"], "th"), clip.audio.stem
    return (
        f'<li class="take"><div><h3>{escape(name)}</h3>\n{_playable(name, clip.audio, link)}\n'
        f"{table_of_rows(f'answers about {name}', head, rows)}</div></li>"
    )


def _bench(demo: Demo) -> str:
    main, *others = demo.bench.tables
    return f"""<h2>CMI-Bench on sample answers</h2>
{_noticed(main)}
<p class="quiet">The answers to questions of 14 tasks were written for the demonstration; your model’s are scored in
the same way.</p>
{details("Every metric, and the null baselines", [table_html(table) for table in others])}"""


def next_commands(out: Path) -> list[str]:
    takes, mir = (shlex.quote(str(out / name)) for name in ("takes", "mir/annotations"))
    return [
        'cmi score take1.wav take2.wav --text "slow sad piano with rain"',
        f"cmi pick {takes} --copy-to best/",
        f"cmi report {takes}",
        "cmi probe nano --pieces 16 --plot probe.png",
        "cmi studio make pairs/ --pairs 1000",
        f"cmi bench run --listener qwen2-audio --data {mir} --out answers/",
        f"cmi bench score answers/ --annotations {mir}",
    ]


def _next(out: Path) -> str:
    commands = "\n".join(next_commands(out))
    return f"""<h2>Next</h2>
<p>The same on your own takes, with more songs, with more pairs, and on your own model’s answers:</p>
<pre tabindex="0">{escape(commands)}</pre>
<p>Your own model is a class: <code>cmi score take1.wav --model my_models:MyScorer</code>.</p>"""
