// Lines between mentions that run between the lines of the text and in its margin, never through it.

const LANES = 3;  // lines side by side in a gap
const LANE = 3;  // pixels between lanes
const MARGIN = 6;  // pixels from the text to the first lane of its margin
const RADIUS = 4;  // pixels, of corners

/** Return the path between the rectangles of two mentions, in the coordinates of the text's box. */
export function lineBetween(from, to, box, number) {
  const lane = LANE * (1 + number % LANES), aside = -MARGIN - lane;
  const [x1, x2] = [from, to].map((r) => r.left + r.width / 2 - box.left);
  const [y1, y2] = [from, to].map((r) => r.top - box.top);
  const sameLine = Math.abs(y1 - y2) < Math.min(from.height, to.height) / 2;
  const [up, down] = sameLine ? [Math.min(y1, y2) - lane, Math.min(y1, y2) - lane] : [y1 - lane, y2 - lane];
  const points = sameLine ? [[x1, y1], [x1, up], [x2, up], [x2, y2]] : [[x1, y1], [x1, up], [aside, up], [aside, down], [x2, down], [x2, y2]];
  return rounded(points);
}

function rounded(points) {
  const parts = [`M${points[0].join(" ")}`];
  for (let i = 1; i < points.length - 1; i++) {
    const [before, corner, after] = points.slice(i - 1, i + 2);
    parts.push(`L${towards(corner, before).join(" ")}Q${corner.join(" ")} ${towards(corner, after).join(" ")}`);
  }
  return `${parts.join("")}L${points.at(-1).join(" ")}`;
}

/** Return the point at the radius from a corner, at most half of the way to another. */
function towards([x, y], [toX, toY]) {
  const length = Math.hypot(toX - x, toY - y) || 1, step = Math.min(RADIUS, length / 2) / length;
  return [x + step * (toX - x), y + step * (toY - y)];
}
