"""The reward over HTTP: routes, and the OpenAPI description of what they take."""

import asyncio
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from cmi import __version__
from cmi._util.errors import HttpRefusal, InputError
from cmi._util.web_requests import as_refusal, refusal_response
from cmi.report.html import page
from cmi.reward.model.validation import validation_notes, validation_record
from cmi.reward.scoring.calibration import Calibration
from cmi.reward.scoring.scorers import ScoredTake
from cmi.serve.bodies import (
    CompareAnswer,
    CompareBody,
    FailedTake,
    RankAnswer,
    RankBody,
    RankedTake,
    RefusalBody,
    ScoreAnswer,
    ScoreBody,
    TakeScore,
    VerlAnswer,
    VerlBody,
)
from cmi.serve.guard import LIMITS, ServeLimits, ServeMetrics, ServeMiddleware
from cmi.serve.score_queue import ScoreQueue
from cmi.serve.takes import FORM, Folders, SentTake, make_take, named_waveform, read_body, sent_takes
from cmi.take import Prompt, Take

READERS = 4  # threads that decode
VALIDATED_ON = "X-CMI-Validated-On"  # for clients that take nothing but numbers in an answer
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": RefusalBody, "description": said}
    for status, said in {
        400: "The request cannot be parsed.",
        401: "The token is missing or wrong.",
        403: "The path is outside the folders that this server may read.",
        408: "The request took too long to arrive.",
        413: "The request is too large.",
        415: "The request is compressed.",
        421: "Another host.",
        422: "A field or a recording is not as expected; the message says which.",
        429: "Too many takes are waiting: try again after the seconds in Retry-After.",
        503: "A process of the model was lost (--ray): try again after the seconds in Retry-After.",
    }.items()
}
FORM_SCHEMA = {
    "type": "object",
    "required": ["audio"],
    "additionalProperties": False,
    "properties": {
        "audio": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}},
        "text": {"type": "string"},
        "lyrics": {"type": "string"},
        "generator": {"type": "string"},
        "reference": {"type": "string", "format": "binary"},
    },
}


def create_app(
    queue: ScoreQueue,
    metrics: ServeMetrics | None = None,
    limits: ServeLimits = LIMITS,
    token: str | None = None,
    allowed: Sequence[Path] = (),
    calibration: Calibration | None = None,
) -> FastAPI:
    """Create the ASGI application; closing the queue is up to the caller. `allowed` are folders of readable files."""
    app = FastAPI(title="cmi serve", version=__version__, docs_url=None, redoc_url=None)
    metrics = metrics or ServeMetrics()
    routes = _Routes(queue, metrics, Folders(allowed), calibration)
    routes.add_to(app)
    paths = frozenset(route.path for route in app.routes)  # type: ignore[attr-defined]
    app.add_middleware(ServeMiddleware, limits=limits, token=token, metrics=metrics, paths=paths)
    for kind in (RequestValidationError, HTTPException):  # the others go up to the middleware
        app.add_exception_handler(kind, lambda _, error: refusal_response(as_refusal(error)))
    return app


