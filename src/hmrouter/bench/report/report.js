
// Tables sort by a click on a column's head: numbers from the largest, texts from A, then the other way round, then as
// they were. Without this script the heads are plain text. Empty cells stay last; the footer stays where it is.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const number = (row, column) => parseFloat(row.cells[column].dataset.sort);
  const text = (row, column) => row.cells[column].textContent;

  const compare = (column, isNumber, sign) => (a, b) => {
    if (!isNumber) return sign * text(a, column).localeCompare(text(b, column), "en", { numeric: true });
    const [x, y] = [number(a, column), number(b, column)];
    if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
    return sign * (x - y || 0);
  };

  heads.forEach((head, column) => {
    const isNumber = head.classList.contains("number");
    const turns = isNumber ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const turn = turns[(turns.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", turn);
      const rows = [...original];
      if (turn !== "none") rows.sort(compare(column, isNumber, turn === "ascending" ? 1 : -1));
      body.append(...rows);
    });
  });
}
