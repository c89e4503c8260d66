// Reads the knobs as the pairs of an address, and sets them from it.
import { magnitude } from "./magnitude.js";

const form = document.getElementById("knobs");
const fields = () => form.querySelectorAll("[name]:not([name=kind])");

const IMPLIED = JSON.parse(form.dataset.implied);

/** The kind of workload that pairs ask for: that of the first option that implies one. */
function kindOf(pairs) {
  return IMPLIED.find(([name]) => pairs.get(name)?.trim())?.[1] ?? form.elements.kind[0].value;
}

/** Whether a knob is one of a kind of workload, and of the network that is asked for. */
function isFor(knob, kind) {
  return knob.dataset.kinds.split(" ").includes(kind) && !knob.querySelector("[name]").disabled;
}

/** The shape of the network that the knobs ask for: "" is two hosts. */
function shapeOf(kind) {
  const { shape, rtts } = form.elements;
  if (!shape.closest(".knob").dataset.kinds.split(" ").includes(kind)) return "";
  return shape.value.split(/[:,]/)[0] || (rtts.value ? "dumbbell" : "");
}

/** Hide the knobs of other kinds of workload, and switch those off that the network refuses. */
function show(kind) {
  for (const choice of form.elements.kind) choice.checked = choice.value === kind;
  for (const label of form.querySelectorAll(".boxes [data-kind]")) {
    label.hidden = label.dataset.kind !== kind && !label.querySelector("input").checked;
  }
  const shape = shapeOf(kind);
  for (const knob of form.querySelectorAll(".knob")) {
    const why = JSON.parse(knob.dataset.misfits)[shape] ?? "";
    for (const field of knob.querySelectorAll("input, select, textarea")) field.disabled = why !== "";
    const said = knob.querySelector(".misfit");
    said.textContent = why;
    said.hidden = !why;
    // What only a network has is not there without one.
    knob.hidden = !knob.dataset.kinds.split(" ").includes(kind) || (why !== "" && !shape);
  }
  tellUsual();
  tellFolded();
}

/** What is run while a field is empty; "" where that is no value, as of the queue of a link without a rate. */
function usualOf({ dataset }) {
  const needs = dataset.needs?.split(" ").filter(Boolean) ?? [];
  return !needs.length || needs.some((name) => form.elements[name].value.trim()) ? dataset.usual ?? "" : "";
}

/** Show in each empty field what is run. */
function tellUsual() {
  for (const field of form.querySelectorAll("[data-usual]")) {
    const text = usualOf(field) ? `usually ${usualOf(field)}` : "–";
    if (field.tagName === "SELECT") field.querySelector("option[value='']")?.replaceChildren(text);
    else field.placeholder = text;
    const slider = form.querySelector(`[data-turns="${field.name}"]`);
    if (slider) slider.setAttribute("aria-valuetext", textOf(field));
  }
}

function follow(field) {
  const slider = form.querySelector(`[data-turns="${field.name}"]`);
  if (slider) place(slider, field);
  remember(field);
  const had = levels(field.value);
  offer(field, had);
  const usual = field.closest(".knob").querySelector(".usual");
  if (usual) usual.hidden = had.length > 0;
  for (const box of form.querySelectorAll(`[data-checks="${field.name}"]`)) {
    box.checked = had.includes(box.value);
  }
}

/** Add a box for each known level that has none, as of a transport of two paths. */
function offer(field, had) {
  const boxes = [...form.querySelectorAll(`[data-checks="${field.name}"]`)];
  const known = boxes.length ? JSON.parse(boxes[0].closest("[data-known]").dataset.known) : [];
  for (const level of had) {
    if (!known.includes(level) || boxes.some((box) => box.value === level)) continue;
    const label = boxes[0].parentElement.cloneNode(true);
    label.lastChild.textContent = level;
    label.querySelector("input").value = level;
    boxes[0].parentElement.parentElement.append(label);
    boxes.push(label.querySelector("input"));
  }
}

/** Put a slider where a value is; one that it does not offer is a step of its own between its neighbours. Of a list it turns the last one, so that what is compared stays. */
function place(slider, field) {
  const given = levels(field.value);
  const [others, last] = [given.slice(0, -1), given.at(-1) ?? ""];
  const offers = JSON.parse(slider.dataset.offers).filter((offer) => !others.includes(offer) && (offer || !others.length));
  if (!offers.includes(last)) {
    const size = magnitude(last || usualOf(field));
    const behind = offers.findIndex((offer) => magnitude(offer) > size);
    offers.splice(behind < 0 ? offers.length : behind, 0, last);
  }
  slider.dataset.steps = JSON.stringify(offers.map((offer) => [...others, offer].join(",")));
  slider.max = offers.length - 1;
  slider.value = offers.indexOf(last);
  slider.setAttribute("aria-valuetext", textOf(field));
}

const levels = (text) => text.split(",").map((level) => level.trim()).filter(Boolean);

const textOf = (field) => field.value || (usualOf(field) ? `${usualOf(field)}, as usual` : "not set");

/** Keep the values that a field had, for when it is turned. */
function remember(field) {
  field.dataset.had = field.value;
}

/** Leave out what names levels that a knob had until now, and say so beside it. */
function leaveOut(field) {
  const knob = field.closest(".knob");
  const gone = levels(field.dataset.had ?? "").filter((level) => !levels(field.value).includes(level));
  const left = [];
  const { against, expect } = form.elements;
  const [factor, level] = against.value.split("=");
  if (factor === knob.dataset.key && gone.includes(level)) {
    left.push(`--against ${against.value}`);
    against.value = "";
  }
  const named = (line) => (/^(.+?) \/ (.+?):/.exec(line) ?? []).slice(1).map((name) => name.trim());
  const lines = expect.value.split("\n");
  const kept = lines.filter((line) => !named(line).some((name) => gone.includes(name)));
  left.push(...lines.filter((line) => !kept.includes(line)).map((line) => `--expect "${line}"`));
  expect.value = kept.join("\n");
  const said = knob.querySelector(".left-out");
  said.textContent = left.length ? `Left out, since ${gone.join(" and ")} is not there any more: ${left.join("; ")}` : "";
  said.hidden = !left.length;
}

