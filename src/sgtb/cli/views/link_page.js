(() => {
  const panel = document.getElementById("panel");
  const hint = panel.firstElementChild;
  const SVG = "http://www.w3.org/2000/svg";
  const records = new Map();
  let shown = null, pinned = false;

  const kind = (type) => ["PER", "ORG", "LOC", "MISC"].includes(type) ? type : "none";
  const recordOf = (section) => {
    if (!records.has(section)) records.set(section, JSON.parse(section.querySelector("script").textContent));
    return records.get(section);
  };

  function candidates(link, about) {
    const list = make("ol");
    const nil = link.nil > 0 ? [{ entity: null, title: "None of these", type: "", probability: link.nil }] : [];
    for (const other of [...link.candidates, ...nil].sort((a, b) => b.probability - a.probability)) {
      const item = make("li", `${kind(other.type)}${other.entity === link.entity ? " chosen" : ""}`);
      const row = make("div", "row");
      const name = make("span", "name", other.title);
      if (other.type) name.append(" ", make("span", "kind", other.type));
      row.append(name, make("span", "number", percent(other.probability)));
      item.append(row, bar(other.probability));
      if (about[other.entity] && other.entity !== link.entity) item.append(make("p", "small", about[other.entity]));
      list.append(item);
    }
    return list;
  }

  function fill(link, about) {
    const parts = [];
    const head = make("div", kind(link.type));
    head.append(make("h2", "", link.entity === null ? link.text : link.title));
    const confidence = `confidence ${percent(link.confidence)}`;
    if (link.entity === null) head.append(make("p", "hint", `not in the knowledge base${link.confidence ? `, ${confidence}` : ""}`));
    else {
      const line = make("p");
      if (link.type) line.append(make("span", "kind", link.type), " ");
      line.append(link.fixed ? "fixed by the request" : confidence);
      head.append(line);
      if (about[link.entity]) head.append(make("p", "", about[link.entity]));
    }
    head.append(make("p", "small", `“${link.text}”: ${link.how}`));
    parts.push(head);
    if (link.reasons.length) {
      const other = link.candidates.find((c) => c.entity === link.runner_up);
      const name = other ? other.title : link.runner_up;
      parts.push(make("h3", "", link.runner_up === "NIL" ? "Why a link" : `Why not ${name}`), reasons(link));
    }
    if (link.candidates.length > (link.entity === null || link.nil > 0 ? 0 : 1)) parts.push(make("h3", "", "Candidates"), candidates(link, about));
    panel.replaceChildren(...parts);
    panel.scrollTop = 0;
  }

  function connect(span, link) {
    const text = span.closest(".text"), mentions = text.querySelectorAll(".m");
    const box = text.getBoundingClientRect(), from = span.getClientRects()[0];
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", "lines");
    const most = Math.max(...link.reasons.map((r) => Math.abs(r.value)), 1e-9);
    for (const reason of link.reasons) {
      const other = reason.mention === null ? null : mentions[reason.mention];
      if (!other) continue;
      const sign = reason.value < 0 ? "against" : "for", to = other.getClientRects()[0];
      other.classList.add(sign);
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", lineBetween(from, to, box, svg.childElementCount));
      path.setAttribute("class", sign);
      path.setAttribute("stroke-width", String(1 + 2.5 * Math.abs(reason.value) / most));
      svg.append(path);
    }
    text.append(svg);
  }

  function clear() {
    document.querySelectorAll(".lines").forEach((node) => node.remove());
    document.querySelectorAll(".m.for, .m.against, .m.shown").forEach((node) => node.classList.remove("for", "against", "shown"));
    shown = null;
  }

  function show(span) {
    if (span === shown) return;
    clear();
    shown = span;
    span.classList.add("shown");
    const record = recordOf(span.closest(".document"));
    const link = record.links[Number(span.dataset.at)];
    fill(link, record.about);
    connect(span, link);
  }

  const mention = (event) => event.target.closest && event.target.closest(".m");
  document.addEventListener("mouseover", (event) => { const m = mention(event); if (m && !pinned) show(m); });
  document.addEventListener("focusin", (event) => { const m = mention(event); if (m) show(m); });
  document.addEventListener("click", (event) => {
    const m = mention(event);
    if (m) { pinned = true; show(m); } else if (!panel.contains(event.target)) pinned = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { clear(); pinned = false; panel.replaceChildren(hint); return; }
    const m = mention(event);
    if (!m) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pinned = !pinned; show(m); return; }
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const all = [...document.querySelectorAll(".m")], next = all[all.indexOf(m) + step];
    if (next) { event.preventDefault(); next.focus(); }
  });
  addEventListener("resize", () => { const span = shown; if (span) { clear(); show(span); } });
})();
