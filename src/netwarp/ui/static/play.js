// Plays runs over their own time: packets on the link, the queue before it, the sender's window.
import { element } from "./bars.js";
import { at, departures } from "./columns.js";
import { LEAST_SHARE, drawNetwork, networkText, prepareNetwork } from "./network.js";

const WHOLE_S = 15; // at speed 1 the longest run takes this long
const MOST_DOTS = 44; // on the link at once; beyond that a dot stands for several packets
const FRAME_BYTES = 1514;
const HEIGHT = 92;
const motionIsReduced = matchMedia("(prefers-reduced-motion: reduce)");
const isDark = matchMedia("(prefers-color-scheme: dark)");

/** When the run has ended, and the last packet that was counted has arrived. */
const endOf = (run) => Math.max(run.end_s, run.left_s.at(-1) + run.delay_s);

function prepare(run) {
  const left = { at_s: run.left_s, sent_bytes: run.sent_bytes };
  const duration = left.at_s.at(-1) - left.at_s[0];
  const rate = (run.sent_bytes.at(-1) - run.sent_bytes[0]) / duration;
  const fastest = run.rate_bit_s ? run.rate_bit_s / 8 : 4 * rate;
  const packets = Math.max(1, Math.ceil((fastest * Math.max(run.delay_s, duration / 400, run.network ? duration * LEAST_SHARE : 0)) / FRAME_BYTES / MOST_DOTS));
  // A link of a network may have no delay: a packet is drawn on it nevertheless, as in the network above it.
  const least = run.network ? endOf(run) * LEAST_SHARE : 0;
  const [there, home] = [run.delay_s, run.back_s].map((delay) => Math.max(delay, least));
  return { ...run, end: endOf(run), there, home, packets, dots: departures(left, packets * FRAME_BYTES), mostQueue: Math.max(...run.queue_s, 1e-9), mostWindow: Math.max(...run.window.bytes, 1) };
}

const kilo = (bytes) => `${(bytes / 1000).toLocaleString("en", { maximumFractionDigits: bytes < 1e5 ? 1 : 0 })} kB`;
const milli = (seconds) => `${(seconds * 1000).toLocaleString("en", { maximumFractionDigits: 1 })} ms`;

function lane(run) {
  const canvas = element("canvas", { role: "img", height: HEIGHT, "aria-label": `${run.label}: packets on the link` });
  const said = element("p", { class: "note said" });
  const network = run.network && prepareNetwork(run.network, endOf(run));
  const drawn = network && element("canvas", { class: "network", role: "img", "aria-label": `${run.label}: ${networkText(network)}` });
  const bottleneck = network ? [drawn, element("p", { class: "note" }, "Its first link with a rate:")] : [];
  const place = element("div", { class: "lane" }, element("h3", {}, run.label), ...bottleneck, canvas, said);
  return { run: prepare(run), canvas, said, place, network, drawn };
}

/** The colour of a run as the page's style has it: on a dark page dark ones are lighter. */
const shown = (colour) => getComputedStyle(document.documentElement).getPropertyValue(`--on-dark-${colour.slice(1)}`) || colour;

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
  pen.fillText(`link, ${milli(run.delay_s)}`, queueEnd + 10, 16);
  const receiver = run.sender === "server" ? "client" : "server";
  pen.fillText(receiver, right - pen.measureText(receiver).width, 16);
  // The queue, on one scale for all lanes.
  pen.fillStyle = colour("--card");
  pen.fillRect(left, middle - 14, queueEnd - left, 28);
  const queue = at(run.at_s, run.queue_s, now);
  pen.fillStyle = shown(run.colour);
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
    pen.fillStyle = shown(run.colour);
    pen.fillRect(left, HEIGHT - 10, (window / most.window) * (right - left), 4);
  }
  const [sent, all] = [at(run.left_s, run.sent_bytes, now) - run.sent_bytes[0], run.sent_bytes.at(-1) - run.sent_bytes[0]];
  const parts = [`${kilo(sent)} of ${kilo(all)} sent`, `queue ${milli(queue)}`];
  if (run.window.at_s.length) parts.push(`window ${kilo(window)}`);
  parts.push(`${Math.round(at(run.at_s, run.dropped, now, false))} dropped or lost`);
  if (now >= run.end_s) parts.push(`ended at ${run.end_s.toFixed(2)} s`);
  said.textContent = parts.join(" · ");
}

function drawDots(pen, run, now, { from, to, y, after, takes, size }) {
  pen.fillStyle = shown(run.colour);
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
    this.lanes = this.conditions[number].runs.map(lane);
    this.end = Math.max(...this.lanes.map(({ run }) => run.end));
    const packets = Math.max(...this.lanes.map(({ run }) => run.packets));
    const dots = packets === 1 ? "A dot is a packet" : `A dot is up to ${packets} packets`;
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
      this.go(this.now + (passed * Number(this.speed.value) * this.end) / WHOLE_S);
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
      if (each.network) drawNetwork(each.drawn, each.network, this.now, shown(each.run.colour));
    }
    this.scrub.value = this.end ? Math.round((1000 * this.now) / this.end) : 0;
    this.scrub.setAttribute("aria-valuetext", `${this.now.toFixed(2)} seconds`);
    this.view.querySelector("output").textContent = `${this.now.toFixed(2)} s`;
  }
}
