"""Serve a model over HTTP: predictions as JSON, an OpenAPI schema, metrics for Prometheus, and a small web page.

A worker process predicts the rows of all waiting requests in one call. It makes one call at a time, since learners may
not be thread-safe. Several workers share the port.
"""

# There is no `from __future__ import annotations`, since FastAPI evaluates annotations of functions inside `make_app`.
import asyncio
import base64
import hashlib
import json
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib import resources
from ipaddress import ip_address
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from pydantic import BaseModel, Field, ValidationError
from starlette.requests import ClientDisconnect
from uvicorn.supervisors import Multiprocess

from harness.errors import ModelError
from harness.models.back_off import path_to
from harness.models.card import describe_model
from harness.models.model import Model, load_model

SETTINGS = "HARNESS_SERVE"
"""Environment variable that passes the settings to worker processes as JSON."""
MOST_EXPLAINED = 20
"""Most texts of a request with `explain`, since an explanation costs more than a prediction."""
MOST_TOGETHER = 100
"""Number of waiting requests that are answered without waiting for more."""
APP = "harness.models.serve:app_from_environment"
"""Import path from which worker processes start."""
MOST_CLASSES = 100_000
"""Most classes in an answer, over all rows, and in the answers that are in memory together."""
MOST_ERRORS = 20
"""Most errors in the answer to an invalid request."""
MOST_SHOWN = 1_000
"""Longest value, as characters of JSON, that an error of an invalid request repeats."""
ANSWER_SECONDS = 60
"""Time in which a worker process must answer its parent. uvicorn's 5 s are too short on a busy machine: while a worker
imports its packages it does not answer, and would be replaced again and again."""
GRACE = 10
"""Time in seconds for running requests to finish after a signal."""
Receive = Callable[[], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class ServeSettings:
    """Settings of a server: the model, the address, the token and the limits of requests."""

    model: str
    """Folder of the model."""
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    token: str = ""
    """Secret that clients send as `Authorization: Bearer TOKEN`; empty if they need none."""
    most_bytes: int = 1_000_000
    """Maximum size of the body of a request. A larger one gets status 413."""
    most_rows: int = 1_000
    """Maximum number of rows of a request. A larger number gets status 413."""
    trust: tuple[str, ...] = ()
    """Types that the model may load, as the argument `trusted` of `load_model`."""
    plugins_dirs: tuple[str, ...] = ()
    """Folders with further plugins."""

    @property
    def is_open(self) -> bool:
        """True if other machines may reach the server without a token."""
        if self.token or self.host == "localhost":
            return False
        try:
            return not ip_address(self.host).is_loopback
        except ValueError:  # a host name, which may resolve to any address
            return True


# -- requests and responses ------------------------------------------------------------------------------------------


class Batch(BaseModel):
    """Options of a request."""

    model_config = {"extra": "forbid"}
    top: Annotated[int, Field(ge=1, description="Classes per row.")] = 1
    backoff: Annotated[
        float | None, Field(gt=0, le=1, description="Also return the deepest taxonomy node that is this sure.")
    ] = None


class TextBatch(Batch):
    """Texts to classify."""

    texts: Annotated[list[str], Field(min_length=1, fail_fast=True, examples=[["night nurse", "steel welder"]])]
    explain: Annotated[bool, Field(description="Also return what each word adds to the first class.")] = False


class RowBatch(Batch):
    """Rows of numbers to classify."""

    rows: Annotated[
        list[Annotated[list[float], Field(fail_fast=True)]],
        Field(min_length=1, fail_fast=True, description="One list of feature values for each row."),
    ]


class RankedClass(BaseModel):
    """A class with its score."""

    name: str
    score: float | None = Field(None, description="Absent if the learner has no scores.")
    path: list[str] = Field([], description="Names of the nodes above the class, if the model has a taxonomy.")


class TaxonomyNode(BaseModel):
    """The deepest node of the taxonomy that is sure enough."""

    name: str
    depth: int = Field(description="Edges between the root and the node.")
    confidence: float = Field(description="Probability that the true class is below the node.")


class Prediction(BaseModel):
    """The best classes of one row, best first. Empty if the model knows nothing in the row."""

    text: str | None = None
    confidence: float | None = Field(None, description="Probability that the first class is right.")
    classes: list[RankedClass]
    node: Annotated[TaxonomyNode | None, Field(description="Present with `backoff`.")] = None
    explanation: Annotated[dict[str, Any] | None, Field(description="Present with `explain`: see `Model.explain`.")] = (
        None
    )


class Predictions(BaseModel):
    """One prediction for each row of the request, in its order."""

    predictions: list[Prediction]


def predict_batch(
    model: Model, rows: Sequence[Any], top: int, backoff: float | None = None, explain: bool = False
) -> list[Prediction]:
    """Return the `top` best classes of each text or row of numbers.

    Parameters
    ----------
    model
        The model.
    rows
        Texts, or rows of numbers.
    top
        Number of classes of a row.
    backoff
        Confidence of the taxonomy node that is returned too; None for no node.
    explain
        True to explain each text.

    Raises
    ------
    ModelError
        If the rows do not fit the model, or if it has no taxonomy or no scores for `backoff`.
    """
    found = model.answer(rows, min(top, len(model.classes)))
    nodes = None if backoff is None else model.back_off(rows, backoff)
    predictions = []
    for place, names in enumerate(found.names):
        text = rows[place] if model.manifest.takes_text else None
        classes = []
        for rank, name in enumerate(names):
            if name:
                score = None if found.scores is None else float(found.scores[place, rank])
                path = path_to(model.taxonomy, int(found.positions[place, rank]))
                classes.append(RankedClass(name=name, score=score, path=path))
        confidence = None if found.confidence is None else float(found.confidence[place])
        prediction = Prediction(text=text, confidence=confidence, classes=classes)
        if nodes is not None:
            depth, sure = int(nodes.depth[place]), float(nodes.confidence[place])
            prediction.node = TaxonomyNode(name=str(nodes.names[place]), depth=depth, confidence=sure)
        if explain:
            prediction.explanation = model.explain(rows[place]).to_plain()
        predictions.append(prediction)
    return predictions


@dataclass(frozen=True)
class _Request:
    """Rows that wait for their predictions, and the options of the request."""

    rows: list[Any]
    top: int
    backoff: float | None
    explain: bool
    answer: asyncio.Future[list[Prediction]]


class _Batcher:
    """Predicts the rows of all waiting requests in one call, since a call costs much more than a further row."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.waiting: list[_Request] = []

    async def predict(self, rows: list[Any], batch: Batch, explain: bool) -> list[Prediction]:
        """Return the predictions of a request, as `predict_batch` does."""
        loop = asyncio.get_running_loop()
        request = _Request(rows, batch.top, batch.backoff, explain, loop.create_future())
        self.waiting.append(request)
        if len(self.waiting) == 1:
            loop.call_soon(self._gather, loop, 0)
        return await request.answer

    def _gather(self, loop: asyncio.AbstractEventLoop, before: int) -> None:
        """Answer the waiting requests once no further one arrives.

        The event loop reads the requests that have arrived between two calls, and does not pause.
        """
        if before < len(self.waiting) < MOST_TOGETHER:
            loop.call_soon(self._gather, loop, len(self.waiting))
            return
        groups: dict[Any, list[_Request]] = {}
        for request in self._take_first():
            groups.setdefault((request.top, request.backoff, request.explain), []).append(request)
        for group in groups.values():
            self._answer(group)
        if self.waiting:  # after the answers are sent
            loop.call_soon(self._gather, loop, len(self.waiting))

    def _take_first(self) -> list[_Request]:
        """Remove and return the first waiting requests: one, or several with at most `MOST_CLASSES` classes in all."""
        taken = classes = 0
        for request in self.waiting:
            classes += len(request.rows) * min(request.top, len(self.model.classes))
            if taken and classes > MOST_CLASSES:
                break
            taken += 1
        first, self.waiting = self.waiting[:taken], self.waiting[taken:]
        return first

    def _answer(self, group: list[_Request]) -> None:
        """Answer requests with the same options; one by one if they fail together."""
        first = group[0]
        try:
            every = [row for request in group for row in request.rows]
            found = predict_batch(self.model, every, first.top, first.backoff, first.explain)
        except Exception as error:  # code of a plugin can raise any error
            if len(group) > 1:
                for request in group:
                    self._answer([request])
            elif not first.answer.done():
                first.answer.set_exception(error)
            return
        start = 0
        for request in group:
            if not request.answer.done():  # the client may have left
                request.answer.set_result(found[start : start + len(request.rows)])
            start += len(request.rows)


# -- application -----------------------------------------------------------------------------------------------------


class _Metrics:
    """Prometheus counters of one worker, in a separate registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("path", "status")
        self.requests = Counter("harness_requests", "Requests.", labels, registry=self.registry)
        self.rows = Counter("harness_predictions", "Classified rows.", registry=self.registry)
        self.seconds = Histogram("harness_request_seconds", "Seconds per request.", ("path",), registry=self.registry)


def make_app(model: Model, settings: ServeSettings) -> FastAPI:
    """Return the web application that serves a model.

    Parameters
    ----------
    model
        A loaded model.
    settings
        Token and limits. Host, port and workers are for `serve`.
    """
    app = FastAPI(title="harness", description=f"Predictions of {model.manifest.learner.name}.", version="1")
    metrics = _Metrics()
    page, policy = _page()
    description = describe_model(model.manifest, model.taxonomy)

    # Asynchronous, since FastAPI runs other functions in a thread, which takes longer than the comparison.
    async def check_token(authorization: Annotated[str, Header()] = "") -> None:
        given = authorization[7:] if authorization[:7].lower() == "bearer " else authorization
        given_bytes = given.encode("latin-1", "replace")  # the encoding of headers
        if settings.token and not secrets.compare_digest(given_bytes, settings.token.encode()):
            raise HTTPException(
                401, "wrong or missing token: send `Authorization: Bearer TOKEN`", {"WWW-Authenticate": "Bearer"}
            )

    guarded = [Depends(check_token)]

    app.add_exception_handler(RequestValidationError, _refuse)

    @app.head("/health", include_in_schema=False)
    @app.get("/health")
    async def health() -> dict[str, str]:
        """Return ok as soon as the model is loaded."""
        return {"status": "ok"}

    @app.get("/model", dependencies=guarded)
    async def about() -> dict[str, Any]:
        """Return the model's learner, data and expected accuracy, and its card."""
        return description

    batcher = _Batcher(model)

    async def predict(rows: list[Any], batch: Batch, explain: bool = False) -> Response:
        most = MOST_EXPLAINED if explain else settings.most_rows
        if len(rows) > most:
            raise HTTPException(413, f"{len(rows):,} rows in one request, at most {most:,} are allowed")
        top = min(batch.top, len(model.classes))
        if len(rows) * top > MOST_CLASSES:
            wanted = f"{len(rows):,} rows x {top:,} classes"
            raise HTTPException(413, f"{wanted} in one answer, at most {MOST_CLASSES:,} are allowed: lower `top`")
        try:
            found = await batcher.predict(rows, batch, explain)
        except ModelError as error:
            raise HTTPException(422, str(error)) from None
        metrics.rows.inc(len(rows))
        text = Predictions(predictions=found).model_dump_json(exclude_unset=True)  # FastAPI would validate it again
        return Response(text, media_type="application/json")

    # These endpoints block the event loop instead of running in a thread: a thread costs more than the prediction of a
    # few rows, and learners may not be thread-safe.
    async def predict_texts(batch: TextBatch) -> Response:
        """Predict the classes of texts, with scores and a calibrated confidence."""
        return await predict(batch.texts, batch, batch.explain)

    async def predict_rows(batch: RowBatch) -> Response:
        """Predict the classes of rows of numbers, with scores and a calibrated confidence."""
        widths = {len(row) for row in batch.rows}
        if len(widths) > 1:
            raise HTTPException(422, f"rows have different numbers of values, from {min(widths):,} to {max(widths):,}")
        return await predict(batch.rows, batch)

    app.router.add_api_route(
        "/predict",
        predict_texts if model.manifest.takes_text else predict_rows,
        methods=["POST"],
        dependencies=guarded,
        response_model=Predictions,
        route_class_override=_direct_route(TextBatch if model.manifest.takes_text else RowBatch, check_token),
    )

    @app.get("/metrics", dependencies=guarded)
    async def prometheus() -> Response:
        """Return the counters of this worker in the format of Prometheus."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.head("/", include_in_schema=False)
    @app.get("/", include_in_schema=False)
    async def front() -> HTMLResponse:
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    app.add_middleware(
        _Observed,
        metrics=metrics,
        most_bytes=settings.most_bytes,
        known={"/health", "/model", "/predict", "/metrics", "/", "/docs", "/openapi.json"},
    )
    return app


def _direct_route(kind: type[Batch], check_token: Callable[[str], Awaitable[None]]) -> type[APIRoute]:
    """Return a route that reads valid requests of a kind itself, and leaves all others to FastAPI.

    FastAPI takes longer to read a request than the model to predict a text among others. Its reading is the reference:
    it also describes the interface and the errors.
    """

    class DirectRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle_by_fastapi = super().get_route_handler()

            async def handle(request: Request) -> Response:
                batch = await _read_directly(request, kind)
                if batch is None:
                    return await handle_by_fastapi(request)  # reads the kept body
                await check_token(request.headers.get("authorization", ""))
                response: Response = await self.endpoint(batch)
                return response

            return handle

    return DirectRoute


async def _read_directly(request: Request, kind: type[Batch]) -> Batch | None:
    """Return the body as a valid request of a kind; None if it is not valid, or not surely JSON in UTF-8."""
    if request.headers.get("content-type") != "application/json":
        return None
    try:
        return kind.model_validate_json(await request.body())
    except (ValidationError, ClientDisconnect):
        return None


async def _refuse(request: Request, error: Exception) -> Response:
    """Return the first errors of an invalid request, as FastAPI does, but without values that are long or no JSON."""
    assert isinstance(error, RequestValidationError)
    errors = []
    for found in error.errors()[:MOST_ERRORS]:
        shown = {key: value for key, value in found.items() if key != "input"}
        value = found.get("input")
        if isinstance(value, bytes):  # FastAPI has not read it as JSON
            shown["msg"] = "Send JSON with the header `Content-Type: application/json`"
        else:
            with suppress(ValueError, RecursionError):  # NaN, or nested too deeply
                if len(json.dumps(value, allow_nan=False)) <= MOST_SHOWN:
                    shown["input"] = value
        errors.append(shown)
    text = json.dumps({"detail": errors}, separators=(",", ":"))  # in ASCII, since a value may be no valid Unicode
    return Response(text, 422, media_type="application/json")


class _Observed:
    """Middleware that limits the size of requests, counts them, and writes an access log of JSON lines.

    The log never contains texts of requests.
    """

    def __init__(self, app: Any, metrics: _Metrics, most_bytes: int, known: set[str]) -> None:
        self.app, self.metrics, self.most_bytes, self.known = app, metrics, most_bytes, known
        self._counters = cache(
            lambda path, status: (metrics.requests.labels(path, status), metrics.seconds.labels(path))
        )

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def noting(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, _limited(receive, scope, self.most_bytes), noting)
        finally:
            self._note(scope, status, time.perf_counter() - started)

    def _note(self, scope: dict[str, Any], status: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self.known else "other"  # else made-up paths could fill the registry
        requests, durations = self._counters(path, status)
        requests.inc()
        durations.observe(seconds)
        client = scope["client"][0] if scope.get("client") else ""
        line = {
            "time": _format_second(int(time.time())),
            "client": client,
            "method": scope["method"],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(1000 * seconds, 3),
        }
        sys.stderr.write(json.dumps(line) + "\n")


@lru_cache(maxsize=1)  # many lines have the same second
def _format_second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))


def _limited(receive: Receive, scope: dict[str, Any], most: int) -> Receive:
    """Return a `receive` that raises status 413 for a body over the limit, independent of the Content-Length header."""
    seen = 0

    async def limited() -> dict[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, f"the request's body exceeds {most:,} bytes: send fewer rows at a time")
        return message

    return limited


def _page() -> tuple[str, str]:
    """Return the web page, and a content security policy that allows only the script and the style in the page."""
    page = (resources.files("harness.models") / "files" / "serve.html").read_text(encoding="utf-8")
    hashes = {}
    for tag in ("script", "style"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        hashes[tag] = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{hashes['script']}'; style-src 'sha256-{hashes['style']}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page, policy


# -- server ----------------------------------------------------------------------------------------------------------


def serve(settings: ServeSettings, say: Callable[[str], None]) -> None:
    """Serve a model until SIGINT or SIGTERM. Running requests are finished first.

    Parameters
    ----------
    settings
        The model, the address and the limits. Port 0 selects a free port.
    say
        Receives a line with the address when the port is open.

    Raises
    ------
    ModelError
        If the model cannot be loaded, or if the address cannot be used.
    """
    _load(settings)  # to report errors before the port is opened
    os.environ[SETTINGS] = json.dumps(asdict(settings))
    opened = _bind(settings)
    host, port = opened.getsockname()[:2]
    say(f"serving {settings.model} on http://{host}:{port} (stop with Ctrl-C)")
    config = uvicorn.Config(
        APP,
        factory=True,
        host=settings.host,
        port=port,
        workers=settings.workers,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=ANSWER_SECONDS,
    )
    with opened, suppress(KeyboardInterrupt):  # a signal is the ordinary end of a server
        if settings.workers == 1:
            uvicorn.Server(config).run(sockets=[opened])
        else:
            Multiprocess(config, sockets=[opened]).run()


def app_from_environment() -> FastAPI:
    """Return the application with the settings in the environment variable. Worker processes start here."""
    plain = json.loads(os.environ.pop(SETTINGS))
    settings = ServeSettings(**plain)
    return make_app(_load(settings), settings)


def _load(settings: ServeSettings) -> Model:
    return load_model(settings.model, trusted=settings.trust, plugins_dirs=settings.plugins_dirs)


def _bind(settings: ServeSettings) -> socket.socket:
    """Return a socket that is bound to the address; raise ModelError if that fails."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets that name the protocol. Without it, answers wait up to 40 ms.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((settings.host, settings.port))
    except OSError as error:
        opened.close()
        raise ModelError(
            f"cannot listen there: {error.strerror}",
            culprit=f"{settings.host}:{settings.port}",
            next_step="Choose another --host or --port; --port 0 takes a free one.",
        ) from None
    return opened
