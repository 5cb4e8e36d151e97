"""What tests share: a mark by which all processes that they start are found again, and a server that misbehaves."""

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

MARK = "HARNESS_TEST_MARK"


class Marked:
    """The processes that carry the mark of this test session, zombies left out."""

    def __init__(self, mark):
        self.words = f"{MARK}={mark}".encode()

    def alive(self):
        """Process ids and what they are."""
        found = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                if self.words in (folder / "environ").read_bytes().split(b"\0"):  # a zombie's is empty
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def left_behind(self, known=(), seconds=30.0):
        """What is still alive beyond the known ones after that long; nothing, as soon as nothing is."""
        deadline = time.monotonic() + seconds
        while (left := {pid: what for pid, what in self.alive().items() if pid not in known}) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.05)
        return left


@pytest.fixture(scope="session")
def marked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, uuid.uuid4().hex)
        yield Marked(os.environ[MARK])


@pytest.fixture
def nothing_left(marked):
    """After the test, nothing is alive that was not before."""
    known = set(marked.alive())
    yield
    assert marked.left_behind(known) == {}


@pytest.fixture(scope="module")
def catalog():
    """What the plugins bring, as a user has it: a broken one is no error."""
    from harness.host import discover

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HARNESS_STRICT_PLUGINS", raising=False)
        yield discover()


class Request(BaseHTTPRequestHandler):
    """A request that the behaviour for its path answers."""

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.server.behaviour[self.path](self)

    def log_message(self, *_):
        pass

    def send(self, content, status=200, length=None, **headers):
        """Answer; `length` is what the server says, whatever it sends."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def first_byte(self):
        """Where the client wants to go on; 0 when it wants the whole."""
        return int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))


class Web:
    """A server on this machine: `web["/file"] = behaviour`, a function of the request."""

    def __init__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self.server.behaviour, self.server.asked = {}, []
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def __setitem__(self, path: str, behaviour: Callable[[Request], None]) -> None:
        self.server.behaviour[path] = behaviour

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    def asked(self, path):
        """The headers of the requests for a path, in order."""
        return [headers for asked, headers in self.server.asked if asked == path]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    web = Web()
    yield web
    web.close()


def ranged(content, tag='"1"'):
    """A server that can go on from any byte."""

    def behaviour(request):
        first = request.first_byte()
        if request.headers.get("If-Range", tag) != tag:
            first = 0
        if first >= len(content):
            request.send(b"", 416, Content_Range=f"bytes */{len(content)}")
        elif first:
            request.send(
                content[first:], 206, ETag=tag, Content_Range=f"bytes {first}-{len(content) - 1}/{len(content)}"
            )
        else:
            request.send(content, ETag=tag)

    return behaviour


def breaking_off(content, times=1, after=None, tag='"1"'):
    """A server that can go on, but closes the connection half-way for the first few times."""
    left = [times]

    def behaviour(request):
        left[0] -= 1
        if left[0] < 0:
            ranged(content, tag)(request)
            return
        first = request.first_byte()
        end = first + (len(content) - first) // 2 if after is None else after
        rest = len(content) - first
        headers = {"ETag": tag}
        if first:
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        request.send(content[first:end], 206 if first else 200, length=rest, **headers)
        request.close_connection = True

    return behaviour


@pytest.fixture
def behaviours():
    """Ways in which a server may behave."""
    from types import SimpleNamespace

    return SimpleNamespace(ranged=ranged, breaking_off=breaking_off)
