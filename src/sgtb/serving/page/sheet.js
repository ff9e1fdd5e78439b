// The text with its mentions marked, and lines from the selected mention to those that influence it.

import { KINDS, answerOf, kindOf, make, makeSvg, percent, rove, samePlace, tiesOf } from "./dom.js";
import { lineBetween } from "./lines.js";

const sheet = document.getElementById("sheet");
let marks = [];

/** Show a text. `before` holds, per link, the differing link without corrections, or null. */
export function draw(text, links, before, open) {
  const points = Array.from(text);  // offsets count code points
  const parts = [];
  let at = 0;
  marks = links.map((link, place) => {
    parts.push(points.slice(at, link.start).join(""));
    const mark = markOf(link, before[place], points.slice(link.start, link.end).join(""));
    parts.push(mark);
    at = link.end;
    return mark;
  });
  parts.push(points.slice(at).join(""));
  sheet.replaceChildren(make("p", "text", ...parts));
  rove(sheet, marks, open);
}

function markOf(link, before, text) {
  const classes = ["m", kindOf(link.type)];
  if (link.entity === null) classes.push("nil");
  if (link.fixed) classes.push("fixed");
  if (before) classes.push("changed");
  const mark = make("span", classes.join(" "), text);
  const confidence = link.entity === null ? 0 : Math.min(1, Math.max(0, link.confidence ?? 0));
  mark.style.setProperty("--strength", `${Math.round(4 + 36 * confidence * confidence)}%`);
  const description = describe(link, before);
  mark.title = description;
  mark.setAttribute("role", "button");
  mark.setAttribute("aria-expanded", "false");
  mark.setAttribute("aria-controls", "panel");
  mark.setAttribute("aria-label", `${text}: ${description}`);
  return mark;
}

function describe(link, before) {
  const parts = [answerOf(link)];
  if (link.entity !== null && Object.hasOwn(KINDS, link.type)) parts.push(KINDS[link.type]);
  if (link.fixed) parts.push("your correction");
  else if (link.confidence) parts.push(`confidence ${percent(link.confidence)}`);
  if (before) parts.push(`changed, before: ${answerOf(before)}`);
  return parts.join(", ");
}

/** Mark the selected mention, and draw lines to the mentions that influence it. */
export function connect(links, opened) {
  sheet.querySelector(".lines")?.remove();
  for (const mark of marks) {
    mark.classList.remove("opened", "for", "against");
    mark.setAttribute("aria-expanded", "false");
  }
  const place = links.findIndex((link) => samePlace(link, opened));
  if (place < 0) return;
  marks[place].classList.add("opened");
  marks[place].setAttribute("aria-expanded", "true");
  const ties = tiesOf(links, place);
  if (!ties.length) return;
  const text = sheet.firstElementChild, box = text.getBoundingClientRect();
  const most = Math.max(...ties.map((tie) => Math.abs(tie.value)));
  const svg = makeSvg("svg", { class: "lines", "aria-hidden": "true" });
  for (const [number, tie] of ties.entries()) {
    const other = marks[tie.mention], sign = tie.value < 0 ? "against" : "for";
    other.classList.add(sign);
    svg.append(makeSvg("path", {
      d: lineBetween(marks[place].getClientRects()[0], other.getClientRects()[0], box, number),
      class: sign, ...(sign === "for" ? { pathLength: 1 } : {}),  // dashes keep their own length
      "stroke-width": (1 + 3 * Math.abs(tie.value) / most).toFixed(2),
    }));
  }
  text.append(svg);
}

/** Scroll the selected mention into view: on a narrow page the panel may cover it. */
export function reveal() {
  sheet.querySelector(".opened")?.scrollIntoView({ block: "nearest" });
}

/** Focus a mention. */
export function focusOn(links, opened) {
  marks[links.findIndex((link) => samePlace(link, opened))]?.focus();
}

export function dim(stale) {
  sheet.classList.toggle("stale", stale);
}

export function clear() {
  marks = [];
  sheet.replaceChildren(make("p", "hint", "Enter a text to link."));
}
