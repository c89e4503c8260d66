// The page on which knobs are turned: the address has all of its state.
import { Asking } from "./asking.js";
import { answerText, drawAnswer, extents } from "./bars.js";
import { drawOverTime } from "./over_time.js";
import { Player } from "./play.js";
import { clearRefusals, onTurned, markKnob, readKnobs, refuse, setKnobs, withoutKnob } from "./knobs.js";

const PIN = "pin"; // The address may have these beside the options.
const VIEW = "view";
const LESSON = "lesson";
const lesson = document.querySelector("[data-lesson]");
const NUMBERS = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
const byId = (id) => document.getElementById(id);

class Panel {
  constructor(place, side) {
    this.place = place;
    this.asking = new Asking(side);
    this.answer = null;
  }

  say(state, text) {
    this.place.dataset.state = state;
    this.place.querySelector(".state").textContent = text;
  }

  /** Run what pairs say; a refusal is shown beside its knob where `refusing` is given. */
  ask(pairs, refusing = () => false) {
    this.say("running", "Running …");
    let first = null;
    this.asking.ask(pairs, {
      answer: (answer, ms) => {
        first ??= ms;
        this.place.dataset.firstAnswerMs = Math.round(first);
        this.answer = answer;
        drawAll();
        this.say("running", `So far, after ${answer.replicates} of ${answer.of} replicates`);
      },
      refused: ({ option, message }) => {
        this.say("refused", refusing(option, message) ? "Refused: see the knob that is marked." : message);
      },
      failed: ({ message }) => this.say("failed", message),
      done: () => {
        if (this.place.dataset.state === "running") {
          if (first === null) this.say("stopped", "Ended without an answer: turn a knob to ask again.");
          else this.say("done", this.doneText(first));
        }
        drawActions();
        if (this === now) {
          tell();
          drawViews();
        }
      },
    });
    drawActions();
  }

  doneText(first) {
    const runs = `${this.answer.of} replicate${this.answer.of === 1 ? "" : "s"}`;
    return `${runs}; first answer after ${(first / 1000).toLocaleString("en", NUMBERS)} s`;
  }

  stop() {
    this.asking.stop();
    if (this.place.dataset.state === "running") this.say("stopped", "Stopped.");
    drawActions();
  }
}

const now = new Panel(byId("now"), "a");
const pinned = new Panel(byId("pinned"), "b");
const player = new Player(byId("play"));
const views = ["time", "play"];

function drawAll() {
  const [here, there] = [extents(now.answer), extents(pinned.answer)];
  for (const panel of [now, pinned]) {
    if (!panel.answer) continue;
    const most = Object.fromEntries(Object.keys({ ...here, ...there }).map((name) => [name, Math.max(here[name] ?? 0, there[name] ?? 0)]));
    drawAnswer(panel.place.querySelector(".found"), panel.answer, most);
  }
  drawActions();
}

function drawActions() {
  const button = (name) => document.querySelector(`[data-does=${name}]`);
  button("stop").hidden = !now.asking.source;
  button("pin").textContent = pinnedText() === null ? "Pin, to compare with" : "Unpin";
  const report = byId("report");
  report.hidden = now.place.dataset.state !== "done";
  if (!report.hidden) report.href = `report/${kept(now)}`;
}

/** Where the server keeps what a panel shows. */
function kept({ asking, answer }) {
  return `${asking.lane}/${answer.directory.split("/").pop()}`;
}

/** Have the whole answer read out. */
function tell() {
  now.place.querySelector(".told").textContent = now.place.dataset.state === "done" ? answerText(now.answer) : "";
}

function drawViews() {
  if (now.place.dataset.state !== "done") return;
  if (byId("time").open) drawOverTime(byId("time"), `over-time/${kept(now)}`);
  if (byId("play").open) player.load(`play/${kept(now)}`);
}

function pinnedText() {
  return new URLSearchParams(location.search).get(PIN);
}

/** Run what the knobs say, and further pairs that none of them shows. */
function turn(others = []) {
  clearRefusals();
  const pairs = new URLSearchParams([...readKnobs(), ...others]);
  const address = new URLSearchParams(pairs);
  if (pinnedText() !== null) address.set(PIN, pinnedText());
  for (const view of views) if (byId(view).open) address.append(VIEW, view);
  if (lesson) address.set(LESSON, lesson.dataset.lesson);
  history.replaceState(null, "", `?${address}`);
  byId("text").hidden = true;
  now.ask(pairs, refuse);
}

function pin() {
  const address = new URLSearchParams(location.search);
  if (pinnedText() === null) {
    const pairs = readKnobs();
    address.set(PIN, pairs.toString());
    pinned.answer = now.answer;
    pinned.say(now.place.dataset.state, describe(pairs));
    pinned.place.hidden = false;
  } else {
    address.delete(PIN);
    pinned.stop();
    pinned.answer = null;
    pinned.place.hidden = true;
  }
  history.replaceState(null, "", `?${address}`);
  drawAll();
}

function describe(pairs) {
  return `Pinned: ${[...pairs].map(([name, value]) => `${name} ${value}`).join(", ")}`;
}

async function copy(what) {
  let text = location.href;
  if (what !== "link") {
    const response = await fetch(`as?${readKnobs()}`);
    const said = await response.json();
    text = said[what] ?? said.message;
    byId("text").textContent = text;
    byId("text").hidden = false;
  }
  try {
    await navigator.clipboard.writeText(text);
    byId("copied").textContent = "Copied.";
  } catch {
    byId("copied").textContent = what === "link" ? "Copy the address of this page." : "Select it below to copy it.";
  }
}

document.querySelector(".actions").addEventListener("click", ({ target }) => {
  const does = target.dataset?.does;
  if (does === "stop") now.stop();
  else if (does === "pin") pin();
  else if (does) copy(does);
});

for (const view of views) {
  byId(view).addEventListener("toggle", () => {
    const address = new URLSearchParams(location.search);
    address.delete(VIEW);
    for (const each of views) if (byId(each).open) address.append(VIEW, each);
    history.replaceState(null, "", `?${address}`);
    drawViews();
  });
}

onTurned(() => turn());
const address = new URLSearchParams(location.search);
const pinnedBefore = pinnedText();
for (const view of views) byId(view).open = address.getAll(VIEW).includes(view);
for (const name of lesson?.dataset.turns.split(" ") ?? []) markKnob(name);
address.delete(LESSON);
address.delete(PIN);
address.delete(VIEW);
setKnobs(address.size ? address : new URLSearchParams(JSON.parse(byId("start").textContent)));
if (pinnedBefore !== null) {
  pinned.place.hidden = false;
  const pairs = new URLSearchParams(pinnedBefore);
  pinned.ask(pairs);
  pinned.doneText = () => describe(pairs);
}
turn(withoutKnob(address));
