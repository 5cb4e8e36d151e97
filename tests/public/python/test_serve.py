"""A model behind HTTP, over a real server: predictions, limits, token, metrics, log, page and shutdown."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
import requests
import uvicorn

import harness
from browser import start_browser
from internals import ServeSettings, bind_address, make_app, patch_internal
from topic_model import fit_topics, new_topics

TEXTS = ["steel welder", "ward nurse", "看護師"]


@pytest.fixture(scope="module")
def start():
    """Start a server of a model in a thread and return its address."""
    stops = []

    def run(model, **settings):
        config = uvicorn.Config(make_app(model, ServeSettings("any", **settings)), port=0, log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        stops.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    yield run
    for server, thread in stops:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def address(start, model):
    return start(model, most_rows=50, most_bytes=10_000)


@pytest.fixture
def sizes(monkeypatch):
    """Return a list that gets the number of rows of each prediction."""
    answer, sizes = harness.Model.answer, []

    def counted(self, rows, k=1):
        sizes.append(len(rows))
        return answer(self, rows, k)

    monkeypatch.setattr(harness.Model, "answer", counted)
    return sizes


def post(address, body, **more):
    return requests.post(f"{address}/predict", json=body, timeout=30, **more)


def post_together(app, bodies, turns_between=0):
    """Send requests to an application at the same time, or some turns of the event loop apart; return all answers."""

    async def send_one(place, body):
        for _ in range(place * turns_between):
            await asyncio.sleep(0)
        content, sent = json.dumps(body).encode(), []

        async def receive():
            return {"type": "http.request", "body": content}

        async def send(message):
            sent.append(message)

        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"", "headers": headers}
        await app(scope, receive, send)
        return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent))

    async def send_all():
        return await asyncio.gather(*map(send_one, range(len(bodies)), bodies))

    return asyncio.run(send_all())


# -- predictions -----------------------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_model(address, model):
    found = post(address, {"texts": TEXTS, "top": 3}).json()["predictions"]
    expected = model.answer(TEXTS, 3)
    for place, prediction in enumerate(found):
        names = [one["name"] for one in prediction["classes"]]
        assert names == [name for name in expected.names[place] if name]
        scores = [one["score"] for one in prediction["classes"]]
        assert scores == pytest.approx(expected.scores[place][: len(scores)].tolist())
        assert prediction["confidence"] == pytest.approx(expected.confidence[place])
        assert prediction["text"] == TEXTS[place]
    assert found[2]["classes"] == []


def test_requests_that_wait_together_are_predicted_together_and_get_their_own_answers(model, sizes):
    bodies = []
    for number in range(12):
        texts = (TEXTS * 2)[number % 3 : number % 3 + 1 + number % 4]
        bodies.append({"texts": texts, "top": 1 + number % 2})
    found = post_together(make_app(model, ServeSettings("any")), bodies)
    assert len(sizes) == 2  # one for each `top`
    assert sum(sizes) == sum(len(body["texts"]) for body in bodies)
    for body, (status, got) in zip(bodies, found, strict=True):
        assert status == 200
        (alone,) = post_together(make_app(model, ServeSettings("any")), [body])
        assert got == alone[1]
        assert [one["text"] for one in got["predictions"]] == body["texts"]


def test_a_bad_request_fails_alone_when_others_wait_with_it():
    X = np.random.default_rng(0).random((60, 3))
    model = harness.fit("pa", (X, np.where(X[:, 0] > 0.5, "high", "low")))
    good, bad = {"rows": [[0.9, 0.1, 0.1]]}, {"rows": [[0.9]]}
    found = post_together(make_app(model, ServeSettings("any")), [good, bad, good])
    assert [status for status, _ in found] == [200, 422, 200]
    assert found[0][1]["predictions"][0]["classes"][0]["name"] == "high"
    assert found[0][1] == found[2][1]


def test_requests_that_arrive_one_after_the_other_are_predicted_together(model, sizes):
    """A further request reaches the application in a later turn of the event loop, before the first is answered."""
    found = post_together(make_app(model, ServeSettings("any")), [{"texts": TEXTS}] * 3, turns_between=1)
    assert sizes == [9]
    assert [status for status, _ in found] == [200] * 3


def test_no_request_waits_for_an_endless_row_of_others(model, sizes):
    post_together(make_app(model, ServeSettings("any")), [{"texts": TEXTS[:1]}] * 250, turns_between=1)
    assert sum(sizes) == 250
    assert max(sizes) <= 101


@pytest.mark.parametrize(("most", "expected"), [(6, [3, 3, 3]), (11, [3, 3, 3]), (12, [6, 3]), (18, [9])])
def test_requests_for_many_classes_are_predicted_in_turn_to_limit_the_memory(model, sizes, monkeypatch, most, expected):
    app, bodies = make_app(model, ServeSettings("any")), [{"texts": TEXTS, "top": 2}] * 3
    expected_answers = post_together(app, bodies)
    sizes.clear()
    patch_internal(monkeypatch, "serve.MOST_CLASSES", most)
    assert post_together(app, bodies) == expected_answers
    assert sizes == expected


PLAIN = json.dumps({"texts": ["steel welder"], "top": 2}).encode()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (PLAIN, "application/json; charset=utf-8"),
        (PLAIN, "application/vnd.api+json"),
        (PLAIN.replace(b"2", b"2.0"), "application/json"),
        (PLAIN.replace(b"2", b'"2"'), "application/json"),
        (PLAIN.replace(b"{", b'{"top": 1, '), "application/json"),
        (b"\xef\xbb\xbf" + PLAIN, "application/json"),
        (PLAIN.decode().encode("utf-16"), "application/json"),
    ],
)
def test_requests_that_mean_the_same_get_the_same_answer(address, body, kind):
    headers = {"Content-Type": "application/json"}
    expected = requests.post(f"{address}/predict", data=PLAIN, headers=headers, timeout=30).json()
    found = requests.post(f"{address}/predict", data=body, headers={"Content-Type": kind}, timeout=30)
    assert found.json() == expected
    assert len(expected["predictions"][0]["classes"]) == 2


@pytest.mark.parametrize("body", [PLAIN, b"\xff"])
def test_a_body_of_another_type_is_refused_with_the_type_to_send(address, body):
    refused = requests.post(f"{address}/predict", data=body, headers={"Content-Type": "text/plain"}, timeout=30)
    assert refused.status_code == 422
    assert "Content-Type: application/json" in refused.json()["detail"][0]["msg"]


def test_more_classes_than_exist_are_all_classes(address, model):
    (found,) = post(address, {"texts": ["steel welder"], "top": 10**9}).json()["predictions"]
    assert len(found["classes"]) == len(model.classes)


def test_a_request_may_ask_for_an_explanation_and_for_a_node(address, model):
    (plain,) = post(address, {"texts": TEXTS[:1], "top": 1, "explain": False, "backoff": None}).json()["predictions"]
    assert set(plain) == {"text", "confidence", "classes"}
    (explained,) = post(address, {"texts": TEXTS[:1], "explain": True}).json()["predictions"]
    assert explained["explanation"] == json.loads(json.dumps(model.explain(TEXTS[0]).to_plain()))
    assert post(address, {"texts": TEXTS * 10, "explain": True}).status_code == 413


def test_a_node_is_returned_if_the_model_has_a_taxonomy(start, address, tmp_path):
    refused = post(address, {"texts": TEXTS, "backoff": 0.9})
    assert (refused.status_code, "taxonomy" in refused.json()["detail"]) == (422, True)
    model = fit_topics(tmp_path)
    texts = new_topics()[0][:5]
    found = post(start(model), {"texts": texts, "backoff": 0.5}).json()["predictions"]
    expected = model.back_off(texts, 0.5)
    assert [(one["node"]["name"], one["node"]["depth"]) for one in found] == [
        (str(name), int(depth)) for name, depth in zip(expected.names, expected.depth, strict=True)
    ]


def test_rows_of_numbers_are_classified_too(start):
    generator = np.random.default_rng(0)
    X = generator.random((60, 3))
    model = harness.fit("pa", (X, np.where(X[:, 0] > 0.5, "high", "low")))
    address = start(model)
    (found,) = post(address, {"rows": [[0.9, 0.1, 0.1]]}).json()["predictions"]
    assert found["classes"][0]["name"] == "high"
    refused = post(address, {"rows": [[0.9]]})
    assert refused.status_code == 422
    ragged = post(address, {"rows": [[0.9, 0.1, 0.1], [0.9]]})
    assert (ragged.status_code, "from 1 to 3" in ragged.json()["detail"]) == (422, True)


def test_the_model_describes_itself(address):
    found = requests.get(f"{address}/model", timeout=30).json()
    assert found["learner"] == "pa"
    assert found["input"] == "texts"
    assert found["data"]["classes"] == 4
    assert 0 < found["expected_accuracy"] <= 1
    assert found["card"]["facts"]["representation"] == "words"


def test_the_interface_is_described(address):
    paths = requests.get(f"{address}/openapi.json", timeout=30).json()["paths"]
    assert {"/predict", "/model", "/health", "/metrics"} <= set(paths)
    described = paths["/predict"]["post"]
    assert "TextBatch" in json.dumps(described["requestBody"])
    assert "/Predictions" in json.dumps(described["responses"]["200"])
    assert described["description"].startswith("Predict the classes of texts")
    assert requests.get(f"{address}/docs", timeout=30).ok
    assert requests.get(f"{address}/health", timeout=30).json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["/", "/health"])
def test_monitors_may_ask_for_the_head_only(address, path):
    found = requests.head(f"{address}{path}", timeout=30)
    assert (found.status_code, found.content) == (200, b"")


# -- bad requests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        ({"texts": []}, "texts"),
        ({"texts": "one"}, "texts"),
        ({"texts": [1]}, "texts"),
        ({"rows": [[1.0]]}, "texts"),
        ({"texts": ["a"], "top": 0}, "top"),
        ({"texts": ["a"], "tpo": 3}, "tpo"),
        ({}, "texts"),
    ],
)
def test_a_wrong_request_names_the_field(address, body, culprit):
    refused = post(address, body)
    assert refused.status_code == 422
    assert culprit in json.dumps(refused.json())


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 5000, b"\xff\xfe", b"null"])
def test_a_body_that_is_no_request_is_refused(address, body):
    refused = requests.post(f"{address}/predict", data=body, headers={"Content-Type": "application/json"}, timeout=30)
    assert refused.status_code in (400, 422)


@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        (b'{"texts": ["a"], "backoff": NaN}', "backoff"),
        (b'{"texts": ["a"], "backoff": -Infinity}', "backoff"),
        (b'{"texts": [NaN]}', "texts"),
        (b'{"texts": ["a"], "top": NaN}', "top"),
        (b'{"texts": ["a"], "\\ud800": 1}', "body"),
        (b'{"texts": ["a"], "deep": ' + b"[" * 900 + b"]" * 900 + b"}", "deep"),
    ],
)
def test_values_that_an_answer_cannot_repeat_are_refused_too(address, body, culprit):
    refused = requests.post(f"{address}/predict", data=body, headers={"Content-Type": "application/json"}, timeout=30)
    assert refused.status_code == 422
    assert culprit in refused.json()["detail"][0]["loc"]


def test_a_refusal_repeats_short_values_only(address):
    long, short = post(address, {"texts": ["a"], "much": "y" * 5000, "wrong": "y" * 50}).json()["detail"]
    assert "input" not in long
    assert short["input"] == "y" * 50


@pytest.mark.parametrize("body", [{"texts": [1] * 3000}, {"texts": ["a"], **{f"x{n}": 1 for n in range(500)}}])
def test_a_request_with_many_errors_gets_a_short_answer(address, body):
    refused = post(address, body)
    assert refused.status_code == 422
    assert 1 <= len(refused.json()["detail"]) <= 20


def test_too_many_classes_in_one_answer_are_refused(start, model):
    address = start(model, most_rows=30_000)
    assert post(address, {"texts": ["a"] * 25_000, "top": 4}).ok
    refused = post(address, {"texts": ["a"] * 25_001, "top": 10**12})
    assert refused.status_code == 413
    assert "25,001 rows x 4 classes" in refused.json()["detail"]


def test_a_client_that_leaves_within_a_request_is_no_error_of_the_server(start, model, capfd):
    address = start(model)
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        connection.sendall(b"Content-Length: 50\r\n\r\n{")
    counted, deadline = "", time.monotonic() + 30
    while 'path="/predict"' not in counted and time.monotonic() < deadline:
        counted = requests.get(f"{address}/metrics", timeout=30).text
    assert 'harness_requests_total{path="/predict",status="400"} 1.0' in counted
    assert "Traceback" not in capfd.readouterr().err


def test_too_many_rows_are_refused(address):
    assert post(address, {"texts": ["a"] * 50}).ok
    refused = post(address, {"texts": ["a"] * 51})
    assert refused.status_code == 413
    assert "50" in refused.json()["detail"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused_whether_or_not_it_declares_its_size(address, chunked):
    body = json.dumps({"texts": ["a" * 10_000]}).encode()
    data = (body[at : at + 1000] for at in range(0, len(body), 1000)) if chunked else body
    refused = requests.post(f"{address}/predict", data=data, headers={"Content-Type": "application/json"}, timeout=30)
    assert refused.status_code == 413


# -- token -----------------------------------------------------------------------------------------------------------


def test_with_a_token_every_client_needs_it(start, model):
    address = start(model, token="sécret")
    for path in ("model", "metrics"):
        assert requests.get(f"{address}/{path}", timeout=30).status_code == 401
    for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}):
        assert post(address, {"texts": TEXTS}, headers=header).status_code == 401
    for scheme in ("Bearer", "bearer"):
        assert post(address, {"texts": TEXTS}, headers={"Authorization": f"{scheme} sécret".encode()}).ok
    assert requests.get(f"{address}/health", timeout=30).ok


@pytest.mark.parametrize(
    ("host", "token", "is_open"),
    [
        ("127.0.0.1", "", False),
        ("::1", "", False),
        ("localhost", "", False),
        ("0.0.0.0", "", True),
        ("0.0.0.0", "secret", False),
        ("example.org", "", True),
    ],
)
def test_an_address_that_other_machines_reach_is_open_without_a_token(host, token, is_open):
    assert ServeSettings("m", host=host, token=token).is_open is is_open


def test_small_answers_are_sent_at_once():
    """asyncio sets TCP_NODELAY only on connections of a socket that names its protocol."""
    with bind_address(ServeSettings("m", port=0)) as opened:
        assert opened.proto == socket.IPPROTO_TCP


# -- metrics and log -------------------------------------------------------------------------------------------------


def test_metrics_count_requests_and_rows(start, model):
    address = start(model)
    post(address, {"texts": TEXTS})
    post(address, {"texts": []})
    requests.get(f"{address}/no/such/path", timeout=30)
    found = requests.get(f"{address}/metrics", timeout=30).text
    assert 'harness_requests_total{path="/predict",status="200"} 1.0' in found
    assert 'harness_requests_total{path="/predict",status="422"} 1.0' in found
    assert 'harness_requests_total{path="other",status="404"} 1.0' in found
    assert "harness_predictions_total 3.0" in found
    assert 'harness_request_seconds_count{path="/predict"} 2.0' in found


def test_the_access_log_has_no_texts(start, model, capfd):
    address = start(model)
    post(address, {"texts": ["steel welder"]})
    entries, errors = [], ""
    deadline = time.monotonic() + 30
    # Requests of an earlier test may still be written to the log.
    while not any(entry["path"] == "/predict" for entry in entries) and time.monotonic() < deadline:
        errors += capfd.readouterr().err
        complete = errors[: errors.rfind("\n") + 1].splitlines()
        entries = [json.loads(line) for line in complete if line.startswith("{")]
    [found] = [entry for entry in entries if entry["path"] == "/predict"]
    assert (found["method"], found["status"]) == ("POST", 200)
    assert found["ms"] > 0
    assert "welder" not in errors


# -- page ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    driver = start_browser()
    yield driver
    driver.quit()


def shown(driver, wanted, seconds=60):
    """Wait until the page's text has some words."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        text = driver.find_element("tag name", "main").text
        if wanted in text:
            return text
        time.sleep(0.05)
    raise AssertionError(text)


