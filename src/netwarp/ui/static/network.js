// Draws the network of a run at a time: hosts, routers, queues, and packets on the links that were sampled.
import { at, departures } from "./columns.js";

const HEIGHT = 240;
const MARGIN = { x: 60, y: 26 };
const NODE = 5;
const NAME_HEIGHT = 12;
const MOST_DOTS = 12; // on a link at once
export const LEAST_SHARE = 1 / 50; // of the run, that a packet is drawn on a link, or it would not be seen

/** Make the part of a lane that shows a network, with the dots of each direction of its links. */
export function prepareNetwork(network, end) {
  const ways = network.links.flatMap((link) => link.ways.map((way) => {
    const takes = Math.max(way.delay_s, end * LEAST_SHARE);
    const bytes = Math.max(1514, ((way.sent_bytes.at(-1) - way.sent_bytes[0]) * takes) / end / MOST_DOTS);
    const [from, to] = way.is_back ? [link.second, link.first] : [link.first, link.second];
    return { ...way, from, to, takes, dots: departures(way, bytes) };
  }));
  const mostQueue = Math.max(1e-9, ...ways.flatMap(({ queue_s: queue }) => queue));
  return { ...network, ways, mostQueue };
}

/** Say what the drawing shows, for those who do not see it. */
export function networkText({ nodes, links }) {
  const hosts = nodes.filter((node) => node.is_host).length;
  return `${hosts} hosts and ${nodes.length - hosts} routers: ${links.map(({ first, second }) => `${first} to ${second}`).join(", ")}`;
}

export function drawNetwork(canvas, network, now, colour) {
  const width = canvas.clientWidth;
  const scale = devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = HEIGHT * scale;
  canvas.style.height = `${HEIGHT}px`;
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, HEIGHT);
  const place = Object.fromEntries(network.nodes.map(({ name, x, y }) => [name, [MARGIN.x + x * (width - 2 * MARGIN.x), MARGIN.y + y * (HEIGHT - 2 * MARGIN.y)]]));
  pen.strokeStyle = style.getPropertyValue("--rule");
  pen.lineWidth = 2;
  for (const { first, second } of network.links) line(pen, place[first], place[second]);
  for (const way of network.ways) drawWay(pen, way, place[way.from], place[way.to], now, network.mostQueue, colour);
  pen.font = "11px sans-serif";
  for (const node of network.nodes) {
    const [x, y] = place[node.name];
    pen.fillStyle = style.getPropertyValue(node.is_host ? "--ink" : "--faint");
    pen.beginPath();
    if (node.is_host) pen.rect(x - NODE, y - NODE, 2 * NODE, 2 * NODE);
    else pen.arc(x, y, NODE, 0, 2 * Math.PI);
    pen.fill();
    const row = network.nodes.filter((other) => !other.is_host && other.y === node.y);
    const isTight = !node.is_host && row.length > 1 && pen.measureText(node.name).width + 6 > (width - 2 * MARGIN.x) * Math.abs(row[1].x - row[0].x);
    write(pen, node, x, y, network.nodes.filter((other) => other.x === node.x), isTight && row.indexOf(node) % 2 === 1);
  }
}

/** The name of a node: beside hosts at the edges, where others are not in its way, and below or above the others; every second router's a line lower where they are close. */
function write(pen, { name, x: share, y: height }, x, y, column, isLower) {
  const isAtAnEdge = share === 0 || share === 1;
  const isEnd = column.every((other) => other.y >= height) || column.every((other) => other.y <= height);
  const isCrowded = (HEIGHT - 2 * MARGIN.y) / column.length < NAME_HEIGHT;
  if (isAtAnEdge && isCrowded && !isEnd) return;
  pen.textAlign = share === 0 ? "right" : share === 1 ? "left" : "center";
  if (isAtAnEdge) pen.fillText(name, x + (share ? 1 : -1) * (NODE + 3), y + 4);
  else pen.fillText(name, x, height === 0 ? y - NODE - 4 : y + NODE + 13 + (isLower ? NAME_HEIGHT : 0));
}

function line(pen, [fromX, fromY], [toX, toY]) {
  pen.beginPath();
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX, toY);
  pen.stroke();
}

/** The dots of one direction, and at its beginning the queue: packets of both directions keep to their right. */
function drawWay(pen, way, [fromX, fromY], [toX, toY], now, mostQueue, colour) {
  const length = Math.hypot(toX - fromX, toY - fromY) || 1;
  const [alongX, alongY] = [(toX - fromX) / length, (toY - fromY) / length];
  const [asideX, asideY] = [-alongY * 4, alongX * 4];
  pen.fillStyle = colour;
  for (const left of way.dots) {
    const share = (now - left) / way.takes;
    if (share < 0 || share > 1) continue;
    pen.beginPath();
    pen.arc(fromX + share * (toX - fromX) + asideX, fromY + share * (toY - fromY) + asideY, 2.5, 0, 2 * Math.PI);
    pen.fill();
  }
  const queued = at(way.at_s, way.queue_s, now) / mostQueue;
  pen.fillRect(fromX + asideX * 2.5 - 3, fromY + asideY * 2.5 + (asideY < 0 ? -30 * queued : 0), 6, 30 * queued);
}
