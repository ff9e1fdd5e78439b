(() => {
  const records = [...document.querySelectorAll('script[type="application/json"]')];
  const sheet = document.getElementById("sheet"), place = document.getElementById("place");
  const filters = ["kind", "data", "system"].map((name) => document.getElementById(name));
  let chosen = records, at = 0;

  const fits = (record, without) => filters.every((f) => f === without || f.value === "" || record.dataset[f.id] === f.value);

  // Each filter counts the records that pass the other two.
  function updateFilters() {
    for (const filter of filters) {
      const counts = new Map();
      for (const record of records) {
        const value = record.dataset[filter.id];
        counts.set(value, (counts.get(value) || 0) + (fits(record, filter) ? 1 : 0));
      }
      const kept = filter.value, all = [...counts.values()].reduce((a, b) => a + b, 0);
      const options = [["", `all (${all})`], ...[...counts].map(([value, n]) => [value, `${value} (${n})`])];
      filter.replaceChildren(...options.map(([value, text]) => {
        const option = make("option", "", text);
        option.value = value;
        return option;
      }));
      filter.value = kept;
    }
  }

  function answer(title, id, words, about, name) {
    const box = make("section", `answer ${name}`);
    box.append(make("h2", "", title), make("p", "entity", words));
    if (id !== null && about[id]) box.append(make("p", "small", about[id]));
    return box;
  }

  function candidates(m) {
    const list = make("ol");
    for (const other of m.link.candidates) {
      const gold = other.entity === m.gold, answered = other.entity === m.link.entity;
      const item = make("li", gold ? "gold" : answered ? "wrong" : ""), row = make("div", "row");
      const name = make("span", "name", other.title);
      if (other.type) name.append(" ", make("span", "kind", other.type));
      if (gold) name.append(" ", make("span", "badge", "gold"));
      if (answered) name.append(" ", make("span", "badge", "answer"));
      const prior = other.prior === null ? "" : `, prior ${percent(other.prior)}`;
      row.append(name, make("span", "number", percent(other.probability) + prior));
      item.append(row, bar(other.probability));
      if (m.about[other.entity]) item.append(make("p", "small", m.about[other.entity]));
      list.append(item);
    }
    return list;
  }

  function show() {
    place.textContent = chosen.length ? `${at + 1} of ${chosen.length}` : "none";
    if (!chosen.length) { sheet.replaceChildren(make("p", "note", "No errors of this kind.")); return; }
    const record = chosen[at], m = JSON.parse(record.textContent), link = m.link;
    const titles = new Map([["NIL", "not in the knowledge base"], ...link.candidates.map((c) => [c.entity, c.title])]);
    const left = make("div", "left"), right = make("div", "right");
    const head = make("p", "where");
    head.append(make("span", "badge kind-of", record.dataset.kind), ` ${record.dataset.system}, ${record.dataset.data}, document ${m.document}`);
    const text = make("p", "text");
    text.dir = "auto";
    text.append(m.before, make("mark", "", link.text), m.after);
    const both = make("div", "both");
    const outside = m.gold_title ? `${m.gold_title}: not in the knowledge base` : "not in the knowledge base";
    both.append(
      answer("Gold", m.gold, m.gold === null ? outside : m.gold_title, m.about, "gold"),
      answer("Answer", link.entity, link.entity === null ? "not in the knowledge base" : link.title, m.about, "wrong"),
    );
    const confidence = link.entity === null && !link.confidence ? "" : `confidence ${percent(link.confidence)}; `;
    left.append(head, text, both, make("p", "small", `${confidence}${m.how}`));
    right.append(make("h3", "", "Candidates"));
    right.append(link.candidates.length ? candidates(m) : make("p", "small", "No candidates."));
    if (m.more > 0) right.append(make("p", "small", `and ${m.more} more`));
    if (link.reasons.length) {
      const ahead = titles.get(link.entity === null ? "NIL" : link.entity), behind = titles.get(link.runner_up) || "the runner-up";
      right.append(make("h3", "", `Why ${ahead}, not ${behind}`), reasons(link));
    }
    sheet.replaceChildren(left, right);
    history.replaceState(null, "", `#${records.indexOf(record) + 1}`);
  }

  function turn(step) {
    if (!chosen.length) return;
    at = (at + step + chosen.length) % chosen.length;
    show();
    scrollTo(0, 0);
  }

  function choose() {
    const shown = chosen[at];
    chosen = records.filter((record) => fits(record, null));
    at = Math.max(0, chosen.indexOf(shown));
    updateFilters();
    show();
  }

  filters.forEach((filter) => filter.addEventListener("change", () => { filter.blur(); choose(); }));
  document.getElementById("back").addEventListener("click", () => turn(-1));
  document.getElementById("on").addEventListener("click", () => turn(1));
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName === "SELECT") return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { event.preventDefault(); turn(step); }
  });
  updateFilters();
  const wanted = Number(location.hash.slice(1));
  if (wanted >= 1 && wanted <= records.length) at = Math.floor(wanted) - 1;
  show();
})();
