"""
A prediction service in forty lines
===================================

A web service with the standard library alone: POST rows as JSON, get predictions and intervals. The model file is read
once; threads share the model, because `predict` changes nothing in it.
"""

import argparse
import json
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

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


parser = argparse.ArgumentParser()
parser.add_argument("--out", type=Path, default=Path("build/examples"))
folder = parser.parse_args().out
folder.mkdir(parents=True, exist_ok=True)
X = np.random.default_rng(0).uniform(0.0, 6.0, (302, 2))
y = np.sin(X[:, 0]) * X[:, 1]
mercer.save(mercer.KernelRidge(alpha=0.1).fit(X[:300], y[:300]), folder / "service.mercer")
server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
server.model = mercer.load(folder / "service.mercer")
Thread(target=server.serve_forever, daemon=True).start()
for rows in (X[300:302].tolist(), [[1.0]]):  # two rows, and one with a column missing
    request = urllib.request.Request(f"http://127.0.0.1:{server.server_port}", json.dumps({"rows": rows}).encode())
    try:
        print(json.loads(urllib.request.urlopen(request).read()))
    except urllib.error.HTTPError as error:
        print(error.code, json.loads(error.read()))
