"""Chromium without a window, spoken to over a pipe: pages are opened, touched and asked."""

import base64
import fcntl
import itertools
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium")
# How keys are named in its protocol: code, and what they type.
KEYS = {"Enter": ("Enter", "\r"), "Escape": ("Escape", None), "/": ("Slash", "/"), "Tab": ("Tab", None)}
PATIENCE = 60  # seconds, on a machine that has much to do


class Browser:
    def __init__(self):
        self.home = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)  # helpers of its live on for a moment
        from_us, self.to_it = os.pipe()
        self.from_it, to_us = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (from_us, to_us)]
        command = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                   "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.home.name}"]
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{high[0]} 4>&{high[1]}', "bash", *command], pass_fds=high,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (from_us, to_us, *high):
            os.close(fd)
        self.numbers, self.text, self.events = itertools.count(1), b"", []

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.to_it)
        os.close(self.from_it)
        self.home.cleanup()

    def next_message(self, until):
        while b"\0" not in self.text:
            if not select.select([self.from_it], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            self.text += os.read(self.from_it, 1 << 20)
        message, self.text = self.text.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        number, until = next(self.numbers), time.monotonic() + PATIENCE
        request = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.to_it, json.dumps(request).encode() + b"\0")
        while True:
            message = self.next_message(until)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)


class Page:
    """One file, opened; what it asked for and complained about is kept."""

    def __init__(self, browser, path, width=1280, height=800, dark=False, script=True, after="#"):
        self.browser, self.url = browser, pathlib.Path(path).absolute().as_uri() + after
        browser.events.clear()
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.navigate", url=self.url)
        self.wait("Page.loadEventFired")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def wait(self, event):
        until = time.monotonic() + PATIENCE
        while not self.seen(event):
            self.browser.events.append(self.browser.next_message(until))

    def seen(self, method):
        return [event["params"] for event in self.browser.events if event.get("method") == method and event.get("sessionId") == self.session]

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression):
        until = time.monotonic() + PATIENCE
        while not self.ask(expression):
            if time.monotonic() > until:
                raise TimeoutError(expression)
            time.sleep(0.1)

    def press(self, key):
        code, text = KEYS.get(key, (key, None))
        event = {"key": key, "code": code} | ({"text": text} if text else {})
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def complaints(self):
        """Errors, warnings, and anything printed."""
        return [event for method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening")
                for event in self.seen(method)]

    def requests(self):
        """What it asked for besides itself."""
        asked = [event["request"]["url"] for event in self.seen("Network.requestWillBeSent")]
        return [url for url in asked if url.split("#")[0] != self.url.split("#")[0]]
