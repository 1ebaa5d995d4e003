"use strict";
// Selects points of a chart, hides kinds of content and sorts tables. All figures are read from the tables.
(() => {
  const number = (cell) => Number(cell.textContent.replace(/[,%]/g, ""));
  const shown = (n) => n.toLocaleString("en-US");

  function chart(section) {
    const table = section.querySelector("table.points");
    const plot = section.querySelector(".plot");
    if (!table || !plot) return;
    const bands = [...plot.querySelectorAll(".band")];
    const end = 4 + bands.length;
    const names = [...table.tHead.rows[0].cells].slice(4, end).map((cell) => cell.textContent);
    const points = [...table.tBodies[0].rows].map((row) => ({
      at: number(row.cells[0]),
      line: row.cells[1].textContent,
      time: row.cells[2].textContent,
      tokens: [...row.cells].slice(4, end).map(number),
      recorded: row.cells[end] ? row.cells[end].textContent : "",
      anew: row.hasAttribute("data-anew"),
    }));
    const buttons = [...section.querySelectorAll("button.kind")];
    const cursor = plot.querySelector(".cursor");
    const readout = section.querySelector(".readout");
    const first = points[0].at;
    const last = points[points.length - 1].at;
    const place = (at) => (last === first ? 0 : (at - first) / (last - first));
    const isShown = (k) => buttons[k].getAttribute("aria-pressed") === "true";

    function draw() {
      const top = Number(plot.dataset.top);
      const y = (tokens) => (300 - (tokens / top) * 300).toFixed(1);
      const corners = [];
      points.forEach((point, i) => {
        const x = (place(point.at) * 1000).toFixed(1);
        if (point.anew && i > 0) corners.push([x, points[i - 1].tokens]);
        corners.push([x, point.tokens]);
      });
      if (corners.length === 1) corners.push(["1000.0", corners[0][1]]);
      const below = (tokens, k) =>
        tokens.slice(0, k).reduce((sum, n, i) => sum + (isShown(i) ? n : 0), 0);
      bands.forEach((band, k) => {
        const upper = corners.map(([x, t]) => `${x} ${y(below(t, k) + (isShown(k) ? t[k] : 0))}`);
        const lower = corners.map(([x, t]) => `${x} ${y(below(t, k))}`).reverse();
        band.setAttribute("d", `M${upper.concat(lower).join("L")}Z`);
        band.setAttribute("visibility", isShown(k) ? "visible" : "hidden");
      });
    }

    let current = points.length - 1;
    function show(next, isSpoken) {
      current = Math.max(0, Math.min(points.length - 1, next));
      const point = points[current];
      const x = `${(place(point.at) * 100).toFixed(2)}%`;
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
      const parts = names
        .map((name, k) => [name, point.tokens[k], k])
        .filter(([, tokens, k]) => tokens > 0 && isShown(k))
        .sort((a, b) => b[1] - a[1])
        .map(([name, tokens]) => `${name} ${shown(tokens)}`);
      const all = point.tokens.reduce((sum, n, k) => sum + (isShown(k) ? n : 0), 0);
      readout.setAttribute("aria-live", isSpoken ? "polite" : "off");
      const anew = point.anew ? "The context starts over. " : "";
      const time = point.time ? `, ${point.time} UTC` : "";
      readout.textContent =
        `${anew}Record ${shown(point.at)}, line ${point.line}${time}: ` +
        `${shown(all)} tokens: ${parts.join(", ")}.` +
        (point.recorded ? ` The API counted ${point.recorded}.` : "");
    }

    // With the script, the drawing can take the focus, and the arrow keys select its points.
    plot.tabIndex = 0;
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-roledescription", "chart; the arrow keys select its points");
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
      if (step) show(current + step, true);
      else if (event.key === "Home") show(0, true);
      else if (event.key === "End") show(points.length - 1, true);
      else return;
      event.preventDefault();
    });
    plot.addEventListener("focus", () => show(current, true));
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const at = first + ((event.clientX - box.left) / box.width) * (last - first);
      let near = 0;
      points.forEach((point, i) => {
        if (Math.abs(point.at - at) <= Math.abs(points[near].at - at)) near = i;
      });
      show(near, false);
    });
    buttons.forEach((button) => {
      button.disabled = false;
      button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!pressed));
        draw();
        if (cursor.getAttribute("visibility") === "visible") show(current, false);
      });
    });
    readout.textContent = "Point at the chart, or focus it and press the arrow keys, to read its figures.";
  }

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      const isNumber = head.classList.contains("n");
      button.addEventListener("click", () => {
        const wasDown = head.getAttribute("aria-sort") === "descending";
        const isUp = head.getAttribute("aria-sort") ? wasDown : !isNumber;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
        const value = (row) => (isNumber ? number(row.cells[column]) : row.cells[column].textContent);
        const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (isUp ? 1 : -1) * order(value(a), value(b)));
        table.tBodies[0].append(...rows);
      });
    });
  }

  // A box needs the keyboard focus only if its content is wider than the box and can be scrolled.
  function scrollers() {
    document.querySelectorAll(".wide").forEach((box) => {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  }

  document.querySelectorAll("details").forEach((part) => part.addEventListener("toggle", scrollers));
  addEventListener("resize", scrollers);
  document.querySelectorAll("section").forEach(chart);
  document.querySelectorAll("table.sortable").forEach(sortable);
  scrollers();
})();
