// Plays runs over their own time: packets on the link, the queue before it, the sender's window.
import { element } from "./bars.js";
import { at, departures } from "./columns.js";
import { LEAST_SHARE, drawNetwork, networkText, prepareNetwork } from "./network.js";
import { asked, clock, size, time } from "./numbers.js";

const MOST_DOTS = 44; // on the link at once; beyond that a dot stands for several packets
const FRAME_BYTES = 1514;
const HEIGHT = 92;
const motionIsReduced = matchMedia("(prefers-reduced-motion: reduce)");
const isDark = matchMedia("(prefers-color-scheme: dark)");

/** When the run has ended, and the last packet that was counted has arrived. */
const endOf = (run) => Math.max(run.end_s, run.left_s.at(-1) + run.delay_s);

function prepare(run) {
  // A link of a network may have no delay: a packet is drawn on it nevertheless, as in the network above it.
  const least = run.network ? endOf(run) * LEAST_SHARE : 0;
  const [there, home] = [run.delay_s, run.back_s].map((delay) => Math.max(delay, least));
  return { ...run, end: endOf(run), there, home, mostQueue: Math.max(...run.queue_s, 1e-9), mostWindow: Math.max(...run.window.bytes, 1) };
}

/** How many packets a dot stands for, so that no run ever has too many dots on its link. */
function packetsOfADot(runs) {
  const most = ({ left_s: times, sent_bytes: sent, there }) => Math.max(...times.map((time, place) => sent[place] - at(times, sent, time - there)));
  return Math.max(1, Math.ceil(Math.max(...runs.map(most)) / FRAME_BYTES / MOST_DOTS));
}

function lane(run, packets) {
  const canvas = element("canvas", { role: "img", height: HEIGHT, "aria-label": `${run.label}: packets on the link` });
  const said = element("p", { class: "note said" });
  const network = run.network && prepareNetwork(run.network, endOf(run));
  const drawn = network && element("canvas", { class: "network", role: "img", "aria-label": `${run.label}: ${networkText(network)}` });
  const bottleneck = network ? [drawn, element("p", { class: "note" }, "Its first link with a rate:")] : [];
  const place = element("div", { class: "lane" }, element("h3", {}, run.label), ...bottleneck, canvas, said);
  const dots = departures({ at_s: run.left_s, sent_bytes: run.sent_bytes }, packets * FRAME_BYTES);
  return { run: { ...run, dots }, canvas, said, place, network, drawn };
}

/** The colour of a run on the page: on a dark one, dark ones are lighter. */
const colourOf = (run) => (isDark.matches ? run.on_dark : run.colour);

function draw({ run, canvas, said }, now, most) {
  const width = canvas.clientWidth;
  const scale = devicePixelRatio;
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== HEIGHT * scale) canvas.height = HEIGHT * scale;
  canvas.style.height = `${HEIGHT}px`;
  const pen = canvas.getContext("2d");
  const colours = getComputedStyle(document.documentElement);
  const colour = (name) => colours.getPropertyValue(name);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, HEIGHT);
  const [left, queueEnd, right, middle] = [8, Math.min(150, width * 0.3), width - 8, 40];
  pen.font = "12px sans-serif";
  pen.fillStyle = colour("--faint");
  pen.fillText("queue", left, 16);
  pen.fillText(`link, ${asked(run.delay_s)}`, queueEnd + 10, 16);
  const receiver = run.sender === "server" ? "client" : "server";
  pen.fillText(receiver, right - pen.measureText(receiver).width, 16);
  // The queue, on one scale for all lanes.
  pen.fillStyle = colour("--card");
  pen.fillRect(left, middle - 14, queueEnd - left, 28);
  const queue = at(run.at_s, run.queue_s, now);
  pen.fillStyle = colourOf(run);
  const filled = (queue / most.queue) * (queueEnd - left);
  pen.fillRect(queueEnd - filled, middle - 14, filled, 28);
  // The link, and the packets on it; their acknowledgements travel back below it.
  pen.strokeStyle = colour("--rule");
  pen.lineWidth = 2;
  for (const y of [middle, middle + 30]) {
    pen.beginPath();
    pen.moveTo(y === middle ? queueEnd : left, y);
    pen.lineTo(right, y);
    pen.stroke();
  }
  drawDots(pen, run, now, { from: queueEnd, to: right, y: middle, after: 0, takes: run.there, size: 4 });
  drawDots(pen, run, now, { from: right, to: left, y: middle + 30, after: run.there, takes: run.home, size: 2 });
  const window = at(run.window.at_s, run.window.bytes, now, false);
  if (run.window.at_s.length) {
    pen.fillStyle = colourOf(run);
    pen.fillRect(left, HEIGHT - 10, (window / most.window) * (right - left), 4);
  }
  const [sent, all] = [at(run.left_s, run.sent_bytes, now) - run.sent_bytes[0], run.sent_bytes.at(-1) - run.sent_bytes[0]];
  const parts = [`${size(sent, all)} of ${size(all)} sent`, `queue ${time(queue, most.queue)}`];
  if (run.window.at_s.length) parts.push(`window ${size(window, most.window)}`);
  parts.push(`${Math.round(at(run.at_s, run.dropped, now, false))} dropped or lost`);
  if (now >= run.end_s) parts.push(`ended at ${clock(run.end_s)}`);
  said.textContent = parts.join(" · ");
}

