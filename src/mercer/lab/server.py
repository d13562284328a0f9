"""Bokeh's server for one person: on the loopback only, and only for pages that it served itself.

Three guards stand before every request. The socket is bound to 127.0.0.1, so that no other machine reaches it. The Host
header must name that address (a foreign name that resolves to 127.0.0.1 is how a web page would get around the first
guard). And a request that says where it comes from, as every socket does, must come from here.
"""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.resources import Resources
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import get_session_id, get_token_payload
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import RequestHandler

from mercer.errors import InputError
from mercer.numeric.threads import one_blas_thread

HOST = "127.0.0.1"

#: Where the lab listens if nothing else does.
PORT = 5080

#: Paths that are served; Bokeh has others for pages that embed its applications, which are not needed.
_PATHS = ("/", "/ws", "/favicon.ico")

#: Bokeh compiles small scripts of its own, and the page has a style; everything else comes from this server.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self' ws://{host}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


class Refused(RequestHandler):
    """The answer to a refused request."""

    def initialize(self, reason: str, status: int = 403) -> None:
        """Store the reason and the status of the answer."""
        self.reason, self.status = reason, status

    def prepare(self) -> None:
        """Answer any method in one line."""
        self.set_status(self.status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"refused: {self.reason}\n")


@cache
def _with_headers(kind: Any) -> Any:
    """Return a handler whose responses forbid the page to use any other server."""

    class WithHeaders(kind):
        def set_default_headers(self) -> None:
            super().set_default_headers()
            self.set_header("Content-Security-Policy", _POLICY.format(host=f"{HOST}:* ws://localhost:*"))
            self.set_header("X-Content-Type-Options", "nosniff")
            self.set_header("X-Frame-Options", "DENY")
            self.set_header("Referrer-Policy", "no-referrer")
            self.set_header("Cross-Origin-Resource-Policy", "same-origin")

    return WithHeaders


class GuardedTornado(BokehTornado):
    """Bokeh's application behind the guards."""

    guarded_hosts: frozenset[str]

    def guard(self, port: int) -> None:
        """Accept requests for this port of the loopback only."""
        self.guarded_hosts = frozenset({f"{HOST}:{port}", f"localhost:{port}"})
        self._websocket_origins = set(self.guarded_hosts)

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:
        """The handler of a request, or a refusal."""
        reason = self._objection(request)
        if reason:
            return self.get_handler_delegate(request, Refused, {"reason": reason})
        if not _readable_token(request):
            return self.get_handler_delegate(
                request, Refused, {"reason": "the token of the session is damaged", "status": 400}
            )
        return super().find_handler(request, **kwargs)

    def get_handler_delegate(self, request: HTTPServerRequest, target_class: Any, *args: Any, **kwargs: Any) -> Any:
        """Handlers as they are, with the headers that every answer carries."""
        return super().get_handler_delegate(request, _with_headers(target_class), *args, **kwargs)

    def resources(self, absolute_url: str | bool | None = None) -> Resources:
        """Return scripts of the installed Bokeh, served by this server whatever the environment sets."""
        return Resources(mode="server", root_url="/", path_versioner=None)

    def _objection(self, request: HTTPServerRequest) -> str:
        if request.host not in self.guarded_hosts:
            return "this server answers to its own address only"
        origins = {f"http://{host}" for host in self.guarded_hosts}
        origin = request.headers.get("Origin") or request.headers.get("Sec-WebSocket-Origin")
        if (origin is not None or request.path == "/ws") and origin not in origins:
            return "the request comes from another page"
        site, mode = request.headers.get("Sec-Fetch-Site"), request.headers.get("Sec-Fetch-Mode")
        if site in ("cross-site", "same-site") and (
            mode != "navigate" or request.headers.get("Sec-Fetch-Dest") != "document"
        ):
            return "the request comes from another page"  # a link that is followed opens a page; a part of a page is refused
        if request.path not in _PATHS and not request.path.startswith("/static/js/"):
            return "there is nothing at this address"
        return ""


def _readable_token(request: HTTPServerRequest) -> bool:
    """Whether the session tokens of a request can be read; Bokeh would answer others with an error of its own."""
    sent = [part.strip() for part in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
    tokens = [value.decode("latin-1") for value in request.arguments.get("bokeh-token", [])]
    if request.path == "/ws":
        if len(sent) != 2 or sent[0] != "bokeh":
            return False
        tokens.append(sent[1])
    try:
        return all(isinstance(get_session_id(token), str) and get_token_payload(token) is not None for token in tokens)
    except Exception:  # damaged base64, JSON or compressed data raise errors of many types
        return False


class LabServer:
    """The server with its loop: `url` says where, `run` serves until it is interrupted."""

    def __init__(self, build: Callable[[Any], None], port: int | None = None) -> None:
        for name in ("bokeh", "tornado.access", "tornado.general"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self.loop = IOLoop()
        sockets = _sockets(port)
        self.port = int(sockets[0].getsockname()[1])
        tornado = GuardedTornado({"/": Application(FunctionHandler(build))}, generate_session_ids=True, use_index=False)
        tornado.guard(self.port)
        self._http = HTTPServer(tornado)
        self._http.add_sockets(sockets)
        self._server = BaseServer(self.loop, tornado, self._http)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.port}/"

    def run(self, ready: Callable[[], None] | None = None) -> None:
        """Serve until a signal ends the program; its handler is called when the loop has stopped."""
        try:
            self._server.start()
            if ready is not None:
                self.loop.add_callback(ready)
            with _ending(self.loop), one_blas_thread():  # matrices are small: a second thread costs more than it does
                self.loop.start()
        finally:
            self._server.stop(wait=False)
            self._http.stop()
            self.loop.close(all_fds=True)

    def stop(self) -> None:
        """End `run`, from any thread."""
        self.loop.add_callback(self.loop.stop)


@contextmanager
def _ending(loop: IOLoop) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop the loop, and handle them after it.

    An exception that a handler raises inside a callback may be lost there, and the server would go on. A second signal is
    handled at once.
    """
    received: list[int] = []
    asyncio_loop = loop.asyncio_loop
    before: dict[int, Any] = {}

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        asyncio_loop.call_soon_threadsafe(loop.stop)
        if len(received) > 1 and callable(before[number]):
            before[number](number, frame)

    if threading.current_thread() is threading.main_thread():  # handlers cannot be set elsewhere
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])


def _sockets(port: int | None) -> list[socket.socket]:
    """Sockets of the loopback: at the port that was asked for, else at the usual one or any that is free."""
    for candidate in (PORT, 0) if port is None else (port,):
        try:
            return bind_sockets(candidate, HOST, family=socket.AF_INET)
        except OSError as error:
            if port is not None:
                raise InputError(f"port {port} of {HOST} cannot be used ({error.strerror}); leave --port out.") from None
    raise InputError(f"no port of {HOST} is free.")
