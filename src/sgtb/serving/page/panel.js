// The panel: one mention, what it may mean, and why it means what it does.

import { about } from "./api.js";
import { FOUND, KINDS, NOT_THERE, answerOf, kindOf, make, makeButton, percent, reasonWords, signed } from "./dom.js";

const SHOWN = 8;  // reasons
const AT_ONCE = 4;  // candidates
const panel = document.getElementById("panel");

/**
 * Show a link. `helped` are the links it speaks for, `free` is what it was without corrections,
 * `reasons` whether any were asked for; `act` has choose(id or null), release() and close().
 */
export function show(link, helped, free, reasons, act) {
  const close = makeButton("quiet close", "", act.close);
  close.setAttribute("aria-label", "Close");
  panel.replaceChildren(close, head(link, free, act), choices(link, free, act), ...why(link, reasons), ...help(helped));
  panel.classList.add("filled");
  panel.scrollTop = 0;
}

export function hint() {
  panel.classList.remove("filled");
  panel.replaceChildren(
    make("h2", "", "Open a name"),
    make("p", "soft", "Click one, or go to it with Tab and the arrow keys and press Enter. You will see what it may mean, how likely each meaning is, and which other names speak for it."),
    make("p", "soft", "If it is wrong, choose what it does mean. All names of a text are decided together, so others may change with it."),
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
  if (link.entity === null) line.append(make("span", "soft", NOT_THERE));
  else if (link.type) line.append(make("span", "kind", KINDS[link.type] ?? link.type));
  if (link.fixed) line.append(make("span", "badge", "as you said"));
  else if (link.confidence) line.append(make("strong", "sure", `${percent(link.confidence)} sure`));
  box.append(line);
  if (link.entity !== null) box.append(described(link.entity, "p", ""));
  if (!link.fixed) box.append(make("p", "soft small", `“${link.text}”: ${FOUND[link.found] ?? link.found}`));
  if (link.fixed) box.append(makeButton("plain", "Decide it again without me", act.release));
  else if (free) box.append(difference(link, free));
  return box;
}

function difference(link, free) {
  if (free.entity !== link.entity) {
    return make("p", "was", "Changed by your correction: was ", make("s", "", answerOf(free)), `, ${percent(free.confidence)} sure`);
  }
  const moved = Math.abs(free.confidence - link.confidence) >= 0.01;
  return moved ? make("p", "soft small", `${percent(free.confidence)} without your correction`) : "";
}

function described(id, tag, classes) {
  const line = make(tag, classes);
  about(id).then(({ description }) => { line.textContent = description; });
  return line;
}

function choices(link, free, act) {
  // What is fixed has one candidate left: those it had before can still be chosen.
  const from = link.fixed && free ? free : link;
  const others = from.candidates.slice();
  if (link.entity !== null && !others.some((other) => other.entity === link.entity)) others.unshift(link);
  const list = make("ul", "choices");
  const items = others.map((other) => choice(other, link, () => act.choose(other.entity)));
  const least = Math.max(AT_ONCE, 1 + others.findIndex((other) => other.entity === link.entity));
  const at = items.length > least + 1 ? least : items.length;
  list.append(...items.slice(0, at));
  if (at < items.length) list.append(make("li", "", folded(items.slice(at))));
  list.append(choice({ entity: null, title: "None of these", type: "", probability: from.nil || null }, link, () => act.choose(null)));
  const said = link.fixed && free ? "What it may mean, before you said so" : "What it may mean";
  const heading = make("h3", "", said);
  heading.id = "choices-label";
  list.setAttribute("aria-labelledby", heading.id);
  const box = make("div", "", heading, list);
  if (!link.fixed) box.append(make("p", "soft small", "Choose another to correct it."));
  return box;
}

function folded(items) {
  return make("details", "", make("summary", "soft small", `${items.length} more`), make("ul", "", ...items));
}

function choice(other, link, act) {
  const chosen = other.entity === link.entity;
  const number = other.probability ?? null;
  const name = make("span", "name", other.title);
  if (other.entity !== null && other.type) name.append(" ", make("span", "kind", KINDS[other.type] ?? other.type));
  const row = make("span", "row", name, make("span", "number", number === null ? "" : percent(number)));
  const fill = make("i");
  fill.style.width = `${100 * Math.min(1, number ?? 0)}%`;
  const button = makeButton(`choice ${kindOf(other.type)}`, row, act);
  if (number !== null) button.append(make("span", "bar", fill));
  if (other.entity === null) button.append(make("span", "about", "leave it without a link"));
  else if (!chosen) button.append(described(other.entity, "span", "about"));
  button.setAttribute("aria-pressed", String(chosen));
  return make("li", "", button);
}

function why(link, asked) {
  if (!link.reasons.length) {
    if (link.fixed || link.entity === null) return [];
    const words = asked ? "Nothing else goes by this name." : "Reasons are told of shorter texts only.";
    return [make("h3", "", "Why"), make("p", "soft small", words)];
  }
  const other = link.candidates.find((candidate) => candidate.entity === link.runner_up);
  const rival = other ? other.title : link.runner_up === "NIL" ? "none of these" : link.runner_up;
  const most = Math.max(...link.reasons.map((reason) => Math.abs(reason.value)), 1e-9);
  const list = make("ul", "reasons");
  for (const reason of link.reasons.slice(0, SHOWN)) list.append(bar(reason, most));
  const rest = link.reasons.slice(SHOWN);
  if (rest.length) {
    const value = rest.reduce((sum, reason) => sum + reason.value, 0);
    list.append(bar({ kind: "features", name: `${rest.length} more`, value }, most));
  }
  const parts = [make("h3", "", link.entity === null ? "Why none" : `Why not ${rival}`), list];
  if (typeof link.lead === "number") parts.push(make("p", "row total", make("span", "", "together"), make("span", "number", signed(link.lead))));
  return parts;
}

function help(helped) {
  if (!helped.length) return [];
  const names = [...new Set(helped.map((other) => `${other.text} (${answerOf(other)})`))];
  return [make("h3", "", "What it speaks for"), make("p", "", names.join(", "))];
}

function bar(reason, most) {
  const fill = make("i", reason.value < 0 ? "against" : "for");
  const half = 50 * Math.min(1, Math.abs(reason.value) / most);
  fill.style.left = `${reason.value < 0 ? 50 - half : 50}%`;
  fill.style.width = `${half}%`;
  const row = make("div", "row", make("span", "", reasonWords(reason)), make("span", "number", signed(reason.value)));
  return make("li", "", row, make("div", "scale", fill));
}