def test_the_page_shows_ranked_classes_with_bars(browser, address):
    browser.get(address)
    shown(browser, "expected accuracy")
    browser.find_element("id", "text").send_keys("steel welder")
    browser.find_element("tag name", "button").click()
    assert "21" in shown(browser, "Confidence").split()
    assert len(browser.find_elements("tag name", "meter")) == 4
    assert {mark.text for mark in browser.find_elements("tag name", "mark")} <= {"steel", "welder"}
    assert browser.find_element("id", "words").text == "steel welder"
    assert [entry for entry in browser.get_log("browser") if "Security" in entry["message"]] == []


@pytest.mark.parametrize(("width", "is_below"), [(1280, False), (390, True)])
def test_bars_stand_beside_the_names_or_below_them_in_a_narrow_window(browser, address, width, is_below):
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.get(address)
        browser.find_element("id", "text").send_keys("steel welder")
        browser.find_element("tag name", "button").click()
        shown(browser, "Confidence")
        name, bar = (browser.find_element("css selector", f"li {tag}").rect for tag in ("div", "meter"))
        assert (bar["y"] >= name["y"] + name["height"]) is is_below
        assert browser.execute_script("return document.documentElement.scrollWidth") == width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_an_error_replaces_an_earlier_prediction_on_the_page(browser, address):
    browser.get(address)
    text = browser.find_element("id", "text")
    text.send_keys("steel welder")
    browser.find_element("tag name", "button").click()
    shown(browser, "Confidence")
    browser.execute_script("arguments[0].value = 'a'.repeat(20000)", text)
    browser.find_element("tag name", "button").click()
    assert "exceeds" in shown(browser, "exceeds")
    assert browser.find_elements("tag name", "meter") == []