/** Empty what a profile gives, which would win over the profile, and say so beside it. */
function makeWay(field) {
  const given = field.value ? (field.dataset.gives ?? "").split(" ").filter((name) => name && form.elements[name].value) : [];
  if (!given.length) return;
  const said = field.closest(".knob").querySelector(".left-out");
  said.textContent = `Emptied, since ${field.value} has its own: ${given.map((name) => `${labelOf(name)} ${form.elements[name].value}`).join(", ")}`;
  said.hidden = false;
  for (const name of given) {
    form.elements[name].value = "";
    follow(form.elements[name]);
  }
}

export function setKnobs(pairs) {
  for (const said of form.querySelectorAll(".left-out")) said.hidden = true;
  for (const field of fields()) {
    // An option that is repeated has a line for each.
    const value = pairs.getAll(field.name).join(field.tagName === "TEXTAREA" ? "\n" : ",");
    if (field.tagName === "SELECT" && ![...field.options].some((one) => one.value === value)) {
      field.add(new Option(value, value));
    }
    field.value = value;
    follow(field);
  }
  show(kindOf(pairs));
}

export function readKnobs() {
  const pairs = new URLSearchParams();
  const kind = form.elements.kind.value;
  for (const field of fields()) {
    if (!isFor(field.closest(".knob"), kind)) continue;
    const lines = field.tagName === "TEXTAREA" ? field.value.split("\n") : [field.value];
    for (const line of lines) if (line.trim()) pairs.append(field.name, line.trim());
  }
  return pairs;
}

/** The pairs of an address that no knob shows: unknown ones, and those of another kind of workload. */
export function withoutKnob(pairs) {
  const kind = kindOf(pairs);
  const shown = new Set([...fields()].filter((field) => isFor(field.closest(".knob"), kind)).map(({ name }) => name));
  return [...pairs].filter(([name, value]) => !shown.has(name) && !leftOut(name, value));
}

/** Whether a pair is left out since the network does not have it, as where its shape is chosen; it is said beside its knob. */
function leftOut(name, value) {
  const knob = form.elements[name]?.closest?.(".knob");
  if (!knob || knob.hidden || !knob.querySelector("[name]").disabled) return false;
  const said = knob.querySelector(".left-out");
  said.textContent = `Left out of what the address says: ${value}`;
  said.hidden = false;
  return true;
}

/** Call back when a value is let go of. */
export function onTurned(callback) {
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", ({ target }) => {
    if (target.dataset.turns) {
      const field = form.elements[target.dataset.turns];
      field.value = JSON.parse(target.dataset.steps)[Number(target.value)];
      target.setAttribute("aria-valuetext", textOf(field));
    }
  });
  form.addEventListener("change", ({ target }) => {
    if (target.dataset.checks) check(target);
    const turned = form.elements[target.dataset.checks ?? target.dataset.turns ?? target.name];
    if (target.name === "kind") choose(target.value);
    else {
      leaveOut(turned);
      makeWay(turned);
      follow(turned);
      choose(form.elements.kind.value);
    }
    callback();
  });
}

function check(box) {
  const field = form.elements[box.dataset.checks];
  const left = levels(field.value).filter((level) => level !== box.value);
  field.value = (box.checked ? [...left, box.value] : left).join(",");
}

/** Show the knobs of a kind of workload; where no option asks for it, the first knob that does is set. */
function choose(kind) {
  show(kind);
  if (kindOf(readKnobs()) === kind) return;
  const field = IMPLIED.filter(([, of]) => of === kind).map(([name]) => form.elements[name])[0];
  const slider = form.querySelector(`[data-turns="${field.name}"]`);
  const offers = slider ? JSON.parse(slider.dataset.offers) : [...field.options].map((one) => one.value);
  field.value = offers.find((value) => value);
  follow(field);
}

/** What a knob is called on the page, within a sentence. */
export function labelOf(name) {
  const text = form.elements[name]?.closest?.(".knob")?.querySelector("label").textContent.trim() ?? name;
  return /^[A-Z][a-z]/.test(text) ? text[0].toLowerCase() + text.slice(1) : text;
}

/** Mark a knob that a lesson wants turned. */
export function markKnob(name) {
  const knob = form.elements[name]?.closest(".knob");
  knob?.classList.add("to-turn");
  if (knob) openFolds(knob);
}

/** Open what a knob is folded in. */
export function openFolds(knob) {
  for (let fold = knob.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

/** Turn a knob, as a user does. */
export function turnKnob(name, value) {
  const field = form.elements[name];
  field.value = value;
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Say in the summary of the folded options which of them are given. */
function tellFolded() {
  const folded = form.querySelector("#others");
  const names = [...folded.querySelectorAll("[name]")].filter((field) => field.value.trim() && !field.closest(".knob").hidden).map((field) => field.closest(".knob").dataset.option);
  const whole = (name) => Object.assign(document.createElement("span"), { textContent: name }); // it is not broken at a hyphen
  const listed = names.flatMap((name, place) => (place ? [", ", whole(name)] : ["given: ", whole(name)]));
  folded.querySelector(".given").replaceChildren(...listed);
  for (const group of folded.querySelectorAll("details")) group.hidden = !group.querySelector(".knob:not([hidden])");
  for (const part of folded.querySelectorAll(".part")) part.hidden = !part.querySelector(".knob:not([hidden])");
}
