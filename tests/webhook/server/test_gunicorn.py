"""The webhook over the wire: gunicorn, TLS, one connection or many silent ones."""

import http.client
import json
import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.files import issue_into
from certs.rotation import Timing, first_state
from glasswarden.demo.stage import HOST, Stage
from glasswarden.ledger.open import open_ledger
from glasswarden.ledger.query import Question
from tests.webhook.builders import a_deployment, a_review
from tests.webhook.serving import connected, ledger_in, open_webhook, post
from webhook import metrics

pytestmark = pytest.mark.slow  # starts real servers

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with open_webhook(tmp_path_factory.mktemp("webhook")) as running:
        yield running


def test_a_guarded_write_is_denied_and_recorded_before_the_answer(stage: Stage) -> None:
    status, body = post(stage, a_review(userInfo={"username": "one-of-a-kind"}))
    response = json.loads(body)["response"]
    assert (status, response["allowed"]) == (200, False)
    with closing(open_ledger(ledger_in(stage.folder))) as ledger:
        [record] = ledger.ask(Question(actor="one-of-a-kind"))
    assert response["auditAnnotations"] == {
        "record": record.entry.id,
        "chain": record.digest,
        record.entry.id: record.digest,
    }


def test_an_unmanaged_write_is_allowed(stage: Stage) -> None:
    plain = a_deployment(labels={})
    status, body = post(stage, a_review(object=plain, oldObject=plain))
    assert (status, json.loads(body)["response"]["allowed"]) == (200, True)


def test_mutating_webhook_is_served_by_the_same_process(stage: Stage) -> None:
    with connected(stage) as connection:
        connection.request("POST", stage.path_of("mutate"), a_review(), JSON)
        response = json.loads(connection.getresponse().read())["response"]
    assert (response["allowed"], "patch" in response) == (True, False)


def test_one_connection_serves_many_reviews(stage: Stage) -> None:
    with connected(stage) as connection:
        for _ in range(50):
            connection.request(
                "POST", stage.path_of(), a_review(), {"Content-Type": "application/json"}
            )
            assert json.loads(connection.getresponse().read())["response"]["allowed"] is False


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        pytest.param(b"{", "application/json", 400, id="malformed"),
        pytest.param(
            a_review()[:-1] + b', "request": {"uid": "x"}}',
            "application/json",
            400,
            id="two requests",
        ),
        pytest.param(
            a_review().replace(b'"spec":', b'"metadata": {}, "spec":'),
            "application/json",
            400,
            id="a second metadata, without marks",
        ),
        pytest.param(a_review(), "text/plain", 415, id="not declared as JSON"),
        pytest.param(b" " * (8 * 1024 * 1024 + 1), "application/json", 413, id="too large"),
    ],
)
def test_malformed_review_is_rejected_with_its_status(
    stage: Stage, body: bytes, content_type: str, status: int
) -> None:
    answered, text = post(stage, body, content_type)
    assert answered == status
    assert b"allowed" not in text
    assert b"Traceback" not in text


@pytest.mark.parametrize(
    ("path", "body", "content_type", "status"),
    [
        pytest.param(
            "/validate/stranger", a_review(), "application/json", 403, id="an unauthorized caller"
        ),
        pytest.param("/mutate/stranger", a_review(), "application/json", 403, id="another"),
        pytest.param(None, b"{", "application/json", 400, id="malformed"),
        pytest.param(None, a_review(), "text/plain", 415, id="not declared as JSON"),
        pytest.param(None, b" " * (8 * 1024 * 1024 + 1), "application/json", 413, id="too large"),
    ],
)
def test_every_rejection_is_counted(
    stage: Stage, path: str | None, body: bytes, content_type: str, status: int
) -> None:
    before = refusals(stage, status)
    with connected(stage) as connection:
        headers = {"Content-Type": content_type}
        connection.request("POST", path or stage.path_of(), body, headers)
        assert connection.getresponse().status == status
    assert refusals(stage, status) == before + 1


