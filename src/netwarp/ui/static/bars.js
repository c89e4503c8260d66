// Draws answers: sentences, and a bar with its interval for each contender.

/** A text whose numbers stay on the line of their unit. */
export const unbroken = (text) => text.replace(/(\d) (?=(?:%|[a-zA-Zµ]?(?:s|B|bit\/s))(?![\w/]))/g, "$1\u00a0");

/** Make an element with attributes, and with children that are elements or texts. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== "").map((child) => (typeof child === "string" ? unbroken(child) : child)));
  return made;
}

const ROOM = 0.94; // of a bar's track, for the largest value

/** The value at the end of the bars of each metric, so that two answers can share an axis: the whole of a share. */
export function extents(answer) {
  const found = {};
  for (const { name, whole, groups } of answer?.metrics ?? []) {
    const values = groups.flatMap(({ bars }) => bars.flatMap((bar) => [bar.mean, Math.min(bar.high ?? 0, 3 * bar.mean), ...bar.samples]));
    found[name] = whole ?? Math.max(0, ...values) / ROOM;
  }
  return found;
}

/** Which unit of its list answers beside one another write each metric in: the larger of theirs. Lists begin with the largest, and end with what suits one answer. */
export function sharedUnits(answers) {
  const found = {};
  const metrics = answers.flatMap((answer) => answer?.metrics ?? []);
  for (const { name, units } of metrics.flatMap((metric) => [metric, ...metric.beside])) {
    found[name] = Math.min(found[name] ?? Infinity, units.length - 1);
  }
  return found;
}

/** An answer in words, for those who do not see it: the verdicts, or the values where none is compared. */
export function answerText({ metrics }) {
  return metrics.map(({ title, sentences, groups }) => {
    const values = groups.flatMap(({ condition, bars }) => bars.map((bar) => [condition, bar.label, bar.texts.at(-1) ?? "no value"].filter(Boolean).join(" ")));
    return `${title}: ${(sentences.length ? sentences : values).join(" ")}`;
  }).join(" ");
}

/** Draw an answer: `most` has the value at the end of each metric's bars, and `units` which of its units it is written in. */
export function drawAnswer(place, answer, most, units) {
  const whole = answer.replicates >= answer.of;
  place.replaceChildren(...answer.metrics.flatMap((metric) => drawMetric(metric, most[metric.name], units, whole)), ...expectations(answer, whole), ...causes(answer), ...(whole ? tooFew(answer) : []), ...notes(answer, whole), ...failures(answer));
}

function drawMetric(metric, most, units, whole) {
  const list = element("ul", { class: "answer" }, ...metric.sentences.map((text) => element("li", {}, text)));
  const better = { higher: "; more is better", lower: "; less is better" }[metric.better] ?? "";
  const scale = metric.whole === null ? "" : `; bars from 0 to ${metric.whole_text}`;
  const rows = metric.groups.flatMap((group) => drawGroup(group, most, units[metric.name], metric.groups.length));
  const caption = element("caption", {}, `${headOf(metric, units)}, mean and 95 % interval${better}${scale}`);
  const head = element("thead", { class: "unseen" }, element("tr", {}, ...["Contender", "Bar", "Value", "Verdict"].map((text) => element("th", { scope: "col" }, text))));
  const columns = element("colgroup", {}, ...["named", "drawn", "valued", "judged"].map((name) => element("col", { class: name })));
  const table = element("table", { class: "bars" }, caption, columns, head, element("tbody", {}, ...rows));
  const open = whole && metric.open ? [element("p", { class: "note" }, metric.open)] : [];
  return [...(metric.sentences.length ? [list] : []), table, ...beside(metric, units), ...open];
}

/** The title of a metric with the unit in which it is written. */
function headOf({ name, title, units: own }, units) {
  const unit = own[units[name]];
  return unit ? `${title} (${unit})` : title;
}

/** The means of the metrics that the command's table has beside this one. */
function beside(metric, units) {
  if (!metric.beside.length) return [];
  const head = (text) => element("th", { scope: "col" }, text);
  const rows = metric.groups.flatMap(({ condition, bars }) => bars.map((bar) => element("tr", {}, element("th", { scope: "row" }, metric.groups.length < 2 ? bar.label : `${bar.label}, ${condition}`), ...bar.beside.map((texts, at) => element("td", {}, texts[units[metric.beside[at].name]])))));
  const table = element("table", {}, element("thead", {}, element("tr", {}, head("Mean"), ...metric.beside.map((column) => head(headOf(column, units))))), element("tbody", {}, ...rows));
  return [element("div", { class: "scroll beside", tabindex: "0", role: "region", "aria-label": `Beside ${metric.title}` }, table)];
}

