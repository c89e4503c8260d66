// Shows a refusal beside its knob, with what would mend it.
import { element, unbroken } from "./bars.js";
import { openFolds, turnKnob } from "./knobs.js";

const form = document.getElementById("knobs");
const START = JSON.parse(document.getElementById("start").textContent);

const knobOf = (option) => [...form.querySelectorAll(".knob")].find((one) => one.dataset.option === option && !one.hidden);
const titleOf = (knob) => knob.querySelector("label").textContent.trim();
const fieldOf = (knob) => knob.querySelector("[name]");

/** Show a refusal beside its knob; returns whether there is one, and it is in sight. */
export function refuse(option, message, missing) {
  const knob = knobOf(option);
  if (!knob) return false;
  openFolds(knob);
  const said = knob.querySelector(".refusal");
  said.replaceChildren(unbroken(message), remedies(option, missing));
  said.hidden = false;
  fieldOf(knob).setAttribute("aria-invalid", "true");
  knobOf(missing)?.classList.add("missing");
  const { top, bottom } = said.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}

/** Buttons for what mends a refusal: a value of the option that it asks for, or to leave out what was refused. */
export function remedies(option, missing) {
  const place = element("span", { class: "remedies" });
  const offer = (text, field, value) => {
    const button = element("button", { type: "button", class: "plain-button" }, text);
    button.addEventListener("click", () => turnKnob(field.name, value));
    place.append(button);
  };
  const [asked, refused] = [knobOf(missing), knobOf(option)];
  const value = asked && !fieldOf(asked).value && usual(fieldOf(asked));
  if (value) offer(`Set “${titleOf(asked)}” to ${value}`, fieldOf(asked), value);
  if (refused && missing && fieldOf(refused).value) offer(`Leave “${titleOf(refused)}” out`, fieldOf(refused), "");
  return place;
}

/** The value with which a page begins, or the first that a slider offers. */
function usual({ name }) {
  const slider = form.querySelector(`[data-turns="${name}"]`);
  return START[name] ?? (slider ? JSON.parse(slider.dataset.offers).find((each) => each) : undefined);
}

export function clearRefusals() {
  for (const said of form.querySelectorAll(".refusal")) said.hidden = true;
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  for (const knob of form.querySelectorAll(".missing")) knob.classList.remove("missing");
}
