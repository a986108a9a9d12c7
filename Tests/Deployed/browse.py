"""browse.py COUNT URL ADDRESS: loads the live page in COUNT browsers at the same time, and reloads it in each browser.

Every page must become live and load all parts of its map, and no response may have a status of 400 or more. The script prints the
result of each load."""

import json
import subprocess
import sys
import threading
import time
import urllib.request

count, url, address = int(sys.argv[1]), sys.argv[2], sys.argv[3]
driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
port = None
for line in driver.stdout:
    if "started successfully on port" in line:
        port = int(line.split("port")[1].strip(" .\n"))
        break

SEEN = """
const resources = performance.getEntriesByType("resource");
return {
  state: document.querySelector("#state")?.dataset.state,
  text: document.querySelector("#state-text")?.textContent,
  warnings: document.querySelector("#warnings")?.textContent,
  events: document.querySelectorAll("#list [role=option], #list li").length,
  requests: resources.length,
  files: ["land.txt", "borders.txt", "plates.txt", "places.txt"].filter((name) =>
    resources.some((each) => each.name.includes("/page/") && each.name.endsWith("/" + name) && each.responseStatus === 200)).length,
  refused: resources.filter((each) => each.responseStatus >= 400).map((each) => `${each.name} ${each.responseStatus}`),
};
"""


def call(method, path, body=None):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", None if body is None else json.dumps(body).encode(), method=method,
        headers={"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=180))["value"]


arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--host-resolver-rules=MAP quakes.example.org {address}"]
capabilities = {"acceptInsecureCerts": True, "pageLoadStrategy": "none", "goog:chromeOptions": {"args": arguments}}
sessions = [call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"] for _ in range(count)]
start = threading.Barrier(count)
good = []


def visit(number, session):
    for occasion in "first load", "reload":
        start.wait()
        begin = time.monotonic()
        if occasion == "first load":
            call("POST", f"/session/{session}/url", {"url": url})
        else:
            call("POST", f"/session/{session}/refresh", {})
        while True:
            try:
                seen = call("POST", f"/session/{session}/execute/sync", {"script": SEEN, "args": []})
            except OSError:
                seen = {}  # the page is being replaced
            took = time.monotonic() - begin
            # A refused request counts as a failure even if its retry succeeds, because the limits must let all requests pass.
            is_good = seen.get("state") == "live" and seen["files"] == 4 and not seen["refused"]
            if took > 3 and (is_good or took > 120):
                break
            time.sleep(0.5)
        good.append(is_good)
        print(f"{number} {occasion} after {took:.0f} s: {'good' if is_good else seen}", flush=True)


threads = [threading.Thread(target=visit, args=each) for each in enumerate(sessions)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for session in sessions:
    call("DELETE", f"/session/{session}")
driver.terminate()
print(f"{sum(good)} of {2 * count} loads were good")
sys.exit(sum(good) < 2 * count)
