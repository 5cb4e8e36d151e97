"""Downloads from a real server that disconnects, lies, stalls or redirects: only complete and correct files count."""

import gzip
import hashlib
import threading

import pytest

from harness import RawFile
from harness.errors import DataError
from internals import CHUNK_BYTES, Patience, Watcher, download, patch_internal
from messages import assert_names

CONTENT = bytes(range(256)) * 2000
HASH = hashlib.sha256(CONTENT).hexdigest()
QUICK = Patience(connect_seconds=2, silence_seconds=2, attempts=3, pause_seconds=0.01)


@pytest.fixture
def get(web, tmp_path):
    """Return a function that downloads /file or other paths and collects all reported problems."""

    def get(*paths, sha256=HASH, patience=QUICK, **more):
        """Download /file or another path, and collect all reported problems."""
        urls = tuple(path if "//" in path else web.url(path) for path in paths or ("/file",))
        watcher = Watcher(on_trouble=get.troubles.append, **more)
        return download(RawFile(name="file", urls=urls, sha256=sha256), tmp_path, patience=patience, watcher=watcher)

    get.troubles = []
    return get


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def refusal(get, *paths, **more):
    with pytest.raises(DataError) as caught:
        get(*paths, **more)
    return str(caught.value)


# -- what arrives ----------------------------------------------------------------------------------------------------


def test_a_complete_file_is_stored_with_its_source(web, get, behaviours, tmp_path):
    web["/file"] = behaviours.ranged(CONTENT)
    progress = []
    done = get(on_bytes=lambda name, received, total: progress.append((name, received, total)))
    assert done.path.read_bytes() == CONTENT
    assert done.url == web.url("/file")
    assert progress[-1] == ("file", len(CONTENT), len(CONTENT))
    assert [received for _, received, _ in progress] == sorted(received for _, received, _ in progress)
    assert names(tmp_path) == ["file", "file.from"]


def test_a_complete_and_correct_file_is_not_requested_again(web, get, behaviours):
    web["/file"] = behaviours.ranged(CONTENT)
    first = get()
    assert get() == first
    assert len(web.requests_of("/file")) == 1


def test_a_changed_file_is_downloaded_again(web, get, behaviours):
    web["/file"] = behaviours.ranged(CONTENT)
    get().path.write_bytes(b"changed")
    assert get().path.read_bytes() == CONTENT


def test_an_empty_file_is_a_file(web, get):
    web["/file"] = lambda request: request.send(b"")
    assert get(sha256=hashlib.sha256(b"").hexdigest()).path.read_bytes() == b""


def test_redirects_are_followed(web, get, behaviours):
    web["/file"] = lambda request: request.send(b"", 302, Location="/there")
    web["/there"] = behaviours.ranged(CONTENT)
    assert get().path.read_bytes() == CONTENT


def test_a_compressed_file_stays_compressed_even_with_a_content_encoding(web, get):
    packed = gzip.compress(CONTENT, mtime=0)
    web["/file"] = lambda request: request.send(packed, Content_Encoding="gzip")
    assert get(sha256=hashlib.sha256(packed).hexdigest()).path.read_bytes() == packed
    assert web.requests_of("/file")[0]["Accept-Encoding"] == "identity"


def test_a_file_without_a_known_hash_is_accepted(web, get, behaviours):
    web["/file"] = behaviours.ranged(b"anything")
    assert get(sha256=None).path.read_bytes() == b"anything"


# -- going on --------------------------------------------------------------------------------------------------------


def test_an_interrupted_download_resumes(web, get, behaviours):
    web["/file"] = behaviours.breaking_off(CONTENT, times=2)
    assert get().path.read_bytes() == CONTENT
    ranges = [headers.get("Range") for headers in web.requests_of("/file")]
    assert ranges == [None, f"bytes={len(CONTENT) // 2}-", f"bytes={len(CONTENT) * 3 // 4}-"]
    assert all("; retrying" in trouble for trouble in get.troubles)
    assert len(get.troubles) == 2


def test_a_later_attempt_resumes_where_the_earlier_one_stopped(web, get, behaviours):
    web["/file"] = behaviours.breaking_off(CONTENT, times=1)
    once = Patience(attempts=1)
    refusal(get, patience=once)
    assert get(patience=once).path.read_bytes() == CONTENT
    assert web.requests_of("/file")[1]["Range"] == f"bytes={len(CONTENT) // 2}-"
    assert web.requests_of("/file")[1]["If-Range"] == '"1"'


