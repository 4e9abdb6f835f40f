"""What several commands share: the connection to a cluster, files, times, and kinds.

`connection_options` gives a command kubectl's flags, and hands them over as one `Connection`. What
cannot be read, or understood, ends the command with a sentence; nothing here asks an API server
before a command does so through its `Connection`.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from glasswarden import __version__
from glasswarden.cluster.client import LONG, Access, ApiServer, NoAccess
from glasswarden.cluster.kubeconfig import Choice, open_access
from glasswarden.duration import DurationError, parse_duration
from glasswarden.keys.folder import KeysUnreadable, read_ring
from glasswarden.keys.ring import Ring
from glasswarden.kube.engines.registry import ENGINES
from glasswarden.kube.objects import Ref
from glasswarden.policy.policy import Policy
from glasswarden.policy_file import PolicyUnreadable, load_policy, parse_policy

INSTALLED: Final = "Where the product is installed."
"""The help of a command whose namespace is that of the product."""


FIELD_MANAGER = "kubectl-glasswarden"
PATIENCE = "10s"
"""How long reading one object may take."""

_NAMESPACE = "--namespace="


_PREFIX: Final = re.compile(r"^(error: |Error from server \(Forbidden\): (?=admission webhook))")
"""What kubectl puts before a denial of ours, or an error of its own: click adds one as well."""


class KubectlFailed(click.ClickException):
    """kubectl ended with an error; the message is its own."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl, with the flags that every call of one command shares."""

    program: str
    flags: tuple[str, ...]

    @property
    def namespace(self) -> str | None:
        """The namespace that was named, if one was."""
        named = (flag for flag in self.flags if flag.startswith(_NAMESPACE))
        return next((flag.removeprefix(_NAMESPACE) for flag in named), None)

    def get(self, target: str) -> dict[str, Any]:
        """Return the object that *target* names, or end with kubectl's own words."""
        completed = self._run("get", target, "-o", "json", "--show-managed-fields")
        found: dict[str, Any] = json.loads(completed.stdout)
        return found

    def get_or_none(self, target: str) -> dict[str, Any] | None:
        """Return the object that *target* names, none where there is none; or end."""
        try:
            return self.get(target)
        except KubectlFailed as error:
            if "(NotFound)" not in error.message:
                raise
            return None

    def find(self, ref: Ref) -> dict[str, Any] | None:
        """Return the object *ref*, none where there is none; or end with kubectl's own words."""
        wanted = ("-o", "json", "--ignore-not-found", f"--request-timeout={PATIENCE}")
        output = self._run("get", *arguments_naming(ref), *wanted).stdout
        found: dict[str, Any] | None = json.loads(output) if output.strip() else None
        return found

    def whoami(self) -> str | None:
        """Return as whom the API server knows the person; none where it does not answer."""
        try:
            review = json.loads(self._run("auth", "whoami", "-o", "json").stdout)
            return str(review["status"]["userInfo"]["username"])
        except (KubectlFailed, ValueError, KeyError, TypeError):
            return None

    def strip(self, ref: Ref, version: str, annotations: Sequence[str]) -> None:
        """Take *annotations* off *ref*, if it is still at resource version *version*."""
        options = (f"--resource-version={version}", f"--field-manager={FIELD_MANAGER}")
        self._run(
            "annotate",
            *arguments_naming(ref),
            *options,
            "--",
            *(f"{name}-" for name in annotations),
        )

    def unlabel(self, ref: Ref, label: str) -> None:
        """Take *label* off *ref*."""
        self._run(
            "label", *arguments_naming(ref), f"--field-manager={FIELD_MANAGER}", "--", f"{label}-"
        )

    def annotate(self, target: str, annotations: dict[str, str | None]) -> None:
        """Set annotations, and take off those that are none; a denial ends with its reason."""
        words = [
            f"{key}-" if value is None else f"{key}={value}" for key, value in annotations.items()
        ]
        manager = f"--field-manager={FIELD_MANAGER}"
        completed = self._run("annotate", target, "--overwrite", manager, "--", *words)
        if completed.stderr:  # warnings that came with the answer
            click.echo(completed.stderr.rstrip(), err=True)

    def hand_over(self, arguments: Sequence[str]) -> int:
        """Run *arguments* as if typed, in the person's terminal; return how it ended."""
        command = [self.program, *self.flags, *arguments]
        return subprocess.run(command, check=False).returncode  # noqa: S603 - the person's own words

    def command_line(self, *words: str) -> str:
        """Return the command of ours that a person would type, with the same flags."""
        return " ".join(["kubectl glasswarden", *words, *self.flags])

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [self.program, *self.flags, *arguments]
        try:
            # Every word is kubectl's own argument; no shell reads it.
            return subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        except subprocess.CalledProcessError as error:
            reason = _PREFIX.sub("", error.stderr.strip())
            raise KubectlFailed(reason or f"kubectl ended with {error.returncode}") from error
        except OSError as error:
            raise KubectlFailed(f"kubectl could not be run: {error}") from error


