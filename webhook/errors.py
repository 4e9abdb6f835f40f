"""What is wrong with a caller's request, with the HTTP status that says so."""

from http import HTTPStatus


class RequestRefused(Exception):
    """A request that is no review we can answer. Refusing it never allows a write."""

    status = HTTPStatus.BAD_REQUEST


class ReviewMalformed(RequestRefused):
    """The body is no AdmissionReview of a version that we know."""


class BodyTooLarge(RequestRefused):
    """The body is larger than any review that an API server sends."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class ContentTypeUnknown(RequestRefused):
    """The body does not say that it is JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class CannotTell(RequestRefused):
    """Whose object is written to could not be found out: the API server's failurePolicy decides."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class RecorderOverloaded(RequestRefused):
    """More writes wait to be recorded than a process holds: the failurePolicy decides."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class RecorderClosed(RequestRefused):
    """The process is about to end and records nothing more: the failurePolicy decides."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class CallerGone(RequestRefused):
    """The caller hung up before the whole body came; nobody reads the answer."""