function drawDots(pen, run, now, { from, to, y, after, takes, size }) {
  pen.fillStyle = colourOf(run);
  if (!takes) return;
  // Dots are in the order of their times: find the first that has not arrived.
  const { dots } = run;
  let low = 0;
  let high = dots.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (dots[middle] + after + takes < now) low = middle + 1;
    else high = middle;
  }
  for (let place = low; place < dots.length && dots[place] + after <= now; place += 1) {
    const share = (now - dots[place] - after) / takes;
    pen.beginPath();
    pen.arc(from + share * (to - from), y, size, 0, 2 * Math.PI);
    pen.fill();
  }
}

export class Player {
  constructor(view) {
    this.view = view;
    this.lanes = [];
    this.now = 0;
    this.end = 0;
    this.isPlaying = false;
    this.button = view.querySelector("[data-does=play]");
    this.scrub = view.querySelector("[name=scrub]");
    this.speed = view.querySelector("[name=speed]");
    this.choice = view.querySelector("[name=condition]");
    this.button.addEventListener("click", () => this.play(!this.isPlaying));
    this.scrub.addEventListener("input", () => this.go((Number(this.scrub.value) / 1000) * this.end));
    this.choice.addEventListener("change", () => this.show(Number(this.choice.value)));
    view.addEventListener("toggle", () => view.open || this.play(false));
    new ResizeObserver(() => this.go(this.now)).observe(view);
    isDark.addEventListener("change", () => this.go(this.now));
  }

  /** Fetch what is played, unless it is there already. */
  async load(source) {
    if (this.source === source) return;
    this.source = source;
    const response = await fetch(source);
    const { conditions = [], message } = await response.json();
    if (this.source !== source) return;
    this.conditions = conditions;
    this.view.querySelector(".state").textContent = message ?? (conditions.length ? "" : "The bottleneck of these runs was not sampled: there is nothing to play.");
    this.choice.replaceChildren(...conditions.map(({ label }, place) => new Option(label, place)));
    this.choice.parentElement.hidden = conditions.length < 2;
    this.view.querySelector(".player").hidden = !conditions.length;
    if (conditions.length) this.show(0);
  }

  show(number) {
    this.play(false);
    const runs = this.conditions[number].runs.map(prepare);
    const packets = packetsOfADot(runs);
    this.lanes = runs.map((run) => lane(run, packets));
    this.end = Math.max(...runs.map(({ end }) => end));
    const dots = packets === 1 ? "A dot is a packet" : `A dot is ${packets} packets`;
    this.view.querySelector(".key").textContent = `${dots} that left the bottleneck, and below it the way back; the line at the bottom is the sender's congestion window. Queues and windows have one scale.${this.lanes.some(({ network }) => network) ? " In the network a bar beside a router is the queue of a link, and packets are drawn on a link for at least a fiftieth of the run." : ""}`;
    this.view.querySelector(".lanes").replaceChildren(...this.lanes.map(({ place }) => place));
    this.go(motionIsReduced.matches ? this.end / 2 : 0);
  }

  play(starts) {
    this.isPlaying = starts;
    this.button.textContent = starts ? "Pause" : "Play";
    if (!starts) return;
    if (this.now >= this.end) this.now = 0;
    let before = null;
    const step = (time) => {
      if (!this.isPlaying) return;
      const passed = before === null ? 0 : (time - before) / 1000;
      before = time;
      // The longest run takes as long as is chosen, or as long as it took.
      const whole = Number(this.speed.value) || this.end;
      this.go(this.now + (passed * this.end) / whole);
      if (this.now >= this.end) this.play(false);
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  go(now) {
    this.now = Math.max(0, Math.min(this.end, now));
    if (!this.lanes.length || !this.view.open) return;
    const most = { queue: Math.max(...this.lanes.map(({ run }) => run.mostQueue)), window: Math.max(...this.lanes.map(({ run }) => run.mostWindow)) };
    for (const each of this.lanes) {
      draw(each, this.now, most);
      if (each.network) drawNetwork(each.drawn, each.network, this.now, colourOf(each.run));
    }
    this.scrub.value = this.end ? Math.round((1000 * this.now) / this.end) : 0;
    this.scrub.setAttribute("aria-valuetext", `${clock(this.now, this.end)}econds`);
    this.view.querySelector("output").textContent = clock(this.now, this.end);
  }
}
