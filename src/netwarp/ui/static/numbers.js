// Writes numbers as answers and charts have them: three digits that tell, thousands apart by a narrow space.

const THIN = "\u202f";
const DIGITS = 3;

/** The decimals of a number with three significant digits. */
function decimalsOf(value) {
  if (value === 0) return 0;
  // The exponent after rounding: 9.996 is 10.0, not 10.00.
  const exponent = Number(value.toExponential(DIGITS - 1).split("e")[1]);
  return Math.max(0, Math.min(9, DIGITS - 1 - exponent));
}

/** A value in the unit, and with the decimals, of another that it stands beside. */
function inUnits(value, like, units) {
  const [scale, name] = units.find(([least]) => like >= least) ?? units.at(-1);
  const decimals = decimalsOf(like / scale);
  const text = (value / scale).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return `${text.replaceAll(",", THIN)} ${name}`;
}

/** Bytes, written as so many as `like` are. */
export const size = (bytes, like = bytes) => inUnits(bytes, like, [[1e6, "MB"], [1e3, "kB"], [1, "B"]]);

/** A length of time, written as one as long as `like` is. */
export const time = (seconds, like = seconds) => inUnits(seconds, like, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]);

/** A length of time as it was asked for: without decimals that say nothing. */
export const asked = (seconds) => (seconds === 0 ? "0 ms" : time(seconds).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " "));

/** A moment of a run that takes so long: all have the decimals of the end, in s, as the axes of charts. */
export const clock = (seconds, end = seconds) => `${seconds.toFixed(end < 1 ? 3 : 2)} s`;
