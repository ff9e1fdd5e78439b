"use strict";
// Apply the stored theme before the page is painted; the system's theme is the default.
(() => {
  try {
    const chosen = localStorage.getItem("sgtb-theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch { /* no storage */ }
})();
