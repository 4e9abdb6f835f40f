"""Line charts as SVG files that stand alone and follow the reader's light or dark setting."""

import math
from dataclasses import dataclass
from html import escape
from typing import Final

NAMESPACE: Final = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 84, 56
STEPS: Final = (1, 2, 2.5, 5, 10)
TICKS: Final = 5

STYLE: Final = """
  svg { --ink: #1f2933; --soft: #616e7c; --grid: #e4e7eb; --paper: #ffffff;
        --a: #0b7285; --b: #d9480f; --c: #7048e8; --d: #5c940d;
        background: var(--paper); font-family: system-ui, sans-serif; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #f0f4f8; --soft: #9fb3c8; --grid: #334155; --paper: #111827;
          --a: #3bc9db; --b: #ffa94d; --c: #b197fc; --d: #a9e34b; }
  }
  text { fill: var(--soft); font-size: 13px; }
  .title { fill: var(--ink); font-size: 17px; font-weight: 600; }
  .label { fill: var(--ink); }
  .grid { stroke: var(--grid); stroke-width: 1; }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
"""

# Told apart by colour and by the line itself, for those who see no difference in the colours.
LOOKS: Final = (("--a", "none"), ("--b", "7 4"), ("--c", "2 4"), ("--d", "10 3 2 3"))


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name and its points."""

    name: str
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over a horizontal axis whose values double, and a vertical one that starts at 0."""

    title: str
    across: str
    unit: str
    series: list[Series]

    def render(self) -> str:
        """Return the whole file."""
        body = [*self._rows(), *self._columns(), *self._legend()]
        for number, each in enumerate(self.series):
            body += self._line(number, each)
        spoken = escape(f"{self.title}, in {self.unit}, over {self.across}")
        lines = [
            f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{spoken}</title>",
            f"<style>{STYLE}</style>",
            f'<text class="title" x="{LEFT}" y="30">{escape(self.title)}</text>',
            *body,
            "</svg>\n",
        ]
        return "\n".join(lines)

    @property
    def _columns_at(self) -> list[float]:
        return sorted({x for each in self.series for x, _ in each.points})

    @property
    def _ticks(self) -> list[float]:
        return ticks_to(max(y for each in self.series for _, y in each.points))

    def _x(self, value: float) -> float:
        first, last = (math.log2(each) for each in (self._columns_at[0], self._columns_at[-1]))
        share = (math.log2(value) - first) / (last - first) if last > first else 0.5
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def _y(self, value: float) -> float:
        return HEIGHT - BOTTOM - value / self._ticks[-1] * (HEIGHT - TOP - BOTTOM)

    def _rows(self) -> list[str]:
        lines = [_text(LEFT - 8, TOP - 14, self.unit, "end")]
        for tick in self._ticks:
            y = self._y(tick)
            lines.append(
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            )
            lines.append(_text(LEFT - 8, y + 4, f"{tick:g}", "end"))
        return lines

    def _columns(self) -> list[str]:
        lines = [_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, self.across, "middle")]
        return lines + [
            _text(self._x(value), HEIGHT - BOTTOM + 22, f"{value:g}", "middle")
            for value in self._columns_at
        ]

    def _legend(self) -> list[str]:
        lines, x = [], float(LEFT)
        for number, each in enumerate(self.series):
            lines.append(f'<path {_look(number)} d="M{x:.0f} 51h28"/>')
            lines.append(_text(x + 36, 55, each.name, "start", "label"))
            x += 64 + 7 * len(each.name)
        return lines

    def _line(self, number: int, series: Series) -> list[str]:
        places = [(self._x(x), self._y(y)) for x, y in series.points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        colour = LOOKS[number % len(LOOKS)][0]
        dots = [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="var({colour})">'
            f"<title>{escape(series.name)}, {value:g} {self.across}: {height:.4g} {self.unit}"
            "</title></circle>"
            for (x, y), (value, height) in zip(places, series.points, strict=True)
        ]
        return [f'<path {_look(number)} d="M{path}"/>', *dots]


def ticks_to(highest: float) -> list[float]:
    """Return round numbers from 0 to just above *highest*."""
    rough = max(highest, 1e-9) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in STEPS if each * power >= rough)
    return [step * number for number in range(math.ceil(highest / step) + 1)]


def _look(number: int) -> str:
    colour, dashes = LOOKS[number % len(LOOKS)]
    return f'class="line" stroke="var({colour})" stroke-dasharray="{dashes}"'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )
