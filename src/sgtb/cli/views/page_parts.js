"use strict";
// Shared by the pages. Text is inserted as textContent only, never as markup.
const make = (tag, name, text) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
};
const percent = (p) => p > 0 && p < 0.005 ? "<1 %" : p >= 0.995 && p < 1 ? ">99 %" : `${Math.round(100 * p)} %`;
const signed = (v) => `${v < 0 ? "−" : "+"}${Math.abs(v).toFixed(2)}`;

function bar(probability) {
  const bar = make("div", "bar"), fill = make("i");
  fill.style.width = `${100 * probability}%`;
  bar.append(fill);
  return bar;
}

function reasons(link) {
  const list = make("ol"), most = Math.max(...link.reasons.map((r) => Math.abs(r.value)), 1e-9);
  for (const reason of link.reasons) {
    const item = make("li"), row = make("div", "row");
    row.append(make("span", "", reason.text), make("span", "number", signed(reason.value)));
    const scale = make("div", "scale"), fill = make("i", reason.value < 0 ? "against" : "");
    const half = 50 * Math.abs(reason.value) / most;
    fill.style.left = `${reason.value < 0 ? 50 - half : 50}%`;
    fill.style.width = `${half}%`;
    scale.append(fill);
    item.append(row, scale);
    list.append(item);
  }
  return list;
}

