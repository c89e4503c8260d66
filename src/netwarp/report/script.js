// Turns each printed chart into an interactive one, in the page's colours. Without this script, and on
// paper, the picture stays.
const dark = matchMedia("(prefers-color-scheme: dark)");
const overlay = JSON.parse(document.getElementById("dark").textContent);

async function draw(chart) {
  const spec = JSON.parse(document.getElementById(chart.dataset.spec).textContent);
  const picture = chart.querySelector("img");
  chart.querySelector(".live")?.remove();
  const live = document.createElement("div");
  live.className = "live";
  live.setAttribute("role", "img");
  live.setAttribute("aria-label", spec.description ?? picture.alt);
  chart.append(live);
  for (const [part, theme] of dark.matches ? Object.entries(overlay) : []) {
    spec.config[part] = theme === null ? "transparent" : { ...spec.config[part], ...theme };
  }
  await vegaEmbed(live, spec, { actions: false, renderer: "svg" });
  picture.style.display = "none";
}

function drawAll() {
  for (const chart of document.querySelectorAll(".chart")) draw(chart);
}

for (const choice of document.querySelectorAll("select[data-chooses]")) {
  const chart = document.getElementById(choice.dataset.chooses);
  choice.addEventListener("change", () => {
    chart.dataset.spec = choice.value;
    draw(chart);
  });
}

dark.addEventListener("change", drawAll);
drawAll();
