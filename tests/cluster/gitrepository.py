"""A Git repository of one's own, served over HTTP on loopback for reading.

Git's own CGI program answers; around it stand a few lines of WSGI. Nothing can be pushed: commits
are made here. Requests are small and short, or they are refused.
"""

import os
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from tests.cluster.processes import LOOPBACK

BRANCH: Final = "main"
LARGEST_REQUEST: Final = 1_000_000
LONGEST_REQUEST: Final = 30.0
PASSED_ON: Final = (
    "CONTENT_LENGTH",
    "CONTENT_TYPE",
    "HTTP_CONTENT_ENCODING",
    "PATH_INFO",
    "QUERY_STRING",
    "REMOTE_ADDR",
    "REQUEST_METHOD",
)


class GitRepository:
    """A repository with one branch and a working tree."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        self.folder = folder
        folder.mkdir(parents=True)
        self._git("init", "--quiet", f"--initial-branch={BRANCH}")

    def commit(self, files: Mapping[str, str | None], message: str) -> str:
        """Write *files* (path to text, or to nothing for a removal), commit; return the commit."""
        for path, text in files.items():
            file = self.folder / path
            if text is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", f"--message={message}")
        return self.head

    def apply(self, patch: str) -> None:
        """Change the working tree by *patch*."""
        self._git("apply", stdin=patch)

    def tag(self, name: str) -> None:
        """Give the commit that the branch stands at a name."""
        self._git("tag", name)

    @property
    def head(self) -> str:
        """The commit that the branch stands at."""
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["git", "-C", self.folder, *arguments],
            input=stdin,
            env=git_environment(self.folder),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


@contextmanager
def serve_repository(folder: Path) -> Iterator[GitRepository]:
    """Make an empty repository under *folder* and serve it until the end of the block."""
    root = folder.resolve()
    with make_server(LOOPBACK, 0, git_application(root), Server, QuietHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            url = f"http://{LOOPBACK}:{server.server_port}/repository"
            yield GitRepository(root / "repository", url)
        finally:
            server.shutdown()
            thread.join()


def git_environment(home: Path) -> dict[str, str]:
    """Return an environment in which no Git setting of the user or the machine is read."""
    person = {"NAME": "Test", "EMAIL": "test@example.org"}
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_{key}": person[key] for role in ("AUTHOR", "COMMITTER") for key in person},
    }


def git_application(root: Path) -> WSGIApplication:
    """Return the application that serves every repository under *root*."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > LARGEST_REQUEST:
            start_response("413 Content Too Large", [])
            return []
        backend = subprocess.run(
            ["git", "http-backend"],
            input=environ["wsgi.input"].read(length),
            env=_cgi_environment(root, environ),
            stdout=subprocess.PIPE,
            timeout=LONGEST_REQUEST,
            check=False,
        )
        status, headers, body = parse_cgi(backend.stdout)
        start_response(status, headers)
        return [body]

    return answer


def _cgi_environment(root: Path, environ: WSGIEnvironment) -> dict[str, str]:
    return {
        **git_environment(root),
        **{name: str(environ[name]) for name in PASSED_ON if environ.get(name)},
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROTOCOL": str(environ.get("HTTP_GIT_PROTOCOL", "")),
    }


def parse_cgi(output: bytes) -> tuple[str, list[tuple[str, str]], bytes]:
    """Return status, headers and body of what a CGI program printed."""
    head, _, body = output.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").splitlines()
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    given = next((value for name, value in headers if name == "Status"), None)
    status = given or f"{HTTPStatus.OK.value} {HTTPStatus.OK.phrase}"
    return status, [(name, value) for name, value in headers if name != "Status"], body


class Server(ThreadingMixIn, WSGIServer):
    """Answers side by side: a reconciler opens several connections."""

    daemon_threads = True


class QuietHandler(WSGIRequestHandler):
    """Leaves the tests' output to the tests."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the parent's name)
        """Say nothing."""
