// How large a value is, so that a slider can stand between the values that it offers.

const UNITS = {
  "": 1, "%": 1,
  ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
  bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9,
  b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30,
  // Lengths of a queue: packets before multiples of the path's capacity.
  p: 1e-6, bdp: 1,
};

/** The size of a value with its unit; one below zero is below all others, and one without a number above them. */
export function magnitude(text) {
  if (!text) return -1;
  const [, count, unit] = /^\s*(-?[0-9.]+)\s*([a-z%]*)\s*(?:,|$)/i.exec(text) ?? [];
  return count === undefined ? Infinity : Number(count) * (UNITS[unit.toLowerCase()] ?? Infinity);
}