def arguments_naming(ref: Ref) -> tuple[str, ...]:
    """Return the arguments that name *ref* exactly, whatever else is called like its kind."""
    target = f"{ref.kind}.{ref.version}.{ref.group}/{ref.name}"
    return (target, f"--namespace={ref.namespace}") if ref.namespace else (target,)


def find_kubectl(flags: Sequence[str]) -> Kubectl:
    """Return kubectl as the environment names it, or as the PATH has it."""
    program = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if program is None:
        raise click.ClickException("kubectl is not on the PATH; name it with KUBECTL=FILE")
    return Kubectl(program, tuple(flags))


Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Connection:
    """Which cluster a command talks to, as whom, and about which namespace."""

    kubeconfig: Path | None = None
    """None for the one that kubectl would read; several are separated as in $KUBECONFIG."""
    context: str = ""
    cluster: str = ""
    """The kubeconfig's entry, in place of the context's; not the cluster's name in a ledger."""
    user: str = ""
    impersonated_user: str = ""
    impersonated_groups: tuple[str, ...] = ()
    namespace: str = ""
    """Empty where none was named, or all are meant."""
    all_namespaces: bool = False

    @property
    def choice(self) -> Choice:
        """What is chosen from the kubeconfig."""
        return Choice(
            self.context,
            self.cluster,
            self.user,
            self.impersonated_user,
            self.impersonated_groups,
        )

    @property
    def file(self) -> Path | None:
        """The kubeconfig to read; none for a pod that was given none."""
        if named := self.kubeconfig or os.environ.get("KUBECONFIG"):
            return Path(named)
        own, is_pod = Path.home() / ".kube" / "config", "KUBERNETES_SERVICE_HOST" in os.environ
        is_chosen = self.context or self.cluster or self.user
        return own if is_chosen or (own.exists() and not is_pod) else None

    def access(self) -> Access:
        """Return how to reach the API server, as kubectl does or as a pod. Raises `NoAccess`."""
        return open_access(self.file, self.choice)

    def api_server(self, user_agent: str) -> ApiServer:
        """Return the API server. Raises `NoAccess`."""
        return ApiServer(self.access(), user_agent)

    def open_api_server(self) -> ApiServer:
        """Return the API server for a command that waits for it, or end with why there is none."""
        try:
            return ApiServer(self.access(), f"glasswarden/{__version__}", patience=LONG)
        except NoAccess as error:
            raise click.ClickException(f"no cluster is known: {error}") from error

    def flags(self) -> list[str]:
        """Return the flags that give another program the same connection."""
        given: list[tuple[str, object]] = [
            ("context", self.context),
            ("cluster", self.cluster),
            ("user", self.user),
            ("kubeconfig", self.kubeconfig),
            ("as", self.impersonated_user),
            *(("as-group", group) for group in self.impersonated_groups),
        ]
        return [f"--{name}={value}" for name, value in given if value]

    def kubectl(self) -> Kubectl:
        """Return the person's own kubectl with the same flags."""
        namespace = [f"{_NAMESPACE}{self.namespace}"] if self.namespace else []
        return find_kubectl([*namespace, *self.flags()])