def test_a_server_without_ranges_sends_the_whole_file_again(web, get, behaviours):
    left = [1]

    def forgetful(request):
        left[0] -= 1
        part = CONTENT if left[0] < 0 else CONTENT[:1000]
        request.send(part, length=len(CONTENT))
        request.close_connection = True

    web["/file"] = forgetful
    assert get().path.read_bytes() == CONTENT
    assert web.requests_of("/file")[1]["Range"] == "bytes=1000-"


def test_parts_of_two_versions_are_not_joined(web, get, behaviours):
    web["/file"] = behaviours.breaking_off(bytes(len(CONTENT)), times=1, tag='"old"')
    refusal(get, patience=Patience(attempts=1))
    web["/file"] = behaviours.ranged(CONTENT, '"new"')
    assert get().path.read_bytes() == CONTENT
    assert get.troubles[1:] == []


def test_mismatched_parts_are_discarded_and_the_whole_file_is_requested(web, get, behaviours):
    web["/file"] = behaviours.breaking_off(bytes(len(CONTENT)), times=1)
    refusal(get, patience=Patience(attempts=1))
    web["/file"] = behaviours.ranged(CONTENT)  # another content under the same tag
    assert get().path.read_bytes() == CONTENT
    assert_names(get.troubles[-1], "together")


def test_a_part_from_another_server_is_not_resumed(web, get, behaviours):
    web["/file"] = behaviours.breaking_off(bytes(len(CONTENT)), times=9)
    web["/mirror"] = behaviours.ranged(CONTENT)
    assert get("/file", "/mirror", patience=Patience(attempts=1)).url == web.url("/mirror")
    assert "Range" not in web.requests_of("/mirror")[0]


def test_an_interrupted_download_is_resumed_before_mirrors_are_tried(web, get, behaviours):
    web["/file"] = lambda request: request.send(b"", 404)
    web["/mirror"] = behaviours.breaking_off(CONTENT, times=1)
    refusal(get, "/file", "/mirror", patience=Patience(attempts=1))
    assert get("/file", "/mirror").url == web.url("/mirror")
    assert web.requests_of("/mirror")[1]["Range"] == f"bytes={len(CONTENT) // 2}-"
    assert len(web.requests_of("/file")) == 1


def test_servers_that_send_nothing_do_not_discard_received_parts(web, get, behaviours):
    web["/file"] = behaviours.breaking_off(CONTENT, times=1)
    web["/mirror"] = lambda request: request.send(b"", 404)
    refusal(get, "/file", "/mirror", patience=Patience(attempts=1))
    assert get("/file", "/mirror").path.read_bytes() == CONTENT
    assert web.requests_of("/file")[1]["Range"] == f"bytes={len(CONTENT) // 2}-"


def test_a_complete_file_that_was_not_renamed_is_not_downloaded_again(web, get, behaviours, tmp_path):
    web["/file"] = behaviours.ranged(CONTENT)
    get().path.rename(tmp_path / "file.part")
    assert get().path.read_bytes() == CONTENT
    assert web.requests_of("/file")[-1]["Range"] == f"bytes={len(CONTENT)}-"


def test_a_part_longer_than_the_file_is_restarted(web, get, behaviours, tmp_path):
    web["/file"] = behaviours.ranged(CONTENT)
    get().path.unlink()
    (tmp_path / "file.part").write_bytes(CONTENT + b"more")
    assert get().path.read_bytes() == CONTENT
    assert "answered 416" in get.troubles[-1]


# -- servers that cannot be trusted ----------------------------------------------------------------------------------


def test_wrong_content_is_rejected_and_set_aside(web, get, tmp_path):
    web["/file"] = lambda request: request.send(b"something else")
    text = refusal(get)
    assert f"SHA-256 {hashlib.sha256(b'something else').hexdigest()}, expected {HASH}" in text
    assert str(tmp_path / "file.refused") in text
    assert (tmp_path / "file.refused").read_bytes() == b"something else"
    assert "file" not in names(tmp_path)
    assert "file.part" not in names(tmp_path)
    assert len(web.requests_of("/file")) == 1  # a retry would give the same


def test_a_mirror_is_tried_when_the_first_server_sends_other_content(web, get, behaviours, tmp_path):
    web["/file"] = lambda request: request.send(b"something else")
    web["/mirror"] = behaviours.ranged(CONTENT)
    assert get("/file", "/mirror").path.read_bytes() == CONTENT
    assert "refused: SHA-256" in get.troubles[0]  # it is reported
    assert (tmp_path / "file.refused").exists()


