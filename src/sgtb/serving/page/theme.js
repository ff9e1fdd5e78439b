"use strict";
// The theme somebody chose before, set before anything is painted; else the system's is followed.
(() => {
  try {
    const chosen = localStorage.getItem("sgtb-theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch { /* no storage: the system's theme it is */ }
})();
