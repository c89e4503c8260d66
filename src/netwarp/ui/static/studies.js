// The page of studies: runs one with its progress, shows reports in a sandbox, compares two directories.
import { Asking } from "./asking.js";
import { forget, showJudged } from "./conclusions.js";
import { explain, leave, look } from "./inside.js";

const EVENTS = ["started", "study", "progress", "judged", "drawing", "kept", "scorecard", "refused", "failed", "done"];
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

/** The time left, from the runs that were not there before. */
function left({ ended, of, kept }, ms) {
  if (ended === kept) return "…";
  const s = ((ms / (ended - kept)) * (of - ended)) / 1000;
  return s < 90 ? `about ${Math.max(1, Math.round(s))} s left` : `about ${Math.round(s / 60)} min left`;
}

/** Run something, and show how far it is: what is asked, and where. */
function run(name, path, pairs) {
  let what = name;
  bar.value = 0;
  asking.path = path;
  forget();
  say("running", `${name}: planning …`);
  progress.scrollIntoView({ block: "nearest" });
  asking.ask(new URLSearchParams(pairs), {
    started: ({ expected }) => say("running", `${name}: ${expected}`),
    study: (said) => { what = said.name; },
    progress: (said, ms) => {
      const { ended, of, failed } = said;
      bar.max = of;
      bar.value = ended;
      say("running", `${what}: ${ended} of ${of} runs${failed ? `, ${failed} failed` : ""}, ${left(said, ms)}`);
    },
    judged: showJudged,
    drawing: () => say("running", `${name}: drawing the report …`),
    kept: ({ name: directory, failed }) => {
      listAgain();
      say("done", `${name}: done, in ${directory}${failed ? `; ${failed} runs failed` : ""}`);
      show(`kept/${encodeURIComponent(directory)}`, directory);
    },
    scorecard: ({ path: card, found }) => {
      listAgain();
      // The scorecard has all of them, with their figures.
      forget();
      say("done", `${name}: done; ${found}`);
      show(`scorecard/${card}`, card);
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
  const before = byId("shown").querySelector("iframe");
  // A frame that goes elsewhere would be a step of the browser's history: Back would show another report below this name.
  const frame = before.cloneNode();
  frame.title = `Report of ${name}`;
  frame.src = source;
  before.replaceWith(frame);
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

const GOES_ON = "What has ended is kept: click the same again to go on from there.";

document.addEventListener("click", ({ target }) => {
  const { runs, reproduces, shows, inside, does, name } = target.dataset ?? {};
  if (runs) run(runs, "run", "quick" in target.dataset ? { study: runs, quick: "1" } : { study: runs });
  else if (reproduces) run(reproduces, "reproduce", { source: reproduces });
  else if (shows) show(shows, name);
  else if (inside) look(inside);
  else if (does === "explain") explain();
  else if (does === "leave") leave();
  else if (does === "stop") {
    asking.stop();
    listAgain();
    say("stopped", `Stopped. ${GOES_ON}`);
  }
});
document.addEventListener("change", ({ target }) => {
  if (target.dataset?.compares) compare();
});
