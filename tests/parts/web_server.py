"""A local web server with programmable behaviour."""

import contextlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Request(BaseHTTPRequestHandler):
    """A request, answered by the behaviour for its path."""

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers)))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.server.behaviour[self.path](self)

    def log_message(self, *_):
        pass

    def send(self, content, status=200, length=None, **headers):
        """Send a response; `length` is the declared length, which may differ."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def first_byte(self):
        """Return the requested start of a range; 0 for the whole file."""
        return int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))


class Web:
    """A local server: `web["/file"] = behaviour`, a function of the request."""

    def __init__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self.server.behaviour, self.server.requests = {}, []
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def __setitem__(self, path: str, behaviour: Callable[[Request], None]) -> None:
        self.server.behaviour[path] = behaviour

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    def requests_of(self, path):
        """Return the headers of the requests for a path, in order."""
        return [headers for requested, headers in self.server.requests if requested == path]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def ranged(content, tag='"1"'):
    """Return a behaviour that supports ranges."""

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
    """Return a behaviour with ranges that closes the connection half-way for the first few requests."""
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
