// The panel: the candidates of one mention, and the reasons of the decision.

import { about } from "./api.js";
import { FOUND, KINDS, NOT_IN_KB, answerOf, kindOf, make, makeButton, percent, reasonWords, sharesTitle, signed } from "./dom.js";

const MAX_REASONS = 8;
const MAX_UNFOLDED = 4;  // candidates
const panel = document.getElementById("panel");

/**
 * Show a link. `supported` are the links it supports, `free` is the link without corrections,
 * `reasons` whether they were requested; `act` has choose(id or null), release() and close().
 */
export function show(link, supported, free, reasons, act) {
  const close = makeButton("quiet close", "", act.close);
  close.setAttribute("aria-label", "Close");
  panel.replaceChildren(close, head(link, free, act), choices(link, free, act), ...why(link, reasons), ...supports(supported));
  panel.classList.add("filled");
  panel.scrollTop = 0;
}

export function hint() {
  panel.classList.remove("filled");
  panel.replaceChildren(
    make("h2", "", "Select a name"),
    make("p", "soft", "Click a name, or move to it with Tab and the arrow keys and press Enter, to see its candidates, their probabilities and the reasons of the decision."),
    make("p", "soft", "Choose another candidate to correct a link. All names of a text are linked jointly, so others may change."),
  );
}

export function focus() {
  panel.querySelector("h2")?.focus();
}

function head(link, free, act) {
  const box = make("div", `head ${kindOf(link.type)}`);
  const title = make("h2", "", link.entity === null ? `“${link.text}”` : link.title);
  title.tabIndex = -1;
  box.append(title);
  const line = make("p", "line");
  if (link.entity === null) line.append(make("span", "soft", NOT_IN_KB));
  else if (link.type) line.append(make("span", "kind", KINDS[link.type] ?? link.type));
  if (sharesTitle(link, link)) line.append(make("span", "soft", link.entity));
  if (link.fixed) line.append(make("span", "badge", "your correction"));
  else if (link.confidence) line.append(make("strong", "", `confidence ${percent(link.confidence)}`));
  box.append(line);
  if (link.entity !== null) box.append(described(link.entity, "p", ""));
  if (!link.fixed) box.append(make("p", "soft small", `“${link.text}”: ${FOUND[link.found] ?? link.found}`));
  if (link.fixed) box.append(makeButton("plain", "Remove the correction", act.release));
  else if (free) box.append(difference(link, free));
  return box;
}

function difference(link, free) {
  if (free.entity !== link.entity) {
    return make("p", "was", "Changed by your correction; before: ", make("s", "", answerOf(free)), `, confidence ${percent(free.confidence)}`);
  }
  const moved = Math.abs(free.confidence - link.confidence) >= 0.01;
  return moved ? make("p", "soft small", `confidence ${percent(free.confidence)} without your correction`) : "";
}

function described(id, tag, classes) {
  const line = make(tag, classes);
  about(id).then(({ description }) => { line.textContent = description; });
  return line;
}

function choices(link, free, act) {
  // A fixed link has one candidate; the former ones can still be chosen.
  const from = link.fixed && free ? free : link;
  const others = from.candidates.slice();
  if (link.entity !== null && !others.some((other) => other.entity === link.entity)) others.unshift(link);
  const nil = { entity: null, title: "None of these", type: "", probability: from.nil || null };
  const below = others.findIndex((other) => (other.probability ?? 1) < from.nil);
  const last = below < 0 ? [nil] : [];  // stays visible below the folded candidates
  if (below >= 0) others.splice(below, 0, nil);
  const item = (other) => choice(other, link, () => act.choose(other.entity));
  const visible = (other) => other === nil || other.entity === link.entity;
  const least = Math.max(MAX_UNFOLDED, 1 + others.findLastIndex(visible));
  const at = others.length > least + 1 ? least : others.length;
  const list = make("ul", "choices", ...others.slice(0, at).map(item));
  if (at < others.length) list.append(make("li", "", folded(others.slice(at).map(item))));
  list.append(...last.map(item));
  const heading = make("h3", "", link.fixed && free ? "Candidates before the correction" : "Candidates");
  heading.id = "choices-label";
  list.setAttribute("aria-labelledby", heading.id);
  const box = make("div", "", heading, list);
  if (!link.fixed) box.append(make("p", "soft small", "Choose another to correct the link."));
  return box;
}

function folded(items) {
  return make("details", "", make("summary", "soft small", `${items.length} more`), make("ul", "", ...items));
}

function choice(other, link, act) {
  const chosen = other.entity === link.entity;
  const number = other.probability ?? null;
  const name = make("span", "name", other.title);
  if (sharesTitle(other, link)) name.append(" ", make("span", "soft", other.entity));
  if (other.entity !== null && other.type) name.append(" ", make("span", "kind", KINDS[other.type] ?? other.type));
  const row = make("span", "row", name, make("span", "number", number === null ? "" : percent(number)));
  const fill = make("i");
  fill.style.width = `${100 * Math.min(1, number ?? 0)}%`;
  const button = makeButton(`choice ${kindOf(other.type)}`, row, act);
  if (number !== null) button.append(make("span", "bar", fill));
  if (other.entity === null) button.append(make("span", "about", "not in the knowledge base"));
  else if (!chosen) button.append(described(other.entity, "span", "about"));
  button.setAttribute("aria-pressed", String(chosen));
  return make("li", "", button);
}

function why(link, requested) {
  if (!link.reasons.length) {
    if (link.fixed || link.entity === null) return [];
    const words = requested ? "There is no other candidate." : "Reasons are given for shorter texts only.";
    return [make("h3", "", "Why"), make("p", "soft small", words)];
  }
  const other = link.candidates.find((candidate) => candidate.entity === link.runner_up);
  const runnerUp = other ? answerOf({ ...other, candidates: link.candidates }) : link.runner_up;
  const most = Math.max(...link.reasons.map((reason) => Math.abs(reason.value)), 1e-9);
  const list = make("ul", "reasons");
  for (const reason of link.reasons.slice(0, MAX_REASONS)) list.append(bar(reason, most));
  const rest = link.reasons.slice(MAX_REASONS);
  if (rest.length) {
    const value = rest.reduce((sum, reason) => sum + reason.value, 0);
    list.append(bar({ kind: "features", name: `${rest.length} more`, value }, most));
  }
  const parts = [make("h3", "", link.entity === null ? "Why no link" : link.runner_up === "NIL" ? "Why a link" : `Why not ${runnerUp}`), list];
  if (typeof link.lead === "number") parts.push(make("p", "row total", make("span", "", "sum"), make("span", "number", signed(link.lead))));
  return parts;
}

function supports(supported) {
  if (!supported.length) return [];
  const names = [...new Set(supported.map((other) => `${other.text} (${answerOf(other)})`))];
  return [make("h3", "", "Supports"), make("p", "", names.join(", "))];
}

function bar(reason, most) {
  const fill = make("i", reason.value < 0 ? "against" : "for");
  const half = 50 * Math.min(1, Math.abs(reason.value) / most);
  fill.style.left = `${reason.value < 0 ? 50 - half : 50}%`;
  fill.style.width = `${half}%`;
  const row = make("div", "row", make("span", "", reasonWords(reason)), make("span", "number", signed(reason.value)));
  return make("li", "", row, make("div", "scale", fill));
}
