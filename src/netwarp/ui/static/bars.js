// Draws answers: sentences, and a bar with its interval for each contender.

/** Make an element with attributes, and with children that are elements or texts. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== ""));
  return made;
}

/** The largest value of each metric, so that two answers can share an axis. */
export function extents(answer) {
  const found = {};
  for (const { name, groups } of answer?.metrics ?? []) {
    const values = groups.flatMap(({ bars }) => bars.flatMap((bar) => [bar.mean, Math.min(bar.high ?? 0, 3 * bar.mean), ...bar.samples]));
    found[name] = Math.max(0, ...values);
  }
  return found;
}

/** An answer in words, for those who do not see it: the verdicts, or the values where none is compared. */
export function answerText({ metrics }) {
  return metrics.map(({ title, sentences, groups }) => {
    const values = groups.flatMap(({ condition, bars }) => bars.map((bar) => [condition, bar.label, bar.text || "no value"].filter(Boolean).join(" ")));
    return `${title}: ${(sentences.length ? sentences : values).join(" ")}`;
  }).join(" ");
}

export function drawAnswer(place, answer, most) {
  const whole = answer.replicates >= answer.of;
  place.replaceChildren(...answer.metrics.flatMap((metric) => drawMetric(metric, most[metric.name], whole)), ...expectations(answer, whole), ...causes(answer), ...(whole ? tooFew(answer) : []), ...notes(answer), ...failures(answer));
}

function drawMetric(metric, most, whole) {
  const list = element("ul", { class: "answer" }, ...metric.sentences.map((text) => element("li", {}, text)));
  const unit = metric.unit ? ` (${metric.unit})` : "";
  const better = { higher: "; more is better", lower: "; less is better" }[metric.better] ?? "";
  const rows = metric.groups.flatMap((group) => drawGroup(group, most, metric.groups.length));
  const caption = element("caption", {}, `${metric.title}${unit}, mean and 95 % interval${better}`);
  const head = element("thead", { class: "unseen" }, element("tr", {}, ...["Contender", "Bar", "Value", "Verdict"].map((text) => element("th", { scope: "col" }, text))));
  const table = element("table", { class: "bars" }, caption, head, element("tbody", {}, ...rows));
  const open = whole && metric.open ? [element("p", { class: "note" }, metric.open)] : [];
  return [...(metric.sentences.length ? [list] : []), table, ...beside(metric), ...open];
}

/** The means of the metrics that the command's table has beside this one. */
function beside(metric) {
  if (!metric.beside.length) return [];
  const head = (text) => element("th", { scope: "col" }, text);
  const rows = metric.groups.flatMap(({ condition, bars }) => bars.map((bar) => element("tr", {}, element("th", { scope: "row" }, metric.groups.length < 2 ? bar.label : `${bar.label}, ${condition}`), ...bar.beside.map((text) => element("td", {}, text)))));
  const table = element("table", {}, element("thead", {}, element("tr", {}, head("Mean"), ...metric.beside.map(head))), element("tbody", {}, ...rows));
  return [element("div", { class: "scroll beside", tabindex: "0", role: "region", "aria-label": `Beside ${metric.title}` }, table)];
}

function drawGroup(group, most, groups) {
  const rows = group.bars.map((bar) => drawBar(bar, most));
  if (groups < 2) return rows;
  return [element("tr", { class: "condition" }, element("th", { colspan: "4", scope: "rowgroup" }, group.condition)), ...rows];
}

function drawBar(bar, most) {
  const track = element("div", { class: "track", "aria-hidden": "true" });
  if (bar.mean !== null && most > 0) {
    const percent = (value) => `${Math.max(0, Math.min(100, (value / most) * 94))}%`;
    const fill = element("div", { class: "fill" });
    fill.style.width = percent(bar.mean);
    fill.style.background = bar.colour;
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
  const value = element("td", { class: "num" }, bar.text || "–", ...[bar.note, failed, gaveUp].filter(Boolean).flatMap((text) => [" ", element("small", {}, text)]));
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
  return [element("dl", { class: "causes", "aria-label": "Where the time went" }, element("div", { class: "head" }, element("dt", {}, "Where the time went"), element("dd", {})), ...rows)];
}

function tooFew(answer) {
  return answer.too_few.map((text) => element("p", { class: "note" }, text));
}

function notes(answer) {
  return answer.notes.map((text) => element("p", { class: "note" }, text));
}

function failures(answer) {
  if (!answer.failures.length) return [];
  const shown = answer.failures.slice(0, 3);
  return [element("div", { class: "warning", role: "alert" }, ...shown.map((text) => element("p", {}, text)))];
}
