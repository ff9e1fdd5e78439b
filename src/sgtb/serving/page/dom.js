// DOM helpers and display texts. Text is inserted as textContent only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

export const KINDS = { PER: "person", ORG: "organisation", LOC: "place", MISC: "other" };
export const NOT_IN_KB = "not in the knowledge base";
export const FOUND = {
  given: "given candidates",
  exact: "exact name",
  "longer name": "longer name",
  acronym: "acronym",
  variant: "variant of a name",
  abbreviation: "abbreviation",
  training: "name of training",
  "similar name": "similar name",
  nothing: "no candidates",
};
let labels = {};  // of feature groups, from the service

export function setLabels(given) {
  labels = given;
}

export const kindOf = (type) => (Object.hasOwn(KINDS, type) ? type : "none");
/** Whether an entity has the title of another candidate of the link. */
export const sharesTitle = (entity, link) => link.candidates.some((other) => other.title === entity.title && other.entity !== entity.entity);
/** Return the title of a link's entity, with its id where another candidate has the same title. */
export function answerOf(link) {
  if (link.entity === null) return NOT_IN_KB;
  return sharesTitle(link, link) ? `${link.title} (${link.entity})` : link.title;
}
export const samePlace = (a, b) => a !== null && b !== null && a.start === b.start && a.end === b.end;
export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

/** Format a probability; only certainty is 0 or 100 %. */
export function percent(p) {
  if (p > 0 && p < 0.005) return "<1 %";
  if (p >= 0.995 && p < 1) return ">99 %";
  return `${Math.round(100 * p)} %`;
}

export function reasonWords(reason) {
  if (reason.kind === "mention") return `${reason.value < 0 ? "contradicted by" : "supported by"} ${reason.name}`;
  return Object.hasOwn(labels, reason.name) ? labels[reason.name] : reason.name;
}

/** Return the influence of other mentions on a mention or, where there is none, its own on them. */
export function tiesOf(links, place) {
  const ties = new Map();
  for (const { mention, value } of links[place].reasons) {
    if (links[mention ?? -1]) ties.set(mention, { mention, value });
  }
  links.forEach((link, mention) => {
    const reason = link.reasons.find((other) => other.mention === place);
    if (reason && !ties.has(mention)) ties.set(mention, { mention, value: reason.value });
  });
  return [...ties.values()];
}

/** Create an element; string children become text. */
export function make(tag, classes = "", ...children) {
  const node = document.createElement(tag);
  if (classes) node.className = classes;
  node.append(...children);
  return node;
}

export function makeButton(classes, label, act) {
  const node = make("button", classes, label);
  node.type = "button";
  node.addEventListener("click", act);
  return node;
}

export function makeSvg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** Make items navigable with the arrow keys, with one Tab stop; Enter and click open an item. */
export function rove(box, items, open) {
  const enter = (item, event) => {
    for (const other of items) other.setAttribute("tabindex", other === item ? "0" : "-1");
    if (event.type === "keydown") item.focus();
  };
  items.forEach((item, place) => {
    item.setAttribute("tabindex", place === 0 ? "0" : "-1");
    item.addEventListener("focus", (event) => enter(item, event));
    item.addEventListener("click", (event) => { enter(item, event); open(place, false); });
    item.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const next = {
        ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1,
        Home: 0, End: items.length - 1,
      }[event.key];
      if (event.key === "Enter" || event.key === " ") open(place, true);
      else if (next === undefined) return;
      else if (items[next]) enter(items[next], event);
      event.preventDefault();
    });
  });
  box.dataset.items = String(items.length);
}