class _Routes:
    def __init__(
        self, queue: ScoreQueue, metrics: ServeMetrics, folders: Folders, calibration: Calibration | None
    ) -> None:
        self._queue = queue
        self._metrics = metrics
        self._folders = folders
        self._calibration = calibration
        self._model = calibration.name if calibration else queue.scorer.name
        self._about: dict[str, Any] = {"model": self._model, **validation_record(queue.scorer.name)}
        self._axes = [axis for axis in queue.scorer.axes if axis != "overall"]
        self._readers = ThreadPoolExecutor(READERS, "cmi-read")

    def add_to(self, app: FastAPI) -> None:
        json_bodies: dict[str, type[BaseModel]] = {
            "/score": ScoreBody,
            "/compare": CompareBody,
            "/rank": RankBody,
            "/verl-omni": VerlBody,
        }
        for path, body in json_bodies.items():
            content: dict[str, Any] = {
                "application/json": {"schema": {"$ref": f"#/components/schemas/{body.__name__}"}}
            }
            if body is ScoreBody:
                content[FORM] = {"schema": FORM_SCHEMA}
            route = getattr(self, path.strip("/").replace("-", "_"))
            extra = {"requestBody": {"required": True, "content": content}}
            app.post(path, responses=REFUSALS, openapi_extra=extra)(route)
        app.get("/healthz")(self.healthz)
        app.get("/metrics", response_class=PlainTextResponse)(self.metrics)
        app.get("/", response_class=HTMLResponse, include_in_schema=False)(self.describe(app))
        described, bodies = app.openapi, list(json_bodies.values())

        def openapi() -> dict[str, Any]:
            schema = described()
            _, defined = models_json_schema(
                [(body, "validation") for body in bodies], ref_template="#/components/schemas/{model}"
            )
            schema["components"]["schemas"].update(defined["$defs"])
            return schema

        app.openapi = openapi  # type: ignore[method-assign]

    async def score(self, request: Request) -> ScoreAnswer:
        """Score one take or several; each has its own score, or the reason why it has none."""
        async with sent_takes(request, self._folders) as sent:
            answers = await self._ask(sent)
            scored = [self._take_score(take, answer) for take, answer in zip(sent, answers, strict=True)]
        if all(isinstance(one, FailedTake) for one in scored):
            assert isinstance(scored[0], FailedTake)
            raise HttpRefusal("sound", scored[0].error, 422)
        return ScoreAnswer(**self._about, takes=scored)

    async def compare(self, request: Request) -> CompareAnswer:
        """Say how probably take a is preferred to take b."""
        body = await self._body(request, CompareBody)
        a, b = await self._scores(body, {"a": body.a, "b": body.b})
        chance: dict[str, Any] = {
            axis: _logistic(getattr(a, axis) - getattr(b, axis)) for axis in ("musicality", "alignment", "overall")
        }
        preferred: Literal["a", "b", "tie"] = "tie" if a.overall == b.overall else "a" if a.overall > b.overall else "b"
        return CompareAnswer(**self._about, **chance, preferred=preferred, a=a, b=b)

    async def rank(self, request: Request) -> RankAnswer:
        """Rank takes of one prompt, best first; equal ones stay in their order."""
        body = await self._body(request, RankBody)
        scores = await self._scores(body, {f"take {i}": sound for i, sound in enumerate(body.takes, 1)})
        ranked = [RankedTake(index=i, **score.model_dump()) for i, score in enumerate(scores)]
        return RankAnswer(**self._about, ranking=sorted(ranked, key=lambda take: -getattr(take, body.by)))

    async def verl_omni(self, request: Request, response: Response) -> VerlAnswer:
        """Answer a reward request of verl-omni, version 1, with the overall score and both axes."""
        body = await self._body(request, VerlBody)
        sound = await run_in_threadpool(
            named_waveform, body.waveform_f32_base64, body.sample_rate, "waveform_f32_base64"
        )
        if sound.samples.size != body.num_samples:
            said = f"num_samples is {body.num_samples}, but waveform_f32_base64 holds {sound.samples.size}"
            raise HttpRefusal("sound", said, 422)
        stated = {name: body.metadata.get(name, "") for name in ("lyrics", "generator")}
        lyrics, generator = (value if isinstance(value, str) else "" for value in stated.values())
        sent = SentTake(Take(Prompt(body.prompt, lyrics), sound), None, {}, generator)
        score = (await self._require_scores([sent]))[0]
        seconds = sound.seconds if score.seconds is None else score.seconds
        if "validated_on" in self._about:
            response.headers[VALIDATED_ON] = self._about["validated_on"]
        scores = {"musicality": score.musicality, "alignment": score.alignment}
        return VerlAnswer(score=score.overall, **scores, seconds=seconds, noted=int(bool(score.notes)))

    async def healthz(self) -> dict[str, str]:
        """Tell that the server is up, which model it serves, and what that was validated on."""
        return self._about

    async def metrics(self) -> PlainTextResponse:
        """Tell Prometheus how much was asked, scored and remembered."""
        self._metrics.waiting.set(self._queue.waiting)
        self._metrics.remembered.set(self._queue.answered_from_memory)
        return PlainTextResponse(generate_latest(self._metrics.registry), media_type=CONTENT_TYPE_LATEST)

    def describe(self, app: FastAPI) -> Any:
        def show() -> str:
            rows = "\n".join(
                f"<dt><code>{escape(method.upper())} {escape(path)}</code></dt><dd>{escape(about['description'])}</dd>"
                for path, methods in app.openapi()["paths"].items()
                for method, about in methods.items()
            )
            about = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in validation_notes(self._model))
            body = (
                f"<h1>cmi serve</h1>\n<p>{escape(self._model)} scores music here.</p>\n{about}<dl>\n{rows}\n</dl>\n"
                '<p>All fields and answers: <a href="openapi.json">openapi.json</a>.</p>'
            )
            return page("cmi serve", body)

        return show

    async def _body(self, request: Request, kind: type[BaseModel]) -> Any:
        return await run_in_threadpool(read_body, await request.body(), kind)

    async def _scores(self, body: CompareBody | RankBody, sounds: dict[str, Any]) -> list[TakeScore]:
        def make() -> list[SentTake]:
            return [make_take(body, sound, self._folders, where) for where, sound in sounds.items()]

        return await self._require_scores(await run_in_threadpool(make))

    async def _require_scores(self, sent: Sequence[SentTake]) -> list[TakeScore]:
        scores = []
        for take, answer in zip(sent, await self._ask(sent), strict=True):
            score = self._take_score(take, answer)
            if isinstance(score, FailedTake):
                raise HttpRefusal("sound", score.error, 422)
            scores.append(score)
        return scores

    async def _ask(self, sent: Sequence[SentTake]) -> list[ScoredTake | InputError]:
        takes = [one.take for one in sent]
        asked = await asyncio.get_running_loop().run_in_executor(self._readers, self._queue.ask, takes)
        return await asyncio.gather(*map(asyncio.wrap_future, asked))

    def _take_score(self, sent: SentTake, answer: ScoredTake | InputError) -> TakeScore | FailedTake:
        if self._calibration is not None:
            answer = self._calibration.apply(answer, sent.generator)
        if isinstance(answer, InputError):
            return FailedTake(id=sent.id, error=sent.explain(answer))
        both = answer.score._asdict()
        overall = sum(both[axis] for axis in self._axes) / len(self._axes)
        return TakeScore(id=sent.id, **both, overall=overall, seconds=answer.seconds, notes=list(answer.notes))


def _logistic(x: float) -> float:
    return 0.5 * (1 + math.tanh(x / 2))
