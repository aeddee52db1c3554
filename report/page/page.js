// Sorting: a click on a head sorts by its column, a second one turns the order round. Everything reads without it.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    let at = 0;
    const cell = [...row.cells].find((candidate) => (at += candidate.colSpan) > column);
    if (!cell || cell.colSpan > 1) return "";
    const given = cell.dataset.v;
    return given ? Number(given) : cell.classList.contains("number") ? "" : cell.textContent;
  };
  heads.forEach((head, column) => {
    const text = head.textContent;
    if (!text) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
      rows.sort(([a], [b]) => {
        if (a === "" || b === "") return (a === "") - (b === "");  // what does not exist stays at the end
        const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}
