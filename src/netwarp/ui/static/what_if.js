// The page on which knobs are turned: the address has all of its state.
import { Asking } from "./asking.js";
import { answerText, drawAnswer, extents, sharedUnits, unbroken } from "./bars.js";
import { labelOf, markKnob, onTurned, readKnobs, setKnobs, withoutKnob } from "./knobs.js";
import { clock } from "./numbers.js";
import { drawOverTime } from "./over_time.js";
import { Player } from "./play.js";
import { clearRefusals, refuse, remedies } from "./refusals.js";

const PIN = "pin"; // The address may have these beside the options.
const VIEW = "view";
const LESSON = "lesson";
const lesson = document.querySelector("[data-lesson]");
const byId = (id) => document.getElementById(id);

class Panel {
  constructor(place, side) {
    this.place = place;
    this.asking = new Asking(side);
    this.answer = null;
  }

  say(state, text) {
    this.place.dataset.state = state;
    this.place.querySelector(".state").textContent = unbroken(text);
    this.place.setAttribute("aria-busy", state === "running");
    if (state !== "running") this.going("");
  }

  /** Say beside the state how far the runs are; it is not read out, since it changes all the time. */
  going(text) {
    this.place.querySelector(".going").textContent = text;
  }

  /** Run what pairs say; a refusal is shown beside its knob where `refusing` is given. */
  ask(pairs, refusing = () => false) {
    this.say("running", "Running …");
    this.going("");
    if (this === now) tell(); // what was read out is no answer to this
    this.place.toggleAttribute("data-outdated", this.answer !== null); // until another one is there
    let first = null;
    let whole = "";
    this.asking.ask(pairs, {
      started: ({ expected }) => { whole = expected; this.going(goingText({ expected })); },
      progress: (said) => this.going(goingText({ ...said, expected: whole })),
      answer: (answer, ms) => {
        first ??= ms;
        this.place.removeAttribute("data-outdated");
        this.place.dataset.firstAnswerMs = Math.round(first);
        this.answer = answer;
        drawAll();
        this.say("running", `So far, after ${answer.replicates} of ${answer.of} replicates`);
      },
      refused: ({ option, message, missing }) => {
        const isInSight = refusing(option, message, missing);
        this.say("refused", isInSight ? "Refused: see the knob that is marked." : message);
        if (!isInSight && this === now) this.place.querySelector(".state").append(remedies(option, missing));
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
    return `${runs}; first answer after ${(first / 1000).toFixed(1)} s`;
  }

  stop() {
    this.asking.stop();
    if (this.place.dataset.state === "running") this.say("stopped", "Stopped.");
    drawActions();
  }
}

/** How far runs are, as far as that is known. */
function goingText({ ended, of, reached_s: reached, expected }) {
  const runs = of === undefined ? "" : `${ended} of ${of} runs have ended`;
  const under = typeof reached === "number" && reached > 0 ? `those under way are at ${clock(reached)} of their own time` : "";
  return [runs, under, expected && `${expected} in all`].filter(Boolean).join("; ");
}

const now = new Panel(byId("now"), "a");
const pinned = new Panel(byId("pinned"), "b");
pinned.doneText = describe;
const player = new Player(byId("play"));
const views = ["time", "play"];
let pin = new URLSearchParams(location.search).get(PIN); // the options of what is pinned
let copies = 0;

function drawAll() {
  const [here, there] = [extents(now.answer), extents(pinned.answer)];
  const most = Object.fromEntries(Object.keys({ ...here, ...there }).map((name) => [name, Math.max(here[name] ?? 0, there[name] ?? 0)]));
  const units = sharedUnits([now.answer, pinned.answer]);
  for (const panel of [now, pinned]) {
    if (panel.answer) drawAnswer(panel.place.querySelector(".found"), panel.answer, most, units);
  }
  drawActions();
}

function drawActions() {
  const button = (name) => document.querySelector(`[data-does=${name}]`);
  button("stop").hidden = !now.asking.source;
  button("pin").textContent = pin === null ? "Pin, to compare with" : "Unpin";
  button("pin").hidden = pin === null && now.place.dataset.state !== "done";
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

const sorted = (pairs) => [...pairs].map((pair) => pair.join("=")).sort().join("\n");
const stated = JSON.parse(lesson?.dataset.stated ?? "[]").map(sorted);

/** Show which statement of the lesson is about what is run: what it begins with (0), one of its turns, or none (-1). */
function followLesson(at) {
  lesson.querySelector(".turned").hidden = at >= 0;
  lesson.querySelector(".look").toggleAttribute("data-outdated", at !== 0);
  for (const [number, turn] of lesson.querySelectorAll("ul.next > li").entries()) {
    if (number + 1 === at) turn.setAttribute("aria-current", "true");
    else turn.removeAttribute("aria-current");
  }
}

let asked = null;

/** Run what the knobs say, and further pairs that none of them shows: a step of the browser's history, or in place of the present one. */
function turn(others = [], isStep = false) {
  clearRefusals();
  const pairs = new URLSearchParams([...readKnobs(), ...others]);
  const address = new URLSearchParams(pairs);
  if (pin !== null) address.set(PIN, pin);
  for (const view of views) if (byId(view).open) address.append(VIEW, view);
  if (lesson) address.set(LESSON, lesson.dataset.lesson);
  const isOther = pairs.toString() !== asked;
  history[isStep && isOther ? "pushState" : "replaceState"](null, "", `?${address}`);
  asked = pairs.toString();
  forgetCopy();
  if (lesson) followLesson(stated.indexOf(sorted(pairs)));
  if (pinned.place.dataset.state === "done") pinned.say("done", describe());
  now.ask(pairs, refuse);
}

/** The options of an address, without what the page keeps beside them. */
function optionsOf(address) {
  const options = new URLSearchParams(address);
  for (const name of [LESSON, PIN, VIEW]) options.delete(name);
  return options;
}

/** Set the knobs as an address says, and run that. What is pinned and open stays: Back undoes the turn of a knob. */
function restore() {
  const options = optionsOf(location.search);
  setKnobs(options.size ? options : new URLSearchParams(JSON.parse(byId("start").textContent)));
  turn(withoutKnob(options));
}

function forgetCopy() {
  copies += 1;
  byId("text").hidden = true;
  byId("copied").textContent = "";
}

function togglePin() {
  const address = new URLSearchParams(location.search);
  if (pin === null) {
    const pairs = readKnobs();
    pin = pairs.toString();
    address.set(PIN, pin);
    pinned.answer = now.answer;
    pinned.say(now.place.dataset.state, describe());
    pinned.place.hidden = false;
  } else {
    pin = null;
    address.delete(PIN);
    pinned.stop();
    pinned.answer = null;
    pinned.place.hidden = true;
  }
  history.replaceState(null, "", `?${address}`);
  drawAll();
}

/** Say in what the answer that is pinned differs from what the knobs say. */
function describe() {
  const [here, there] = [readKnobs(), new URLSearchParams(pin)];
  const names = [...new Set([...there.keys(), ...here.keys()])];
  const value = (pairs, name) => pairs.getAll(name).join("; ") || "not set";
  const others = names.filter((name) => value(here, name) !== value(there, name));
  const said = others.map((name) => `${labelOf(name)} ${value(there, name)} (above: ${value(here, name)})`);
  return said.length ? `Pinned, with ${said.join(", ")}` : "Pinned: the same as above";
}

async function copy(what) {
  forgetCopy();
  const mine = copies;
  let text = location.href;
  if (what !== "link") {
    const response = await fetch(`as?${readKnobs()}`);
    const said = await response.json();
    if (mine !== copies) return; // a knob was turned meanwhile
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
  else if (does === "pin") togglePin();
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

onTurned(() => turn([], true));
// A link within the page is a step of the history too.
addEventListener("popstate", () => optionsOf(location.search).toString() === asked || restore());
const opened = new URLSearchParams(location.search).getAll(VIEW);
for (const view of views) byId(view).open = opened.includes(view);
for (const name of lesson?.dataset.turns.split(" ") ?? []) markKnob(name);
if (pin !== null) {
  pinned.place.hidden = false;
  const pairs = new URLSearchParams(pin);
  pinned.ask(pairs);
}
restore();
