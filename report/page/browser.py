"""A headless Chromium, spoken to over a pipe in the DevTools protocol: just enough to look at a page.

Messages are JSON, each ended by a zero byte; the browser reads descriptor 3 and writes descriptor 4.
"""
from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 120.0  # seconds for one answer: a loaded machine starts a browser slowly


def find() -> Optional[str]:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser with one page. Leaves nothing behind: its profile is a temporary folder."""

    def __init__(self, program: str) -> None:
        self.profile = tempfile.mkdtemp()
        to_browser, self.to = os.pipe()
        self.from_, from_browser = os.pipe()
        flags = ["--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage",
                 "--disable-background-networking", f"--user-data-dir={self.profile}", "--remote-debugging-pipe"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # root has none
        # A shell puts the pipes where the browser looks for them, then becomes the browser.
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        command = ["bash", "-c", script, program, *flags, "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.last, self.events = b"", 0, []
        self.session: Optional[str] = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.from_)
        shutil.rmtree(self.profile, ignore_errors=True)  # processes of its own may still be writing their last

    def message(self) -> dict[str, Any]:
        """The next message of the browser."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            if not select.select([self.from_], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            piece = os.read(self.from_, 1 << 16)
            if not piece:
                raise EOFError("the browser ended")
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.last += 1
        said = {"id": self.last, "method": method, "params": parameters}
        os.write(self.to, json.dumps({**said, "sessionId": self.session} if self.session else said).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def open(self, page: Path, width: int, dark: bool, scripts: bool) -> None:
        """Opens a page; `events` then holds what happened while it loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme",
                                                           "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def value(self, expression: str) -> Any:
        """What an expression is worth on the page; this works with the page's own scripts off, too."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def happened(self, *methods: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event.get("method") in methods]

    def picture(self, file: Path) -> None:
        """The whole page."""
        height = self.value("document.documentElement.scrollHeight")
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": self.value("innerWidth"), "height": height, "scale": 1})
        file.write_bytes(base64.b64decode(answer["data"]))
