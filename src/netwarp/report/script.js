// Draws the charts, sorts and filters the table of numbers, opens what is folded for print.
const LEAST_PANEL_WIDTH = 190; // px: narrower panels go under one another
const LEGEND_COLUMN_WIDTH = 125; // px: the widest entries of a legend
const overlay = JSON.parse(document.getElementById("overlay")?.textContent ?? "{}");

function specOf(chart) {
  return JSON.parse(document.getElementById(chart.dataset.spec).textContent);
}

// Fit a chart into the width it has: fewer panels side by side, then narrower ones.
function fitted(spec, room) {
  const { columns, gap, beside } = spec.usermeta;
  const fit = Math.floor((room - beside + gap) / (LEAST_PANEL_WIDTH + gap));
  const used = Math.max(1, Math.min(columns, fit));
  const width = Math.max(120, Math.floor((room - beside - gap * (used - 1)) / used));
  if (spec.facet) {
    spec.columns = used;
    spec.spec.width = width;
  } else if (spec.vconcat) {
    for (const row of spec.vconcat.flatMap((panel) => panel.vconcat)) fitRow(row, width, spec.config.font);
  } else {
    spec.width = width;
  }
  const font = `${spec.config.axis?.labelFontSize ?? 12}px ${spec.config.font}`;
  leanLabels(spec, width, font);
  return spec;
}

// Names of levels below a narrow chart lean where they would run into one another.
function leanLabels(part, width, font) {
  if (Array.isArray(part)) for (const each of part) leanLabels(each, width, font);
  if (typeof part !== "object" || part === null || Array.isArray(part)) return;
  if (part.axis?.labelAngle === 0 && Array.isArray(part.sort)) {
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = font;
    const widest = Math.max(...part.sort.map((name) => pen.measureText(name).width));
    if (widest + 4 > width / part.sort.length) Object.assign(part.axis, { labelAngle: -40, labelAlign: "right", labelBaseline: "middle" });
  }
  for (const [name, each] of Object.entries(part)) if (name !== "data") leanLabels(each, width, font);
}

// The lines of a text, none of them wider than there is room, if no single word is.
function linesOf(text, room, font) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font;
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && pen.measureText(longer).width <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function fitRow(row, width, font) {
  row.width = width;
  if (row.title) row.title.text = linesOf(row.title.text, width, `${row.title.fontWeight} ${row.title.fontSize}px ${font}`);
  // A legend that is wider than its panel would make the panel narrower.
  for (const { encoding } of row.layer) {
    if (encoding.color?.legend) encoding.color.legend.columns = Math.max(1, Math.floor(width / LEGEND_COLUMN_WIDTH));
  }
  // A run's name stands right of its row.
  for (const { encoding } of row.layer) if (encoding.x.value !== undefined) encoding.x.value = width + 8;
}

async function draw(chart) {
  const spec = fitted(specOf(chart), chart.clientWidth);
  for (const [part, look] of Object.entries(overlay)) {
    spec.config[part] = typeof look === "object" ? { ...spec.config[part], ...look } : look;
  }
  chart.dataset.width = chart.clientWidth;
  // A page whose policy forbids that text becomes code has expressions interpreted.
  await vegaEmbed(chart, spec, { actions: false, renderer: "svg", ast: "interprets" in document.body.dataset });
  // What Vega makes of it, a document of graphics, is read out by its parts; its name says what it shows.
  chart.setAttribute("role", "img");
  chart.querySelector("svg").setAttribute("aria-hidden", "true");
  chart.dataset.drawn = chart.dataset.spec;
}

const charts = document.querySelectorAll(".chart[data-spec]");
for (const chart of charts) {
  // Drawn when it comes into sight, and again when the page's width changes.
  new IntersectionObserver((seen, observer) => {
    if (!seen.some((each) => each.isIntersecting)) return;
    observer.disconnect();
    draw(chart);
    new ResizeObserver(() => {
      if (Number(chart.dataset.width) !== chart.clientWidth) draw(chart);
    }).observe(chart);
  }, { rootMargin: "600px" }).observe(chart);
}

for (const choice of document.querySelectorAll("select[data-chooses]")) {
  const chart = document.getElementById(choice.dataset.chooses);
  choice.addEventListener("change", () => {
    chart.dataset.spec = choice.value;
    chart.setAttribute("aria-label", specOf(chart).description);
    draw(chart);
  });
}

function save(name, content, type) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Saved pictures have the colours of print, whatever the page's are.
async function picture(spec, format) {
  const { view } = await vegaEmbed(document.createElement("div"), spec, { actions: false, renderer: "svg" });
  if (format === "svg") return [await view.toSVG(), "image/svg+xml"];
  const canvas = await view.toCanvas(2);
  return [await new Promise((done) => canvas.toBlob(done)), "image/png"];
}

// The rows of all layers; those of a chart over time are told apart by their panel and run.
function rowsOf(spec) {
  if (spec.data) return spec.data.values;
  return spec.vconcat.flatMap((panel) =>
    panel.vconcat.flatMap((row) => {
      const name = row.layer.find((layer) => layer.encoding.text?.field === "name");
      const place = { panel: panel.vconcat[0].title?.text ?? "", run: name?.data.values[0].name ?? "" };
      const shown = row.layer.filter((layer) => layer !== name && !layer.name?.startsWith("readout_"));
      return shown.flatMap((layer) => layer.data.values.map((value) => ({ ...place, ...value })));
    }),
  );
}

function csv(rows) {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const lines = rows.map((row) => columns.map((column) => quoted(String(row[column] ?? ""))).join(","));
  return [columns.map(quoted).join(","), ...lines, ""].join("\n");
}

for (const button of document.querySelectorAll("button[data-save]")) {
  button.addEventListener("click", async () => {
    const format = button.dataset.save;
    const spec = specOf(button.closest("figure").querySelector(".chart"));
    const name = `${button.dataset.name}.${format}`;
    if (format === "csv") save(name, csv(rowsOf(spec)), "text/csv");
    else save(name, ...(await picture(spec, format)));
  });
}

function compared(a, b) {
  const [x, y] = [Number(a), Number(b)];
  // What was not measured stands last.
  if (a === "" || b === "") return (a === "") - (b === "");
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}

for (const button of document.querySelectorAll("button[data-sorts]")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = head.closest("table").tBodies[0];
    const keyOf = (row) => row.cells[head.cellIndex].dataset.sort;
    const rows = [...body.rows].sort((a, b) => compared(keyOf(a), keyOf(b)));
    body.append(...(descending ? rows.reverse() : rows));
  });
}

for (const input of document.querySelectorAll("input[data-filters]")) {
  const { rows } = document.getElementById(input.dataset.filters).tBodies[0];
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/[,;]+|\s{2,}/).flatMap(tokens);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}

// A number keeps its unit: "5 %" is one word, and does not find "1.5 s".
function tokens(text) {
  return text.match(/[\d.]+\s*[^\d\s.]+|\S+/g) ?? [];
}

const folds = document.querySelectorAll("details.fold:not(.closed-in-print)");
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...folds].filter((fold) => !fold.open);
  for (const fold of closed) fold.open = true;
  // Charts that were never in sight are not drawn yet. Drawing waits for promises alone, so it is done when this returns.
  for (const chart of charts) if (!chart.dataset.drawn) draw(chart);
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
});

// A link to something folded opens it.
function unfold() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  const fold = target && target.closest("details");
  if (fold) fold.open = true;
}
addEventListener("hashchange", unfold);
unfold();
