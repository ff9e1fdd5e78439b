"""Access tokens, TLS, rate limits, and warnings about open services."""

import base64
import ssl
import subprocess
import sys

import httpx
import pytest

from sgtb.core.errors import SettingsError
from sgtb.serving.access import AREAS, AccessTokens, _client_of, area_of
from sgtb.serving.engine import Engine
from sgtb.serving.processes import check_tls, url_of
from sgtb.serving.service_settings import ServeSettings
from tests.helpers.services import FakeLinker, running

API, PAGE = "a" * 32, "p" * 32
PATHS = {
    "api": ["/openapi.json", "/api/candidates?name=x", "/api/kb", "/api/entity/x"],
    "protocols": ["/api", "/rest/annotate?text=x", "/no/such"],
    "page": ["/", "/page/page.css"],
    "metrics": ["/metrics"],
}


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"# for the tests\napi,protocols {API}\n\npage {PAGE}\nmetrics open\n")
    return AccessTokens.read(path)


def statuses(port: int, paths: list[str], **headers: str) -> set[int]:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers) as client:
        return {client.get(path).status_code for path in paths}


def test_each_area_has_its_tokens(tokens):
    settings = ServeSettings(tokens=tokens)
    with running(Engine(FakeLinker, settings)) as port:
        for path in ("/healthz", "/readyz", "/metrics"):
            assert statuses(port, [path]) == {200}, "open"
        for area in ("api", "protocols", "page"):
            assert statuses(port, PATHS[area]) == {401}
            for wrong in ("Bearer", f"Bearer {API}x", f"Basic {API}", "Basic ÿ", "Digest x"):
                assert statuses(port, PATHS[area], authorization=wrong.encode("latin-1")) == {401}
        bearer, other = f"Bearer {API}", f"Bearer {PAGE}"
        assert 401 not in statuses(port, PATHS["api"] + PATHS["protocols"], authorization=bearer)
        assert statuses(port, PATHS["page"], authorization=bearer) == {401}
        assert statuses(port, PATHS["api"], authorization=other) == {401}
        basic = "Basic " + base64.b64encode(f"anybody:{PAGE}".encode()).decode()
        assert 401 not in statuses(port, PATHS["page"], authorization=basic)
        refused = httpx.get(f"http://127.0.0.1:{port}/")
        assert refused.headers["www-authenticate"].startswith("Basic ")
        assert refused.json()["error"]["code"] == "unauthorized"
        # A body is not read before.
        answer = httpx.post(f"http://127.0.0.1:{port}/api/link", content=b"x" * 2_000_000)
        assert answer.status_code == 401


def test_every_path_has_an_area():
    for area, paths in PATHS.items():
        assert {area_of("GET", path.partition("?")[0]) for path in paths} == {area}
    assert area_of("POST", "/") == "protocols"
    assert area_of("POST", "/api/link/batch") == "api"
    assert area_of("POST", "/api/linkx") == "protocols"


def test_a_token_alone_is_for_all_areas(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"{API}\napi {PAGE}\n")
    tokens = AccessTokens.read(path)
    assert all(tokens.allow(area, API) for area in AREAS)
    assert [area for area in AREAS if tokens.allow(area, PAGE)] == ["api"]
    assert not any(tokens.allow(area, "") for area in AREAS)
    path.write_text(f"api {API}\n")
    tokens = AccessTokens.read(path)
    assert [area for area in AREAS if tokens.allow(area, API)] == ["api"], "others are closed"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("short\n", "line 1: a token has at least 16"),
        (f"\nadmin {API}\n", "line 2: 'admin' is not one of"),
        (f"api page {API}\n", "line 1: a line is"),
        ("# nothing\n", "has no token"),
        ("metrics open\n", "has no token"),
    ],
)
def test_mistakes_in_a_token_file_are_named(tmp_path, content, complaint):
    path = tmp_path / "tokens"
    path.write_text(content)
    with pytest.raises(SettingsError, match=complaint) as raised:
        AccessTokens.read(path)
    assert str(path) in str(raised.value)
    with pytest.raises(SettingsError, match="cannot read"):
        AccessTokens.read(tmp_path / "none")


def test_the_rate_of_a_client_is_limited():
    settings = ServeSettings(rate_limit=0.01)
    with (
        running(Engine(FakeLinker, settings)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        assert client.get("/api/kb", headers={"x-forwarded-for": "1.2.3.4"}).status_code != 429
        assert client.get("/").status_code == 200
        refused = client.get("/")
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 100
        assert client.get("/healthz").status_code == 200
        # Another client, as the proxy on this machine says.
        assert client.get("/", headers={"x-forwarded-for": "2001:db8::1"}).status_code == 200
        again = client.get("/", headers={"x-forwarded-for": "2001:db8::2"})
        assert again.status_code == 429, "the same network"


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(SettingsError, match="rate_limit"):
        ServeSettings(rate_limit=0.0)
    with pytest.raises(SettingsError, match="both"):
        ServeSettings(tls_certificate="x")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 "
        "-subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


def test_https(certificate):
    settings = ServeSettings(tls_certificate=str(certificate[0]), tls_key=str(certificate[1]))
    check_tls(settings)
    trusted = ssl.create_default_context(cafile=str(certificate[0]))
    with running(Engine(FakeLinker, settings)) as port:
        assert httpx.get(f"https://localhost:{port}/healthz", verify=trusted).status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://localhost:{port}/healthz")
    assert url_of("::1", 80, secure=True) == "https://[::1]:80/"


def test_files_that_are_no_certificate_are_named(certificate, tmp_path):
    other = tmp_path / "key.pem"
    other.write_text("no key")
    for key in (other, tmp_path / "none", certificate[0]):
        with pytest.raises(SettingsError, match=str(key)):
            check_tls(ServeSettings(tls_certificate=str(certificate[0]), tls_key=str(key)))


@pytest.mark.parametrize(
    ("options", "warned"), [(["--host", "0.0.0.0"], True), (["--host", "127.0.0.1"], False)]
)
def test_a_service_that_is_open_to_the_network_warns(options, warned, tmp_path):
    model = tmp_path / "model"  # so that it ends at once
    model.write_bytes(b"no model")
    command = [sys.executable, "-c", "from sgtb.cli.main import app; app()", "serve", "--port", "0"]
    done = subprocess.run(
        [*command, *options, "--model", model, "--kb", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert ("without access tokens" in done.stderr) == warned


def test_clients_are_told_apart():
    """Of IPv6 by network; a service that listens on :: sees IPv4 clients as mapped addresses."""
    hosts = ["10.0.0.1", "::ffff:10.0.0.2", "2001:db8::1", "2001:db8::2", "2001:db8:1::1", "x", ""]
    clients = [_client_of({"client": (host, 1)}) for host in hosts]
    assert clients[:2] == ["10.0.0.1", "10.0.0.2"]
    assert clients[2] == clients[3]
    assert len(set(clients)) == len(hosts) - 1
