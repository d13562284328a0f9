"""The server: on the loopback, for its own pages, until it is told to end."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("bokeh", reason="the lab needs bokeh")

from mercer.errors import InputError
from mercer.lab.page import build
from mercer.lab.server import HOST, LabServer


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    started = threading.Event()
    found: list[LabServer] = []

    def serve() -> None:
        import asyncio

        asyncio.set_event_loop(asyncio.new_event_loop())
        found.append(LabServer(build, free_port()))
        found[0].run(started.set)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert started.wait(60)
    yield found[0].port
    found[0].stop()
    thread.join(60)
    assert not thread.is_alive()


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


def ask(port: int, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace"), dict(answer.getheaders())
    finally:
        connection.close()


def test_the_page_is_served_with_local_scripts_only(port: int) -> None:
    status, text, headers = ask(port, "/?tour=gp")
    assert status == 200 and "mercer lab" in text and "/static/js/bokeh-mathjax.min.js" in text
    # addresses only: the page also holds a random token, which may contain any letters
    addresses = re.findall(r"""(?:src|href)=["']([^"']*)["']""", text)
    assert addresses and not [address for address in addresses if "//" in address]
    assert "https://" not in text
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY" and headers["X-Content-Type-Options"] == "nosniff"


def test_localhost_is_the_same_page(port: int) -> None:
    assert ask(port, "/", Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_foreign_host_is_refused(port: int, host: str) -> None:
    status, text, _ = ask(port, "/", Host=host.format(port=port))
    assert status in (400, 403) and "mercer lab" not in text


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "null", "https://127.0.0.1:{port}"])
@pytest.mark.parametrize("path", ["/", "/ws", "/static/js/bokeh.min.js"])
def test_a_foreign_origin_is_refused(port: int, path: str, origin: str) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "eA=="}
    sent = {"Origin": origin.format(port=port)} | (upgrade if path == "/ws" else {})
    assert ask(port, path, **sent)[:2] == (403, "refused: the request comes from another page\n")


def test_parts_of_other_pages_are_refused_and_links_are_followed(port: int) -> None:
    """Browsers send no Origin with images and scripts, but they say that the request is of another site."""
    for site in ("cross-site", "same-site"):
        part = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}
        assert ask(port, "/", **part)[:2] == (403, "refused: the request comes from another page\n")
        frame = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
        assert ask(port, "/", **frame)[0] == 403
    followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert ask(port, "/?tour=gp", **followed)[0] == 200


@pytest.mark.parametrize("token", ["x", "e30", "!!", "eyJzZXNzaW9uX2lkIjogMX0", "", "bokeh"])
def test_a_damaged_token_is_a_bad_request(port: int, token: str, capfd: pytest.CaptureFixture[str]) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "eA=="}
    own = {"Origin": f"http://{HOST}:{port}", "Sec-WebSocket-Protocol": f"bokeh, {token}"}
    assert ask(port, "/ws", **upgrade, **own)[0] == 400
    if token:
        assert ask(port, f"/?bokeh-token={token}")[0] == 400
    assert "Traceback" not in capfd.readouterr().err


def test_a_link_with_many_terms_gets_a_message() -> None:
    from mercer.lab import kernels

    with pytest.raises(InputError, match="at most 24 terms"):
        kernels.read(" + ".join(["Linear()"] * 130))
    assert kernels.read(" + ".join(["Linear()"] * 10))


def test_a_picture_whose_kernel_takes_long_gets_a_message() -> None:
    """24 terms may still be Bessel functions; their time is measured on a few rows before the picture is made."""
    from mercer.lab.address import from_query
    from mercer.lab.pictures import picture
    from mercer.lab.views import view

    slow = from_query("data=moons-500-0&kernel=" + "*".join(["Matern(1.3,length_scale=1.0)"] * 12))
    for make in (picture, view):
        with pytest.raises(InputError, match=r"the kernel values of this picture take about \d+ s, and a page allows 5 s"):
            make(slow)
    assert picture(from_query("data=moons-500-0&kernel=" + "*".join(["Gaussian(1.0)"] * 12))).surface is not None


def test_a_socket_without_an_origin_is_refused(port: int) -> None:
    assert ask(port, "/ws")[0] == 403


@pytest.mark.parametrize(
    "path", ["/autoload.js", "/metadata", "/static/../server.py", "/static/extensions/x", "/etc/passwd", "/x"]
)
def test_other_doors_are_closed(port: int, path: str) -> None:
    assert ask(port, path)[0] in (403, 404)


def test_a_hostile_address_becomes_a_sentence(port: int) -> None:
    status, text, _ = ask(port, "/?kernel=%3Cscript%3Ealert(1)%3C/script%3E&algorithm=%3Cimg%20src=x%3E")
    assert status == 200 and "<script>alert" not in text and "<img src" not in text


def test_nothing_but_the_loopback_listens(port: int) -> None:
    other = next((a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)), HOST)
    if str(other).startswith("127."):
        with open("/proc/net/tcp") as table:  # this machine has no other address to try: ask the table of sockets
            found = [
                line.split()[1] for line in table if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
            ]
        assert found == [f"0100007F:{port:04X}"]
        return
    with pytest.raises(OSError):
        socket.create_connection((str(other), port), timeout=5).close()


def test_a_port_that_is_taken(port: int) -> None:
    with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 cannot be used"):
        LabServer(build, port)


def test_the_usual_port_is_given_up_when_taken(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    from mercer.lab import server

    monkeypatch.setattr(server, "PORT", port)
    [bound] = server._sockets(None)
    assert bound.getsockname()[0] == HOST and bound.getsockname()[1] != port
    bound.close()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code", "words"), [(signal.SIGINT, 0, "closed"), (signal.SIGTERM, 143, "Terminated")])
def test_it_ends_when_told_to(number: int, code: int, words: str) -> None:
    command = [sys.executable, "-m", "mercer.cli", "lab", "--no-browser", "--port", str(free_port()), "--tour", "gp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()  # the address is printed when the socket is there
        assert "http://127.0.0.1:" in line and "tour=gp" in line
        time.sleep(1.0)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
    assert process.returncode == code and words in said and "Traceback" not in said


LOSING = """
import time
from mercer.cli.failures import guarded, termination
from mercer.lab.server import LabServer

def lose():
    try:
        time.sleep(0.2)
    except BaseException:
        pass
    server.loop.add_callback(lose)

def serve():
    with termination():
        server.run(lambda: (print("ready", flush=True), lose()))

server = LabServer(lambda document: None)
raise SystemExit(guarded(serve))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_in_a_callback_that_loses_exceptions_ends_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LOSING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 143, said
