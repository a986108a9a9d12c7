"""Controls a headless Chromium through chromedriver, with the WebDriver protocol (https://www.w3.org/TR/webdriver2/). Only
Python's standard library is needed.
"""

import base64
import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
PATIENCE = float(os.environ.get("PATIENCE", 300))  # seconds
KEYS = {
    "Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Space": " ", "Shift": "\ue008", "End": "\ue010",
    "Home": "\ue011", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "PageDown": "\ue00f",
}


def start_driver(folder):
    """Starts chromedriver on a free port, with its temporary files in `folder`. Returns its process and its address.

    If chromedriver ends before it reports its port, for example because another process took the port, chromedriver is started
    again, with at most ten attempts in total."""
    for _ in range(10):
        driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "TMPDIR": folder})
        said = []
        for line in driver.stdout:
            said.append(line)
            if "started successfully on port" in line:
                return driver, f"http://127.0.0.1:{int(line.split()[-1].strip('.'))}"
        driver.wait()
    raise RuntimeError(f"chromedriver does not start: {''.join(said)}")


class Browser:
    def __init__(self, size=(1440, 900), dark=False, calm=False, touch=False):
        """`calm` requests reduced motion; `touch` emulates a phone."""
        # Chromium leaves folders behind, even if it is ended properly.
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver, self.base = start_driver(self.folder.name)
        options = {"args": [
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
            "--accept-lang=en-NZ", "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
            f"--window-size={size[0]},{size[1]}", "--disable-component-update", "--disable-background-networking"]}
        self.session = None
        self.logged = []
        # A script may be slow on a busy machine. If a script hangs, the watchdog of the test run ends it.
        hour = 3_600_000
        self.session = self.post("/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": hour, "pageLoad": hour}}}})["sessionId"]
        self.calm = calm
        # Whether the device forces its own colours.
        self.forced = False
        self.emulate(size, dark, touch)

    def emulate(self, size, dark, touch=False):
        """Sets the size of the window, and light or dark colours."""
        self.devtools("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": touch})
        self.devtools("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if self.calm else "no-preference"},
            {"name": "forced-colors", "value": "active" if self.forced else "none"}]})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.folder.cleanup()

    def ask(self, method, path, body=None):
        path = path if self.session is None else f"/session/{self.session}{path}"
        data = None if method in ("GET", "DELETE") else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"].split("\n")[0]) from None

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, body=None):
        return self.ask("POST", path, body)

    def devtools(self, command, parameters=None):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters or {}})

    def open(self, url):
        self.post("/url", {"url": url})

    @property
    def url(self):
        return self.get("/url")

    def run(self, script, *arguments):
        """Runs the body of a JavaScript function, and returns its result."""
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """Like `run`, but the body of the function can use `await`."""
        script = f"const done = arguments[arguments.length - 1]; (async () => {{ {script} }})().then(done, e => done('' + e))"
        return self.post("/execute/async", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.post("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        while True:
            try:
                return self.post(f"/element/{self.find(selector)}/click")
            except RuntimeError as error:
                # If the element is stale, because the page has replaced it since, find it again.
                if "stale element" not in str(error):
                    raise

    def type(self, selector, text):
        element = self.find(selector)
        self.post(f"/element/{element}/clear")
        self.post(f"/element/{element}/value", {"text": text})

    def press(self, *names, shift=False):
        """Presses keys one after the other. They go to the element that has the focus."""
        actions = []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        if shift:
            actions = [{"type": "keyDown", "value": KEYS["Shift"]}, *actions, {"type": "keyUp", "value": KEYS["Shift"]}]
        self.post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def wait(self, what, condition):
        """Waits until a condition is true. Fails after PATIENCE seconds, which is long enough even for a busy machine.

        The pauses get longer, because each look at the page takes about 20 ms of CPU time."""
        end = time.monotonic() + PATIENCE
        pause = 0.02
        while not (value := condition()):
            if time.monotonic() > end:
                raise TimeoutError(f"timed out while waiting for: {what}")
            time.sleep(pause)
            pause = min(1.5 * pause, 0.25)
        return value

    def errors(self):
        """The errors in the console since the last call, without network errors."""
        self.take_log()
        entries, self.logged = self.logged, []
        # If a request was interrupted, the script that made it also reports an error.
        excused = "Failed to fetch" if any("ERR_NETWORK_CHANGED" in entry["message"] for entry in entries) else None
        return [entry["message"] for entry in entries
                if entry.get("source") != "network" and not (excused and excused in entry["message"])]

    def take_log(self):
        """Returns the new errors of the console, and keeps them for `errors`."""
        new = [entry for entry in self.post("/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]
        self.logged += new
        return new

    def was_interrupted(self):
        """Whether Chromium has aborted its requests (ERR_NETWORK_CHANGED). It does so when a network interface of this machine is
        added or removed, as in the failover tests, even if the requests only use the loopback interface."""
        return (any("ERR_NETWORK_CHANGED" in entry["message"] for entry in self.take_log())
                or "ERR_NETWORK_CHANGED" in (self.run("return document.body?.innerText") or ""))

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.get("/screenshot")))
