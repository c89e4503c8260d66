// Draws runs over time with the report's own script, which is fetched when it is first needed.

const RESIZE_MS = 200;
const observers = new WeakMap();
const answers = new WeakMap();
let scripts = null;

function load(source) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.addEventListener("load", done);
    script.addEventListener("error", failed);
    script.src = source;
    document.head.append(script);
  });
}

function data(id, value) {
  const script = document.getElementById(id) ?? document.createElement("script");
  script.type = "application/json";
  script.id = id;
  script.textContent = JSON.stringify(value);
  document.body.append(script);
}

/** Draw what an address answers with into a view: charts, of which one at a time is shown. Returns all that was answered. */
export async function drawOverTime(view, source) {
  if (view.dataset.source === source) return answers.get(view);
  view.dataset.source = source;
  const state = view.querySelector(".state");
  state.textContent = "Drawing …";
  const response = await fetch(source);
  const answer = await response.json();
  const { charts, overlay, message } = answer;
  if (view.dataset.source !== source) return null;
  answers.set(view, answer);
  state.textContent = message ?? (charts.length ? "" : "Nothing was recorded over time.");
  const chart = view.querySelector(".chart");
  view.querySelector(".scroll").hidden = !charts?.length;
  view.querySelector(".drawn").textContent = "";
  if (!charts?.length) return answer;
  data("overlay", overlay);
  scripts ??= load("vega.js").then(() => load("report.js"));
  await scripts;
  const choice = view.querySelector("select");
  choice.replaceChildren(...charts.map(({ label }, place) => new Option(label, place)));
  choice.parentElement.hidden = charts.length < 2;
  const show = () => {
    const { spec, alt, note } = charts[Number(choice.value)];
    view.querySelector(".drawn").textContent = note;
    data("time-spec", spec);
    chart.setAttribute("aria-label", alt);
    chart.dataset.spec = "time-spec";
    return globalThis.draw(chart);
  };
  choice.onchange = show;
  let waiting;
  observers.get(view)?.disconnect();
  observers.set(view, new ResizeObserver(() => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (view.open && chart.dataset.drawn && Number(chart.dataset.width) !== chart.clientWidth) globalThis.draw(chart);
    }, RESIZE_MS);
  }));
  observers.get(view).observe(chart);
  await show();
  return answer;
}
