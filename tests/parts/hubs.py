"""Local servers that implement the parts of the Hub's and OpenML's protocols that their clients use."""

import contextlib
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Server:
    """Responds by `answer(path)` with status, content and headers; `requests` lists the paths in order."""

    def __init__(self, answer):
        self.requests = requests = []

        class Request(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))  # else it counts as the next request
                path = unquote(urlsplit(self.path).path)
                requests.append(path)
                status, content, headers = answer(path)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                        self.wfile.write(content)

            do_HEAD = do_GET  # noqa: N815 (the server requires this name)
            do_POST = do_GET  # noqa: N815 (the same)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


# -- the Hub ---------------------------------------------------------------------------------------------------------


def hub_server(repos):
    """Return a Hub with these datasets, as files by path. All have one commit, and a branch `v2`."""

    def answer(path):
        found = re.fullmatch(r"/(?:api/)?datasets/([^/]+/[^/]+)(?:/(\w+(?:-info)?)(?:/([^/]+)(?:/(.+))?)?)?", path)
        if found is None or found[1] not in repos:
            return 404, b"{}", {"X-Error-Code": "RepoNotFound"}
        name, what, revision, file = found.groups()
        if revision not in (None, "main", "v2", COMMIT):
            return 404, b"{}", {"X-Error-Code": "RevisionNotFound"}
        if what == "resolve":
            return _file(repos[name].get(file))
        return 200, json.dumps(_described(name, what, repos[name], file)).encode(), {"Content-Type": "application/json"}

    return Server(answer)


def _file(content):
    if content is None:
        return 404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}
    return 200, content, {"ETag": f'"{_blob(content)}"', "X-Repo-Commit": COMMIT}


def _described(name, what, files, folder):
    """Return the response about a dataset, its content or a folder."""
    if what == "tree":
        return list(_listing(files, f"{folder}/" if folder else ""))
    if what == "paths-info":
        return [_entry(file, content) for file, content in files.items()]
    siblings = [{"rfilename": file} for file in files]
    return {"_id": "1", "id": name, "sha": COMMIT, "private": False, "tags": [], "siblings": siblings}


def _listing(files, prefix):
    folders = {}
    for file, content in files.items():
        head, slash, _ = file.removeprefix(prefix).partition("/")
        if file.startswith(prefix) and slash:
            folders[prefix + head] = {"type": "directory", "path": prefix + head, "size": 0, "oid": "0" * 40}
        elif file.startswith(prefix):
            yield _entry(file, content)
    yield from folders.values()


def _entry(file, content):
    return {"type": "file", "path": file, "size": len(content), "oid": _blob(content)}


def _blob(content):
    """Return git's object id of a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


# -- OpenML ----------------------------------------------------------------------------------------------------------

DESCRIPTION = """<oml:data_set_description xmlns:oml="http://openml.org/openml">
<oml:id>{number}</oml:id><oml:name>small</oml:name><oml:version>3</oml:version><oml:description>d</oml:description>
<oml:format>{format}</oml:format><oml:licence>Public</oml:licence><oml:file_id>{number}</oml:file_id>
<oml:url>{url}/data/v1/download/{number}/small.arff</oml:url>{more}<oml:visibility>public</oml:visibility>
<oml:status>active</oml:status><oml:md5_checksum>{md5}</oml:md5_checksum></oml:data_set_description>"""
UNKNOWN = b"""<oml:error xmlns:oml="http://openml.org/openml"><oml:code>111</oml:code>
<oml:message>Unknown dataset</oml:message></oml:error>"""


def openml_server(sets):
    """Return an OpenML server with datasets by number; `arff` is the content of the file."""

    def answer(path):
        found = re.search(r"/(?:data|download)/(\d+)", path)
        if found is None or int(found[1]) not in sets:
            return 412, UNKNOWN, {"Content-Type": "text/xml"}
        facts = dict(sets[int(found[1])])
        content = facts.pop("arff").encode()
        if "download" in path:
            return 200, content, {}
        facts.setdefault("md5", hashlib.md5(content).hexdigest())
        facts.setdefault("format", "ARFF")
        more = "".join(f"<oml:{key}>{facts[key]}</oml:{key}>" for key in facts.keys() - {"md5", "format"})
        description = DESCRIPTION.format(
            number=found[1], url=server.url, more=more, md5=facts["md5"], format=facts["format"]
        )
        return 200, description.encode(), {"Content-Type": "text/xml"}

    server = Server(answer)
    return server
