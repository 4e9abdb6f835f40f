"""Markers of the policy file: home-made pipelines and engines that Glasswarden does not know."""

from glasswarden.kube.engines import cel
from glasswarden.kube.engines.engine import CelClaim, Engine, Mark, Owner, Subject


def custom(name: str, mark: Mark, app: Mark | None = None) -> Engine:
    """Return an engine called *name* for objects that carry *mark*.

    The application is named by the value at *app*, or else by the mark's own value, unless the mark
    asks for a fixed one, which then says only that somebody owns the object.
    """

    def claim(subject: Subject) -> Owner | None:
        # A label without a value is a common way to say yes.
        if not subject.carries(mark):
            return None
        if app is not None:
            return Owner(name, subject.read(app), None)
        return Owner(name, subject.read(mark) if mark.value is None else "", None)

    marks = (mark,) if app is None else (mark, app)
    return Engine(
        name=name,
        title=name,
        marks=marks,
        signs=(mark,),
        claim=claim,
        cel_claims=(_cel_claim(mark, app),),
    )


def _cel_claim(mark: Mark, app: Mark | None) -> CelClaim:
    test = cel.carries(cel.SUBJECT, mark)
    if app is not None:
        has_app = cel.carries(cel.SUBJECT, app)
        return CelClaim(test, f"({has_app} ? {cel.value_of(app)} : '')")
    return CelClaim(test, cel.value_of(mark) if mark.value is None else "''")
