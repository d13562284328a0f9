"""A prediction service with the standard library

Post rows as JSON and get predictions with intervals; the model file is read once, and threads share the model.

    python examples/serve_model.py [--out FOLDER]

`predict` changes nothing in a model, so one model serves all threads. An error about the input becomes an answer with its
message.
"""

from __future__ import annotations

import argparse
import json
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import matplotlib.pyplot as plt
import numpy as np

import mercer


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["rows"]
            bounds = self.server.model.predict_interval(rows, coverage=0.9)
            status, answer = 200, {"prediction": self.server.model.predict(rows).tolist(), "interval": bounds.tolist()}
        except (KeyError, TypeError, ValueError) as error:  # every error about input is a ValueError
            status, answer = 400, {"error": str(error)}
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


def ask(server, rows):
    """Post rows to the service; return the status and the answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.server_port}", json.dumps({"rows": rows}).encode())
    try:
        return 200, json.loads(urllib.request.urlopen(request).read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("build/examples"))
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, (200, 1))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=200)
    mercer.save(mercer.KernelRidge(alpha=0.1).fit(X, y), folder / "service.mercer")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.model = mercer.load(folder / "service.mercer")
    Thread(target=server.serve_forever, daemon=True).start()
    grid = np.linspace(0.0, 6.0, 100)
    status, answer = ask(server, grid[:, None].tolist())
    print(status, len(answer["prediction"]), "predictions")
    print(*ask(server, [[1.0, 2.0]]))  # a row with a column too many
    server.shutdown()
    figure, axes = plt.subplots(figsize=(6.0, 4.0))
    axes.plot(*X.T, y, ".", color="gray", ms=4, label="training rows")
    axes.plot(grid, answer["prediction"], label="prediction of the service")
    axes.fill_between(grid, *np.transpose(answer["interval"]), alpha=0.2, label="90 % interval of y")
    axes.set(xlabel="x", ylabel="y")
    axes.legend(frameon=False)
    figure.savefig(folder / "serve_model.png", dpi=120)


if __name__ == "__main__":
    main()