def test_the_page_asks_for_the_token(browser, start, model):
    browser.get(start(model, token="secret"))
    shown(browser, "Enter the token")
    browser.find_element("id", "token").send_keys("wrong")
    browser.find_element("id", "text").send_keys("bread")
    browser.find_element("tag name", "button").click()
    shown(browser, "The token is wrong")
    browser.find_element("id", "token").clear()
    browser.find_element("id", "text").clear()
    browser.find_element("id", "token").send_keys("secret")
    browser.find_element("id", "text").send_keys("bread baker")
    browser.find_element("tag name", "button").click()
    assert "22" in shown(browser, "Confidence").split()


# -- the command -----------------------------------------------------------------------------------------------------


@contextmanager
def served(*arguments):
    """Run the command on a free port; yield its process and the address."""
    command = [sys.executable, "-m", "harness", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        address = re.search(r"http://\S+", process.stderr.readline()).group()
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop the server
        try:
            wait_for(address)
            yield process, address
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_command_serves_until_a_signal_and_ends_well(kept_model, workers):
    with served(kept_model, "--workers", workers) as (process, address):
        assert post(address, {"texts": ["steel welder"]}).json()["predictions"][0]["classes"][0]["name"] == "21"
    assert process.returncode == 0


PLUGIN = """
from harness import LearnerSpec, hookimpl
from sklearn.naive_bayes import MultinomialNB


class Mine(MultinomialNB):
    pass


@hookimpl
def harness_learners():
    return [LearnerSpec(name="mine-in-a-folder", load="served_plugin:Mine")]
"""


def test_worker_processes_find_plugins_in_a_folder(tmp_path):
    pytest.importorskip("skops")
    plugins, folder = tmp_path / "plugins", tmp_path / "mine.model"
    plugins.mkdir()
    (plugins / "served_plugin.py").write_text(PLUGIN)
    rows = (["night nurse", "steel welder"] * 20, ["nurse", "welder"] * 20)
    harness.fit("mine-in-a-folder", rows, representation="words", plugins_dirs=[plugins], out=folder)
    with served(folder, "--workers", 2, "--plugins-dir", plugins) as (_, address):
        assert post(address, {"texts": ["a welder"]}).json()["predictions"][0]["classes"][0]["name"] == "welder"


def wait_for(address):
    deadline = time.monotonic() + 120
    while True:
        try:
            return requests.get(f"{address}/health", timeout=30)
        except requests.ConnectionError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_port_in_use_is_named(kept_model, address):
    port = address.rpartition(":")[2]
    command = [sys.executable, "-m", "harness", "serve", str(kept_model), "--port", port]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 2
    assert port in ended.stderr


def test_a_folder_that_is_no_model_is_refused_before_a_port_is_opened(tmp_path):
    command = [sys.executable, "-m", "harness", "serve", str(tmp_path / "none"), "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 2
    assert "none" in ended.stderr
    assert "serving" not in ended.stderr
