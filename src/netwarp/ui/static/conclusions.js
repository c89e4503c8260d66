// The conclusions of a publication as its studies are judged, before its scorecard is there.

const section = document.getElementById("judged");

function made(name, text, kind = "") {
  const element = document.createElement(name);
  element.textContent = text;
  element.className = kind;
  return element;
}

function rowOf({ verdict, word, text, depends, claimed, found, authors }) {
  const row = document.createElement("li");
  const own = authors ? "" : "Hypothesis of ours: ";
  row.append(made("span", word, `verdict ${verdict}`), ` ${own}${text}`);
  for (const [name, said] of [["Depends", depends], ["Source", claimed], ["Found", found]]) {
    if (said) row.append(made("small", `${name}: ${said}`));
  }
  return row;
}

/** Show a study's conclusions, in place of what was said of it before its variants had been run. */
export function showJudged({ study, title, trouble, left, rows }) {
  const place = document.createElement("div");
  place.dataset.study = study;
  place.append(made("h3", title));
  if (trouble) place.append(made("p", trouble, "note"));
  if (left) place.append(made("p", `${left} of its controls and sensitivities still to run: verdicts may change.`, "note"));
  const list = document.createElement("ul");
  list.append(...rows.map(rowOf));
  if (rows.length) place.append(list);
  const before = [...section.querySelectorAll("[data-study]")].find((one) => one.dataset.study === study);
  if (before) before.replaceWith(place);
  else section.append(place);
  section.hidden = false;
}

/** Remove what was shown. */
export function forget() {
  section.hidden = true;
  for (const place of section.querySelectorAll("[data-study]")) place.remove();
}
