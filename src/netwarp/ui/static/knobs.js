// Reads the knobs as the pairs of an address, and sets them from it.

const form = document.getElementById("knobs");
const fields = () => form.querySelectorAll("[name]:not([name=kind])");

/** The kind of workload that pairs ask for: the one whose option they have. */
function kindOf(pairs) {
  return ["page", "flow"].find((kind) => pairs.get(kind)) ?? "bulk";
}

function isFor(knob, kind) {
  const { kinds } = knob.dataset;
  return !kinds || kinds.split(" ").includes(kind);
}

function show(kind) {
  for (const knob of form.querySelectorAll(".knob")) knob.hidden = !isFor(knob, kind);
  for (const choice of form.elements.kind) choice.checked = choice.value === kind;
}

function follow(field) {
  const slider = form.querySelector(`[data-turns="${field.name}"]`);
  if (slider) {
    const place = JSON.parse(slider.dataset.offers).indexOf(field.value);
    if (place >= 0) slider.value = place;
    slider.setAttribute("aria-valuetext", field.value || "not set");
    slider.classList.toggle("typed", place < 0);
  }
  const levels = field.value.split(",").map((level) => level.trim());
  for (const box of form.querySelectorAll(`[data-checks="${field.name}"]`)) {
    box.checked = levels.includes(box.value);
  }
}

export function setKnobs(pairs) {
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

/** Call back when a value is let go of. */
export function onTurned(callback) {
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", ({ target }) => {
    if (target.dataset.turns) {
      const field = form.elements[target.dataset.turns];
      field.value = JSON.parse(target.dataset.offers)[Number(target.value)];
      follow(field);
    }
  });
  form.addEventListener("change", ({ target }) => {
    if (target.dataset.checks) check(target);
    if (target.name === "kind") choose(target.value);
    else if (target.name) follow(target);
    callback();
  });
}

function check(box) {
  const field = form.elements[box.dataset.checks];
  const levels = field.value.split(",").map((level) => level.trim()).filter(Boolean);
  const left = levels.filter((level) => level !== box.value);
  field.value = (box.checked ? [...left, box.value] : left).join(",");
}

function choose(kind) {
  show(kind);
  const field = form.elements[kind];
  if (!field || field.value) return;
  const slider = form.querySelector(`[data-turns="${kind}"]`);
  const offers = slider ? JSON.parse(slider.dataset.offers) : [...field.options].map((one) => one.value);
  field.value = offers.find((value) => value);
  follow(field);
}

/** Show a refusal beside its knob; returns whether there is one. */
export function refuse(option, message) {
  const knob = [...form.querySelectorAll(".knob")].find((one) => one.dataset.option === option);
  if (!knob) return false;
  knob.closest("details")?.setAttribute("open", "");
  const said = knob.querySelector(".refusal");
  said.textContent = message;
  said.hidden = false;
  knob.querySelector("[name]").setAttribute("aria-invalid", "true");
  return true;
}

/** Mark a knob that a lesson wants turned. */
export function markKnob(name) {
  const knob = form.elements[name]?.closest(".knob");
  knob?.classList.add("to-turn");
  knob?.closest("details")?.setAttribute("open", "");
}

export function clearRefusals() {
  for (const said of form.querySelectorAll(".refusal")) said.hidden = true;
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}