function drawGroup(group, most, unit, groups) {
  const rows = group.bars.map((bar) => drawBar(bar, most, unit));
  if (groups < 2) return rows;
  return [element("tr", { class: "condition" }, element("th", { colspan: "4", scope: "rowgroup" }, group.condition)), ...rows];
}

function drawBar(bar, most, unit) {
  const track = element("div", { class: "track", "aria-hidden": "true" });
  if (bar.mean !== null && most > 0) {
    const percent = (value) => `${Math.max(0, Math.min(100, (value / most) * 100))}%`;
    const fill = element("div", { class: "fill" });
    fill.style.width = percent(bar.mean);
    fill.style.setProperty("--colour", bar.colour);
    fill.style.setProperty("--on-dark", bar.on_dark);
    track.append(fill);
    if (bar.low !== null && bar.high > bar.low) {
      const whisker = element("div", { class: "whisker" });
      whisker.style.left = percent(bar.low);
      whisker.style.right = `calc(100% - ${percent(bar.high)})`;
      track.append(whisker);
    }
    for (const sample of bar.samples) {
      const dot = element("i", {});
      dot.style.left = percent(sample);
      track.append(dot);
    }
  }
  const failed = bar.failed ? `${bar.failed} failed` : "";
  const gaveUp = bar.gave_up ? `${bar.gave_up} gave up` : "";
  const value = element("td", { class: "num" }, bar.texts[unit] ?? "–", ...[bar.note, failed, gaveUp].filter(Boolean).flatMap((text) => [" ", element("small", {}, text)]));
  const said = bar.is_first ? "compared with" : bar.verdict;
  const verdict = element("td", { class: "said" }, ...(said ? [element("span", { class: `mark ${bar.is_first ? "first" : bar.mark}` }, said)] : []));
  return element("tr", {}, element("th", { scope: "row" }, bar.label), element("td", { class: "drawn" }, track), value, verdict);
}

function expectations(answer, whole) {
  return answer.expectations.map(({ text, kept, word, found }) =>
    element("p", { class: "expected" }, element("span", { class: `verdict ${kept}` }, whole ? word : `so far: ${word}`), " ", element("code", {}, text), element("small", {}, found)));
}

function causes(answer) {
  if (!answer.causes.length) return [];
  const rows = answer.causes.map(({ cell, text }) => element("div", {}, element("dt", {}, cell), element("dd", {}, text)));
  return [element("dl", { class: "causes", "aria-label": "Where the time went" }, element("div", { class: "head" }, element("dt", {}, "Where the time went"), element("dd", {})), ...rows), causeMeanings(answer)];
}

let isExplained = false; // whether the words are unfolded, which outlasts an answer

/** What the causes mean that are named above, folded. */
function causeMeanings({ cause_meanings: meanings }) {
  const items = meanings.map(({ name, meaning }) => element("li", {}, element("strong", {}, name), `: time in which ${meaning}`));
  const fold = element("details", { class: "meanings" }, element("summary", {}, "What these words mean"), element("ul", {}, ...items));
  fold.open = isExplained;
  fold.addEventListener("toggle", () => { isExplained = fold.open; });
  return fold;
}

function tooFew(answer) {
  return answer.too_few.map((text) => element("p", { class: "note" }, text));
}

/** What is to be known of the numbers, and the conditions that all have, those that nobody asked for included. */
function notes(answer, whole) {
  const warnings = whole ? answer.warnings.map((text) => element("p", { class: "warning" }, text)) : [];
  const told = [...answer.notes, ...(answer.conditions ? [`All have: ${answer.conditions}`] : [])];
  return [...warnings, ...told.map((text) => element("p", { class: "note" }, text))];
}

function failures(answer) {
  if (!answer.failures.length) return [];
  const shown = answer.failures.slice(0, 3);
  return [element("div", { class: "warning", role: "alert" }, ...shown.map((text) => element("p", {}, text)))];
}
