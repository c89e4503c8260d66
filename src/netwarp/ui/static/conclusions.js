// The conclusions of a publication as its studies are judged, before its scorecard is there.
import { element } from "./bars.js";

const section = document.getElementById("judged");
const link = document.querySelector("#progress [href='#judged']"); // they are above the list of publications, out of sight

function rowOf({ verdict, word, text, depends, claimed, found, authors }) {
  const own = authors ? "" : "Hypothesis of ours: ";
  const told = [["Depends", depends], ["Source", claimed], ["Found", found]].filter(([, said]) => said);
  const notes = told.map(([name, said]) => element("small", {}, `${name}: ${said}`));
  return element("li", {}, element("span", { class: `verdict ${verdict}` }, word), ` ${own}${text}`, ...notes);
}

/** Show a study's conclusions, in place of what was said of it before its variants had been run. */
export function showJudged({ study, title, trouble, left, rows }) {
  const place = element("div", { "data-study": study }, element("h3", {}, title));
  if (trouble) place.append(element("p", { class: "note" }, trouble));
  if (left) place.append(element("p", { class: "note" }, `${left} of its controls and sensitivities still to run: verdicts may change.`));
  if (rows.length) place.append(element("ul", {}, ...rows.map(rowOf)));
  const before = [...section.querySelectorAll("[data-study]")].find((one) => one.dataset.study === study);
  if (before) before.replaceWith(place);
  else section.append(place);
  section.hidden = false;
  link.hidden = false;
}

/** Remove what was shown. */
export function forget() {
  section.hidden = true;
  link.hidden = true;
  for (const place of section.querySelectorAll("[data-study]")) place.remove();
}