def test_a_server_that_sends_less_than_declared_is_rejected(web, get, tmp_path):
    def lying(request):
        request.send(CONTENT[request.first_byte() :], length=len(CONTENT) + 1000)
        request.close_connection = True

    web["/file"] = lying
    text = refusal(get, sha256=None)
    assert web.url("/file") in text
    assert "file" not in names(tmp_path)


def test_a_declared_length_below_the_file_size_is_caught_by_the_hash(web, get, tmp_path):
    web["/file"] = lambda request: request.send(CONTENT, length=1000)
    assert "refused: SHA-256" in refusal(get)
    assert (tmp_path / "file.refused").stat().st_size == 1000


def test_a_range_with_another_start_is_not_appended(web, get, behaviours):
    web["/file"] = behaviours.breaking_off(CONTENT, times=1)
    refusal(get, patience=Patience(attempts=1))

    def astray(request):
        if request.first_byte():
            request.send(CONTENT[7:], 206, Content_Range=f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}")
        else:
            request.send(CONTENT)

    web["/file"] = astray
    assert get().path.read_bytes() == CONTENT
    assert "answered 206" in get.troubles[-1]


def test_an_endless_file_is_rejected(web, get, monkeypatch):
    patch_internal(monkeypatch, "downloads.MOST_BYTES", 10_000)
    web["/file"] = lambda request: request.send(CONTENT)
    assert_names(refusal(get, sha256=None), "10,000")


# -- servers that do not answer --------------------------------------------------------------------------------------


def test_an_unreachable_address_is_named_once_in_the_error(get):
    address = "http://127.0.0.1:1/file"  # no server listens there
    text = refusal(get, address)
    assert text.splitlines()[1:] == [f"  {address}: {text.partition(f'{address}: ')[2]}"]
    assert text.count("Connection refused") == 1
    assert "HTTPConnection" not in text
    assert get.troubles == []


def test_a_missing_file_is_requested_once_and_then_from_its_mirror(web, get, behaviours):
    web["/file"] = lambda request: request.send(b"", 404)
    web["/mirror"] = behaviours.ranged(CONTENT)
    assert get("/file", "/mirror").url == web.url("/mirror")
    assert len(web.requests_of("/file")) == 1
    assert get.troubles == [f"{web.url('/file')}: the server answered 404 Not Found"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_error_is_retried(web, get, behaviours, status):
    left = [2]

    def recovering(request):
        left[0] -= 1
        request.send(b"", status) if left[0] >= 0 else behaviours.ranged(CONTENT)(request)

    web["/file"] = recovering
    assert get().path.read_bytes() == CONTENT


def test_a_silent_server_times_out(web, get):
    over = threading.Event()
    web["/file"] = lambda request: over.wait(20)
    text = refusal(get, patience=Patience(silence_seconds=0.2, attempts=2, pause_seconds=0.01))
    over.set()
    assert_names(text, "0.2")
    assert len(web.requests_of("/file")) == 2


def test_a_download_resumes_after_the_server_stalls(web, get, behaviours):
    over = threading.Event()

    def stalling(request):
        web["/file"] = behaviours.ranged(CONTENT)  # the next time
        request.send(CONTENT[:100_000], length=len(CONTENT), ETag='"1"')
        over.wait(20)
        request.close_connection = True

    web["/file"] = stalling
    assert get(patience=Patience(silence_seconds=0.3, pause_seconds=0.01)).path.read_bytes() == CONTENT
    over.set()
    assert web.requests_of("/file")[1]["Range"] == f"bytes={CHUNK_BYTES}-"
    assert_names(get.troubles[0], "0.3")


def test_every_failed_address_is_named_with_its_reason(web, get):
    web["/file"] = lambda request: request.send(b"", 403)
    nobody = "http://127.0.0.1:1/file"  # no server listens there
    text = refusal(get, "/file", nobody, "gopher://127.0.0.1/file", patience=Patience(attempts=1))
    assert_names(text, "file")
    assert_names(text, f"{web.url('/file')}", "403")
    assert f"{nobody}: " in text
    assert "refused" in text
    assert_names(text, "gopher://127.0.0.1/file")


def test_a_redirect_loop_ends(web, get):
    web["/file"] = lambda request: request.send(b"", 302, Location="/file")
    assert "redirects" in refusal(get)
