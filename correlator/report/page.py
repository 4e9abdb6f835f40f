"""The report as one HTML file: no script, nothing fetched, prints well, light and dark."""

from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from correlator.report import words
from correlator.report.model import Report
from correlator.report.timeline import timeline_of

_ENVIRONMENT: Final = Environment(
    loader=PackageLoader("correlator.report", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "after": words.after,
    "before": words.before,
    "fate": words.fate,
    "moment": words.moment,
    "plain": words.plain,
}


def render_page(report: Report, title: str) -> str:
    """Return *report* under *title*; whatever people wrote is escaped by the template."""
    template = _ENVIRONMENT.get_template("report.html.j2")
    return template.render(report=report, title=title, timeline=timeline_of(report))
