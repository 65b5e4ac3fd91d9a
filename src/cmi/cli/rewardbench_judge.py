"""`cmi rewardbench judge`: a judge beside the models of a run."""

from pathlib import Path
from typing import Annotated

import typer

from cmi.cli.judge import AudioFrom, EndpointFile, KeyEnv, MaxCalls, MaxCost, MaxTokens, Model, PromptName, TieBand, Url


def judge(
    folder: Annotated[Path, typer.Argument(help="A folder of `cmi rewardbench run`.", show_default=False)],
    model: Model = "",
    url: Url = "",
    endpoint: EndpointFile = None,
    key_env: KeyEnv = "",
    audio_from: AudioFrom = None,
    prompt: PromptName = "two-axes",
    one_order: Annotated[bool, typer.Option("--one-order", help="Ask about a, b alone, not about b, a.")] = False,
    tie_band: TieBand = 0.0,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
) -> None:
    """Have a judge, such as an audio LLM behind an endpoint, hear the pairs of a run, and put it beside the models.

    Pairs are heard in both orders; the take that is chosen gets 1, the other 0, the mean counts. Rated takes are not
    asked about. `cmi rewardbench table` then shows the judge like any model. The same command resumes.

    Examples:

        cmi rewardbench judge runs/nano --url http://localhost:8000/v1 --model my-model

        cmi rewardbench judge runs/nano --endpoint gemini.toml --max-cost 20
    """
    from rich.console import Console

    from cmi._util.errors import InputError
    from cmi._util.hub import require_packages
    from cmi._util.printable import printable
    from cmi.cli.judge import spec_of
    from cmi.cli.progress import progress
    from cmi.cli.waiting import tell_waits
    from cmi.report.tables import print_tables

    require_packages("a judge in CMI-RewardBench", "judge", "httpx", "soundfile", "soxr")
    from cmi.judge.as_scores import pair_scores, scored_axes
    from cmi.judge.load_judge import open_judge
    from cmi.judge.pairs import NamedPair
    from cmi.judge.report import run_table
    from cmi.judge.run import askings, judge_pairs
    from cmi.rewardbench.data import data_folder
    from cmi.rewardbench.runs.run_folder import About, judge_folder, read_items, write_pair_scores
    from cmi.take import Pair

    asked_of = (one.item for one in read_items(folder) if one.item.is_pair and one.item.other_prompt is None)
    items = {f"{item.dataset} {item.id}": item for item in asked_of}
    if not items:
        raise InputError(f"{folder}: no pairs under one prompt in it, and a judge is asked about those alone")
    pairs = [NamedPair(name, Pair(item.prompt, *item.takes), {}, {}) for name, item in items.items()]
    folders = [folder, data_folder(), *(audio_from or [])]
    spec = spec_of(model, url, endpoint, key_env, folders, prompt, tie_band, max_calls, max_tokens, max_cost)
    place = judge_folder(folder, f"{model} {url} {endpoint or ''} {prompt} {tie_band}")
    asked = askings(pairs, both_orders=not one_order)
    with open_judge(spec, place, pairs) as judging, progress() as bar:
        task = bar.add_task(f"pairs judged by {judging.name}", total=len(asked))
        tell_waits(judging, bar, task)
        judged = judge_pairs(asked, judging, place, lambda done: bar.advance(task, done))
    found = {(items[name].dataset, items[name].id): scores for name, scores in pair_scores(judged).items()}
    write_pair_scores(folder, About(judged.judge, scored_axes(judged)), found)
    print_tables([run_table(judged)], Console())
    print(f"cmi rewardbench table {printable(str(folder))} shows it beside the models.")
