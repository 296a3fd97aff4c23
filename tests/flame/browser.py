"""Controls headless Chromium through a pipe: opens pages, sends input, evaluates expressions."""

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
# Keys of the DevTools protocol: code and typed text.
KEYS = {"Enter": ("Enter", "\r"), "Escape": ("Escape", None), "/": ("Slash", "/"), "Tab": ("Tab", None)}
TIMEOUT = 60  # seconds, for a busy machine


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)  # its helper processes may still run for a moment
        browser_input, self.requests_out = os.pipe()
        self.responses_in, browser_output = os.pipe()
        high_fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (browser_input, browser_output)]
        command = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                   "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{high_fds[0]} 4>&{high_fds[1]}', "bash", *command], pass_fds=high_fds,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (browser_input, browser_output, *high_fds):
            os.close(fd)
        self.numbers, self.buffer, self.events = itertools.count(1), b"", []

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.requests_out)
        os.close(self.responses_in)
        self.profile.cleanup()

    def next_message(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.responses_in], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not respond")
            self.buffer += os.read(self.responses_in, 1 << 20)
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        number, deadline = next(self.numbers), time.monotonic() + TIMEOUT
        request = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.requests_out, json.dumps(request).encode() + b"\0")
        while True:
            message = self.next_message(deadline)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)


class Page:
    """An open page; records its requests and its error messages."""

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
        deadline = time.monotonic() + TIMEOUT
        while not self.find_events(event):
            self.browser.events.append(self.browser.next_message(deadline))

    def find_events(self, method):
        return [event["params"] for event in self.browser.events if event.get("method") == method and event.get("sessionId") == self.session]

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression):
        deadline = time.monotonic() + TIMEOUT
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
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

    def save_screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def get_problems(self):
        """Returns errors, warnings, and everything that was printed."""
        return [event for method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening")
                for event in self.find_events(method)]

    def get_requests(self):
        """Returns the URLs that the page requested in addition to its own."""
        urls = [event["request"]["url"] for event in self.find_events("Network.requestWillBeSent")]
        return [url for url in urls if url.split("#")[0] != self.url.split("#")[0]]
