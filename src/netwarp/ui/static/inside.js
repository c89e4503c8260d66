// Shows the inside of a run directory: its first replicates over time, and why a cell's transfers take so long.
import { Asking } from "./asking.js";
import { drawOverTime } from "./over_time.js";

const EVENTS = ["started", "progress", "why", "refused", "failed", "done"];
const asking = new Asking("w", "why", EVENTS);
const section = document.getElementById("inside");
const time = document.getElementById("time");
const why = document.getElementById("why");
const found = why.querySelector("pre");
let shown = "";

function say(state, text) {
  why.dataset.state = state;
  why.querySelector(".state").textContent = text;
  why.querySelector("[data-does=leave]").hidden = state !== "running";
}

/** Show a run directory: charts at once, and reasons when they are asked for. */
export async function look(name) {
  leave();
  say("", "");
  shown = name;
  found.hidden = true;
  section.hidden = false;
  section.querySelector("h2").textContent = `Inside of ${name}`;
  time.open = true;
  section.scrollIntoView();
  const { cells = [] } = await drawOverTime(time, `inside/${encodeURIComponent(name)}`) ?? {};
  if (shown !== name) return;
  why.hidden = !cells.length;
  why.querySelector("select").replaceChildren(...cells.map(({ name: cell, text }) => new Option(text, cell)));
}

/** Run what lifts the limits of the cell that is chosen. */
export function explain() {
  found.hidden = true;
  say("running", "Reading the runs …");
  asking.ask(new URLSearchParams({ name: shown, cell: why.querySelector("select").value }), {
    started: ({ of }) => say("running", `Running ${of === 1 ? "the run" : `the ${of} runs`} again, with one limit less each time …`),
    progress: ({ ended, of }) => say("running", `${ended} of ${of} runs`),
    why: ({ text }) => {
      found.textContent = text;
      found.hidden = false;
      say("done", "Explained.");
    },
    refused: ({ message }) => say("refused", message),
    failed: ({ message }) => say("failed", message),
  });
}

/** Stop explaining. */
export function leave() {
  if (!asking.source) return;
  asking.stop();
  say("stopped", "Stopped.");
}
