"""The report of a training as one HTML file without network access or scripts."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from sgtb.cli.views.link_view import percent, printable
from sgtb.cli.views.page_files import styled_page
from sgtb.core.intervals import FEW_MENTIONS, wilson_interval

if TYPE_CHECKING:
    from sgtb.boosting.training_progress import TrainingProgress
    from sgtb.evaluation.linkers.dev_report import DevReport
    from sgtb.evaluation.reliability import Calibration

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 260, 52, 34, 12
_RIGHT, _LABELS, _LONGEST = 28, 240, 330
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.25)  # distances of the lines of a plot, four up to 100 %
Point = tuple[float, float]


class Curve:
    """Callback that records the accuracies of a training, tree by tree."""

    def __init__(self) -> None:
        self.train: list[Point] = []
        self.dev: list[Point] = []

    def __call__(self, progress: "TrainingProgress") -> None:
        """Record the accuracies after a tree."""
        self.train.append((progress.n_trees, progress.train_accuracy))
        checks = ((c.n_trees, c.dev_accuracy) for c in progress.checks)
        self.dev = [(n, accuracy) for n, accuracy in checks if accuracy is not None]


def train_page(result: dict[str, Any], curve: Curve, dev: "DevReport | None") -> str:
    """Return the page: curves, calibration, feature groups and the worst documents."""
    title = f"Training of {result['model']}"
    parts = [f"<h1>{escape(printable(title))}</h1>", _facts(result, dev), _curves(curve)]
    if dev is None or not dev.total:
        parts.append("<p>No dev mention is annotated: nothing was judged.</p>")
    else:
        parts += [_calibration(dev.calibration), _groups(dev.groups), _worst(dev)]
    return styled_page("train_page", title, "\n".join(parts))


def _facts(result: dict[str, Any], dev: "DevReport | None") -> str:
    documents = result["documents"]
    facts = [
        f"plan {result['plan']}, beam {result['beam']}, {result['trees']} trees of depth "
        f"{result['depth']}, η {result['eta']:g}",
        f"{documents['train']:,} documents to train on, {documents['dev']:,} to choose by (dev)",
        f"{result['learnable']:,} mentions learned from; {result['seconds']:.0f} s",
    ]
    warning = ""
    if dev is not None and dev.total:
        low, high = wilson_interval(dev.right, dev.total)
        facts.append(
            f"dev: {dev.right:,} of {dev.total:,} answers right, {dev.right / dev.total:.1%} "
            f"(95 % interval {low:.1%} to {high:.1%})"
        )
        if dev.total < FEW_MENTIONS:
            warning = (
                f'<p class="warning">Chosen on {dev.total:,} mentions: too few to trust. '
                "Annotate more dev documents before comparing settings.</p>"
            )
    rows = "".join(f"<li>{escape(printable(fact))}</li>" for fact in facts)
    return f'<ul class="facts">{rows}</ul>{warning}'


def _curves(curve: Curve) -> str:
    points = [*curve.train, *curve.dev]
    if not points:
        return _section("Accuracy while training", "<p>No tree was grown.</p>")
    lowest = min(y for _, y in points)
    low = 1 - 4 * next(step for step in _STEPS if 1 - 4 * step <= lowest)
    most = max(x for x, _ in points)
    frame = _Frame((0.0, most), (low, 1.0))
    lines = (
        f'<polyline class="train" points="{frame.points(curve.train)}"/>'
        f'<polyline class="dev" points="{frame.points(curve.dev)}"/>{frame.dots(curve.dev)}'
    )
    note = (
        "<p>Share of right decisions of the mentions with candidates. Grey: train, slightly too "
        "high, as a by-product of the search; blue: dev.</p>"
    )
    ticks = [(f"{at:g}", at) for at in (0.0, most / 2, most)]
    picture = frame.svg(lines, "trees", ticks, "accuracy by trees")
    return _section("Accuracy while training", picture, note)


def _calibration(found: "Calibration") -> str:
    frame = _Frame((0.0, 1.0), (0.0, 1.0))
    filled = [(b.confidence, b.accuracy) for b in found.bins if b.n]
    (x, y), (to_x, to_y) = frame.place((0, 0)), frame.place((1, 1))
    drawn = (
        f'<line class="dashed" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'
        f'<polyline class="dev" points="{frame.points(filled)}"/>{frame.dots(filled)}'
    )
    rows = [
        (
            f"{percent(b.low)} to {percent(b.high)}", f"{b.n:,}", percent(b.confidence),
            percent(b.accuracy),
        )
        for b in found.bins if b.n
    ]  # fmt: skip
    table = _table(("confidence", "answers", "mean confidence", "right"), rows)
    note = f"<p>On the dashed line confidence is exact. Calibration error {found.ece:.1%}.</p>"
    ticks = (("0 %", 0.0), ("50 %", 0.5), ("100 %", 1.0))
    picture = frame.svg(drawn, "confidence", ticks, "share of right answers by confidence")
    return _section("Calibration on dev", picture, note, table)


def _groups(groups: Sequence[tuple[str, float]]) -> str:
    height = 24 * len(groups) + 8
    largest = max((share for _, share in groups), default=1.0)
    rows = [(24 * i, name, share, _LONGEST * share / largest) for i, (name, share) in
            enumerate(groups)]  # fmt: skip
    bars = "".join(
        f'<text x="0" y="{y + 19}">{escape(name)}</text>'
        f'<rect class="share" x="{_LABELS}" y="{y + 7}" height="15" width="{width:.1f}"/>'
        f'<text x="{_LABELS + 8 + width:.1f}" y="{y + 19}">{share:.1%}</text>'
        for y, name, share, width in rows
    )
    svg = (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="feature groups">{bars}</svg>'
    )
    note = "<p>Share of each group of features in the reasons of all dev links.</p>"
    return _section("Importance of feature groups", note, svg)


def _worst(dev: "DevReport") -> str:
    if not dev.worst:
        return _section("Worst documents", "<p>All dev answers are right.</p>")
    rows = [
        (
            score.id if not i else "", f"{score.right} of {score.total}" if not i else "",
            wrong.text, f"{wrong.answer} {percent(wrong.confidence)}", wrong.gold,
        )
        for score in dev.worst
        for i, wrong in enumerate(score.wrong)
    ]  # fmt: skip
    columns = ("document", "right", "mention", "answer and confidence", "annotated")
    return _section(f"The {len(dev.worst)} worst documents of dev", _table(columns, rows))


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(printable(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class _Frame:
    """Axes of a plot, from values to places in the picture."""

    def __init__(self, x: Point, y: Point) -> None:
        self._x, self._y = x, (y[0], max(y[1], y[0] + 0.01))

    def place(self, point: Point) -> Point:
        (x0, x1), (y0, y1) = self._x, self._y
        across = (point[0] - x0) / max(x1 - x0, 1e-9)
        up = (point[1] - y0) / (y1 - y0)
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _BOTTOM - _TOP
        return _LEFT + across * width, _TOP + (1 - up) * height

    def points(self, points: Iterable[Point]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.place, points))

    def dots(self, points: Iterable[Point]) -> str:
        places = map(self.place, points)
        return "".join(
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places
        )

    def svg(self, drawn: str, label: str, ticks: Iterable[tuple[str, float]], about: str) -> str:
        base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        grid = []
        for i in range(5):
            value = self._y[0] + i * (self._y[1] - self._y[0]) / 4
            _, y = self.place((self._x[0], value))
            grid.append(
                f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
                f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.0%}</text>'
            )
        below = "".join(
            f'<text x="{self.place((at, self._y[0]))[0]:.1f}" y="{base + 16}" '
            f'text-anchor="middle">{text}</text>'
            for text, at in ticks
        )
        axis = f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{right}" y2="{base}"/>'
        middle = (_WIDTH + _LEFT) / 2
        name = f'<text x="{middle:.0f}" y="{_HEIGHT - 3}" text-anchor="middle">{label}</text>'
        return (
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(about)}">'
            f"{''.join(grid)}{axis}{below}{name}{drawn}</svg>"
        )