_AS_KUBECTL: Final = "How to reach the API server; by default as kubectl does, or as a pod."
_CONNECTION: Final = (
    click.option("--context", default="", metavar="NAME", help="The kubeconfig's context."),
    click.option("--user", default="", metavar="NAME", help="The kubeconfig's user."),
    click.option(
        "--as", "impersonated_user", default="", metavar="USER", help="Whom to impersonate."
    ),
    click.option(
        "--as-group",
        "impersonated_groups",
        multiple=True,
        metavar="GROUP",
        help="A group to impersonate; may be repeated.",
    ),
)
_CLUSTER: Final = click.option(
    "--cluster", default="", metavar="NAME", help="The kubeconfig's cluster."
)
_ALL_NAMESPACES: Final = click.option(
    "-A", "--all-namespaces", is_flag=True, help="All namespaces, whatever --namespace names."
)


def connection_options(
    *,
    asks_ledger: bool = False,
    namespace: str = "Only this namespace.",
    default_namespace: str = "",
    all_namespaces: bool = True,
    kubeconfig: str = _AS_KUBECTL,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options by which kubectl reaches a cluster, as one `connection`.

    A command that *asks_ledger* has a `--cluster` of its own, which names the cluster in the
    ledger; everywhere else `--cluster` is the kubeconfig's entry, as kubectl means it.

    *namespace* is the help of `--namespace`; where it is empty, the command takes no namespace.
    *all_namespaces* adds `-A`, for commands that are about more than one object. *kubeconfig* is
    the help of `--kubeconfig`.
    """
    options = [_kubeconfig_option(kubeconfig), *_CONNECTION, *([] if asks_ledger else [_CLUSTER])]
    if namespace:
        options.append(_namespace_option(namespace, default_namespace))
    if namespace and all_namespaces:
        options.append(_ALL_NAMESPACES)
    own = () if asks_ledger else ("cluster",)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(*args: Any, **given: Any) -> None:  # noqa: ANN401 - the command's own options
            function(*args, connection=_connection_from(given, own), **given)

        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _kubeconfig_option(help_text: str) -> Callable[[Function], Function]:
    return click.option(
        "--kubeconfig",
        envvar="GLASSWARDEN_KUBECONFIG",
        type=click.Path(dir_okay=False, path_type=Path),
        help=help_text,
    )


def _namespace_option(help_text: str, default: str) -> Callable[[Function], Function]:
    return click.option(
        "-n",
        "--namespace",
        default=default,
        show_default=bool(default),
        metavar="NAME",
        help=help_text,
    )


def _connection_from(given: dict[str, Any], own: tuple[str, ...]) -> Connection:
    """Take what belongs to the connection out of *given*."""
    names = ("kubeconfig", "context", "user", "impersonated_user", "impersonated_groups", *own)
    taken = {name: given.pop(name) for name in names}
    is_all, namespace = given.pop("all_namespaces", False), given.pop("namespace", "")
    return Connection(**taken, namespace="" if is_all else namespace, all_namespaces=is_all)


_FLAGS: Final = ("context", "kubeconfig", "as_")


FILE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)

STDIN: Final = Path("<stdin>")
"""The file name in messages about the standard input."""


def read_policy(file: Path) -> Policy:
    """Return the policy in *file*, or in the standard input for `-`; or end with its mistake."""
    try:
        return load_policy(file) if str(file) != "-" else _policy_from_input()
    except PolicyUnreadable as error:
        raise click.ClickException(str(error)) from error


def _policy_from_input() -> Policy:
    try:
        text = read_bytes(Path("-")).decode()
    except UnicodeDecodeError as error:
        raise PolicyUnreadable(f"{STDIN}: {error}") from error
    return parse_policy(STDIN, text)


def read_keys(folder: Path | None) -> Ring:
    """Return the keys of grants in *folder*, or end with what is wrong with one."""
    try:
        return Ring() if folder is None else read_ring(folder, "grant")
    except KeysUnreadable as error:
        raise click.ClickException(str(error)) from error


def read_bytes(file: Path) -> bytes:
    """Return the content of *file*, or of the standard input for `-`."""
    try:
        with click.open_file(str(file), "rb") as stream:
            content: bytes = stream.read()
            return content
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error


def read_object(file: Path) -> dict[str, Any]:
    """Return the Kubernetes object in *file*, which is JSON."""
    try:
        content = json.loads(read_bytes(file))
    except ValueError as error:
        raise click.ClickException(f"{file}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise click.ClickException(f"{file}: not a Kubernetes object")
    return content


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment to go by instead of the machine's clock; a caller gives it as click's `obj`."""

    time: datetime


def now() -> datetime:
    """Return what time it is for the command that runs."""
    context = click.get_current_context(silent=True)
    given = context.find_object(Moment) if context else None
    return given.time if given else datetime.now(UTC)


class TimeUnclear(ValueError):
    """Text that is no moment; the message shows one that is."""


def parse_moment(text: str, now: datetime) -> datetime:
    """Return the moment that *text* names; a length of time is counted back from *now*.

    A date alone is its first instant, and what names no zone is in UTC, like all that we print.
    """
    try:
        return now - parse_duration(text)
    except DurationError:
        pass  # then it is a moment, or nothing
    except OverflowError as error:
        raise _unclear(text, now) from error
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise _unclear(text, now) from error


def _unclear(text: str, now: datetime) -> TimeUnclear:
    return TimeUnclear(f"{text!r} is no time; try 2h, 7d or {now:%Y-%m-%dT%H:%M:%SZ}")


_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([dhms])")


class DurationType(click.ParamType[timedelta]):
    """An option that takes a length of time: `90d`, `1h30m`, `0.5s`."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return *value* as a length of time, or end with what is wrong with it."""
        if isinstance(value, timedelta):  # a default
            return value
        try:
            found = _sum_parts(str(value))
            return parse_duration(str(value)) if found is None else found
        except DurationError as error:
            self.fail(str(error), param, ctx)
        except OverflowError:
            self.fail(f"{value!r} is too long", param, ctx)


def _sum_parts(text: str) -> timedelta | None:
    """Return the sum of what *text* lists in any order, with fractions; none for other text."""
    if not re.fullmatch(f"(?:{_PART.pattern})+", text):
        return None
    parts = _PART.findall(text)
    return sum((timedelta(**{_UNITS[unit]: float(n)}) for n, unit in parts), timedelta())


class MomentType(click.ParamType[datetime]):
    """An option that takes a moment, or how long ago it was."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return *value* as a moment, or end with what is wrong with it."""
        try:
            return parse_moment(str(value), now())
        except TimeUnclear as error:
            self.fail(str(error), param, ctx)


DURATION: Final = DurationType()
MOMENT: Final = MomentType()


def render_span(length: timedelta) -> str:
    """Return *length* in its largest units, such as `2 days` or `14 min`."""
    seconds = int(abs(length).total_seconds())
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


_WORDS: Final = {
    "ClusterRole": "",
    "ClusterRoleBinding": "",
    "ConfigMap": "cm",
    "CronJob": "cj",
    "CustomResourceDefinition": "crd crds",
    "DaemonSet": "ds",
    "Deployment": "deploy",
    "HorizontalPodAutoscaler": "hpa",
    "Ingress": "ing ingresses",
    "Job": "",
    "Namespace": "ns",
    "NetworkPolicy": "netpol networkpolicies",
    "PersistentVolume": "pv",
    "PersistentVolumeClaim": "pvc",
    "Pod": "po",
    "PodDisruptionBudget": "pdb",
    "ReplicaSet": "rs",
    "Role": "",
    "RoleBinding": "",
    "Secret": "",
    "Service": "svc",
    "ServiceAccount": "sa",
    "StatefulSet": "sts",
    "StorageClass": "sc storageclasses",
    **{kind: words for engine in ENGINES for kind, words in engine.short_names.items()},
}
"""Kubernetes' own kinds and the reconcilers', with short names and uncommon plurals."""

_KINDS: Final = {
    word: kind
    for kind, more in _WORDS.items()
    for word in (kind.lower(), f"{kind.lower()}s", *more.split())
}


class KindUnknown(ValueError):
    """A word that names no kind we know; a kind is always known as its manifest spells it."""


def kind_of(word: str) -> str:
    """Return the kind that *word* stands for; any word with a capital is taken for a kind."""
    known = _KINDS.get(word.partition(".")[0].lower())
    if known or word != word.lower():
        return known or word
    raise KindUnknown(
        f"{word!r} is no kind that is known here; spell it as in a manifest: Deployment"
    )
