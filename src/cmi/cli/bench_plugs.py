"""`cmi bench inspect-log` and `cmi bench lmms-eval`: CMI-Bench for people who use another harness."""

from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import require_extra
from cmi.cli.options import Protocol
from cmi.cli.output import note
from cmi.cli.progress import progress


def inspect_log(
    responses: Annotated[Path, typer.Argument(help="A response file, or a folder of them.")],
    annotations: Annotated[Path, typer.Option(help="Folder of annotation files.")],
    out: Annotated[Path, typer.Option(help="Folder of the logs.")],
    protocol: Annotated[Protocol, typer.Option(help="Scoring protocol.")] = "strict",
) -> None:
    """Write answers and scores as Inspect logs for its viewer, one for each model and data set.

    To have Inspect ask a model itself, use `inspect eval cmi/cmi_bench`.

    Example:

        cmi bench inspect-log answers/ --annotations annotations/ --out logs/, then  inspect view --log-dir logs/
    """
    with require_extra("writing logs of Inspect", "plugs"):
        from cmi.plugs.inspect_task import write_logs

    for path in write_logs(responses, annotations, out, protocol):
        print(path)


def lmms_eval(
    data: Annotated[list[Path], typer.Argument(help="Annotation files `CMI_<data set>.jsonl`, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder of the task files.")],
    tasks: Annotated[
        list[str] | None, typer.Option(help="Only these tasks (key, beat, ...) or data sets (GS_key, ...).")
    ] = None,
    audio: Annotated[Path | None, typer.Option(help="Folder that audio paths are relative to.")] = None,
    data_at: Annotated[
        str, typer.Option(help="Data set on the hub, OWNER/NAME, to which you will upload OUT/data.")
    ] = "",
) -> None:
    """Write CMI-Bench as task files of lmms-eval, with the clips.

    Example:

        cmi bench lmms-eval annotations/ --out lmms/, then
        lmms-eval --model qwen2_audio --include_path lmms/ --tasks cmi_bench
    """
    from cmi.plugs.lmms_tasks import write_tasks

    with progress() as bar:
        written = write_tasks(data, out, tasks or (), audio, data_at, bar.stepper("clips"))
    for path in written:
        print(path)
    note(f"for lmms-eval: --include_path {out} --tasks cmi_bench")
