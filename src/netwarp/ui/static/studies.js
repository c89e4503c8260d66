// The page of studies: runs one with its progress, shows reports in a sandbox, compares two directories.
import { Asking } from "./asking.js";

const EVENTS = ["started", "progress", "drawing", "kept", "refused", "failed", "done"];
const asking = new Asking("s", "run", EVENTS);
const byId = (id) => document.getElementById(id);
const progress = byId("progress");
const bar = progress.querySelector("progress");

function say(state, text) {
  progress.hidden = false;
  progress.dataset.state = state;
  progress.querySelector(".state").textContent = text;
  progress.querySelector("[data-does=stop]").hidden = state !== "running";
  bar.hidden = state !== "running";
}

function left(ended, of, ms) {
  const s = ((ms / ended) * (of - ended)) / 1000;
  return s < 90 ? `about ${Math.max(1, Math.round(s))} s left` : `about ${Math.round(s / 60)} min left`;
}

function run(name, quick) {
  bar.value = 0;
  say("running", `${name}: planning …`);
  progress.scrollIntoView({ block: "nearest" });
  asking.ask(new URLSearchParams(quick ? { study: name, quick: "1" } : { study: name }), {
    started: ({ expected }) => say("running", `${name}: ${expected}`),
    progress: ({ ended, of, failed }, ms) => {
      bar.max = of;
      bar.value = ended;
      say("running", `${name}: ${ended} of ${of} runs${failed ? `, ${failed} failed` : ""}, ${left(ended, of, ms)}`);
    },
    drawing: () => say("running", `${name}: drawing the report …`),
    kept: ({ name: directory, failed }) => {
      listAgain();
      say("done", `${name}: done, in ${directory}${failed ? `; ${failed} runs failed` : ""}`);
      show(`kept/${encodeURIComponent(directory)}`, directory);
    },
    refused: ({ message }) => say("refused", message),
    failed: ({ message }) => say("failed", message),
  });
}

/** Show the run directories as they are now. */
async function listAgain() {
  const page = new DOMParser().parseFromString(await (await fetch("studies")).text(), "text/html");
  byId("kept").replaceWith(page.getElementById("kept"));
}

function show(source, name) {
  byId("shown").hidden = false;
  byId("shown").querySelector("h2").textContent = name;
  const frame = byId("shown").querySelector("iframe");
  frame.title = `Report of ${name}`;
  frame.src = source;
  byId("shown").scrollIntoView();
}

async function compare() {
  const checked = [...document.querySelectorAll("[data-compares]:checked")];
  const place = byId("diff");
  place.hidden = checked.length !== 2;
  byId("compare-hint").textContent = checked.length > 2 ? "Two at a time: uncheck one." : "Check two to see what changed between them.";
  if (place.hidden) return;
  // The list begins with the newest.
  const [after, before] = checked.map((box) => box.dataset.compares);
  place.textContent = "Comparing …";
  const said = await (await fetch(`diff?${new URLSearchParams({ before, after })}`)).json();
  place.textContent = said.message ?? `${before} → ${after}\n\n${said.text}`;
}

document.addEventListener("click", ({ target }) => {
  const { runs, shows, does, name } = target.dataset ?? {};
  if (runs) run(runs, "quick" in target.dataset);
  else if (shows) show(shows, name);
  else if (does === "stop") {
    asking.stop();
    listAgain();
    say("stopped", "Stopped. What has ended is kept; the same study goes on from there.");
  }
});
document.addEventListener("change", ({ target }) => {
  if (target.dataset?.compares) compare();
});
