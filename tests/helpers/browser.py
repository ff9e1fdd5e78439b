"""A service and a browser for tests of the page; whatever goes wrong in the browser fails them."""

import base64
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from sgtb.serving.app import create_app
from sgtb.serving.engine import Engine
from sgtb.serving.service_settings import ServeSettings

_WAIT = 60


def chromium() -> str:
    """Return the path of a Chromium, or skip."""
    found = os.environ.get("SGTB_CHROMIUM") or shutil.which("chromium")
    if not found:
        pytest.skip(
            "no browser: install Debian's chromium, or set SGTB_CHROMIUM to the path of one"
        )
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    path = chromium()
    with sync_playwright() as playwright:
        # In a container there is neither a user for the sandbox nor much shared memory.
        flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@contextmanager
def served(load, settings: ServeSettings | None = None) -> Iterator[str]:
    """Serve a linker on a free port; give its address."""
    app = create_app(Engine(load, settings or ServeSettings()))
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + _WAIT
    while not server.started:
        assert thread.is_alive(), "the service ended while it started"
        assert time.monotonic() < until, "the service did not start"
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join(_WAIT)


@dataclass
class Visit:
    """An opened page, and all that it asked for and complained about."""

    page: Page
    home: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self._shown(dialog))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _heard(self, message) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _shown(self, dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, text: str | None = None) -> Page:
        """Open the page, with a text if there is one, and wait until it is linked."""
        self.page.goto(self.home if text is None else f"{self.home}#{state_of(text)}")
        self._await_links(text)
        return self.page

    def type(self, text: str) -> None:
        """Put a text into the field, and wait until it is linked."""
        with self.page.expect_response("**/api/link"):
            self.page.fill("#text", text)
        self._await_links(text)

    def _await_links(self, text: str | None) -> None:
        self.page.wait_for_function(
            """text => {
              const shown = document.querySelector("#sheet:not(.stale) .text");
              return shown && (text === null || shown.textContent === text);
            }""",
            arg=text,
        )

    def mention(self, text: str, nth: int = 0):
        return self.page.locator("#sheet .m", has_text=text).nth(nth)

    def check(self) -> None:
        """Raise if a host was asked that is not the service, or anything was complained about."""
        elsewhere = [
            url for url in self.requests if not url.startswith((self.home, "blob:", "data:"))
        ]
        assert elsewhere == []
        assert self.complaints == []


def state_of(text: str, fixed: Sequence[Sequence[object]] = ()) -> str:
    """Return a text and its corrections as they stand in the page's address."""
    state = json.dumps([1, text, fixed]).encode()
    return base64.urlsafe_b64encode(state).decode().rstrip("=")


def artifact(tmp_path: Path, name: str) -> Path:
    """Return where a picture goes that somebody may want to look at."""
    folder = Path(os.environ.get("SGTB_ARTIFACTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name