def refusals(stage: Stage, status: int) -> float:
    with connected(stage) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    metric = f'glasswarden_refused_requests_total{{status="{status}"}}'
    return sum(map(float, re.findall(rf"^{re.escape(metric)} (\S+)$", text, re.MULTILINE)))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/version", 200),
        ("GET", "/validate", 403),
        ("POST", "/validate", 403),
        ("POST", "/validate/", 403),
        ("POST", "/validate/0123456789abcdef0123456789abcdef", 403),
        ("POST", "/mutate", 403),
        ("POST", "/mutate/0123456789abcdef0123456789abcdef", 403),
        ("POST", "/elsewhere", 404),
    ],
)
def test_other_paths_are_answered_by_flask(
    stage: Stage, method: str, path: str, status: int
) -> None:
    with connected(stage) as connection:
        connection.request(method, path)
        assert connection.getresponse().status == status


def test_silent_connections_delay_no_caller(stage: Stage) -> None:
    """Connections that finish the handshake and then send nothing hold no thread."""
    context = ssl.create_default_context(cafile=stage.certificates.authority)
    with ExitStack() as stack:
        for _ in range(50):
            plain = stack.enter_context(socket.create_connection((HOST, stage.port), timeout=10))
            stack.enter_context(context.wrap_socket(plain, server_hostname=HOST))
        assert post(stage, a_review())[0] == 200


def test_plain_text_on_the_tls_port_affects_no_other_caller(stage: Stage) -> None:
    with socket.create_connection((HOST, stage.port), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" not in plain.recv(1024)
    assert post(stage, a_review())[0] == 200


def test_renewed_certificate_is_served_while_connections_stay_open(tmp_path: Path) -> None:
    with open_webhook(tmp_path) as stage, connected(stage) as standing:
        standing.request("GET", "/readyz")
        standing.getresponse().read()
        before = served_certificate(stage)
        issue_into(stage.certificates.path, [HOST], datetime.now(UTC))
        deadline = time.monotonic() + 30
        while served_certificate(stage) == before:
            assert time.monotonic() < deadline, "the new certificate was never served"
            time.sleep(0.1)
        standing.request("GET", "/readyz")
        assert standing.getresponse().status == 200
        assert post(stage, a_review())[0] == 200


def test_metrics_come_only_from_serving_processes(stage: Stage) -> None:
    """Not from their parent, nor from whoever started it: this test has metrics too."""
    metrics.LEDGER_AVAILABLE.set(0)
    with connected(stage) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    assert re.findall(r"^glasswarden_ledger_available (\S+)$", text, re.MULTILINE) == ["1.0"]


def test_head_of_the_chain_is_a_metric(stage: Stage) -> None:
    before = figure(stage, "glasswarden_chain_head_sequence")
    for _ in range(2):
        post(stage, a_review())
    assert figure(stage, "glasswarden_chain_head_sequence") >= before + 2
    assert abs(figure(stage, "glasswarden_chain_head_timestamp_seconds") - time.time()) < 60


def figure(stage: Stage, name: str) -> float:
    with connected(stage) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    [value] = re.findall(rf"^{name} (\S+)$", text, re.MULTILINE)
    return float(value)


def test_expiry_of_the_served_certificate_is_a_metric(tmp_path: Path) -> None:
    with open_webhook(tmp_path) as stage:
        before = expiry_shown(stage)
        state = first_state([HOST], datetime.now(UTC), Timing(lifetime=timedelta(days=7)))
        stage.certificates.write(state)
        deadline = time.monotonic() + 30
        while expiry_shown(stage) == before:
            assert time.monotonic() < deadline, "the figure never changed"
            time.sleep(0.1)
        assert expiry_shown(stage) == state.expires.timestamp()


def expiry_shown(stage: Stage) -> float:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Which certificate it is at this moment does not matter.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(HOST, stage.port, context=context, timeout=10)
    with closing(connection):
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    metric = 'glasswarden_certificate_expiry_timestamp_seconds{certificate="serving"}'
    [value] = re.findall(rf"^{re.escape(metric)} (\S+)$", text, re.MULTILINE)
    return float(value)


def served_certificate(stage: Stage) -> bytes | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection((HOST, stage.port), timeout=10) as plain,
        context.wrap_socket(plain) as secured,
    ):
        return secured.getpeercert(binary_form=True)
