// Reads columns of samples of a run: values at a time, and the times at which a counter grew by so much.

/** The value of a column at a time: between two samples in proportion, or the earlier one. */
export function at(times, values, now, between = true) {
  if (!times.length || now < times[0]) return values[0] ?? 0;
  let low = 0;
  let high = times.length - 1;
  if (now >= times[high]) return values[high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= now) low = middle;
    else high = middle;
  }
  const share = between ? (now - times[low]) / (times[high] - times[low]) : 0;
  return values[low] + share * (values[high] - values[low]);
}

/** When each dot leaves the bottleneck: at every so many bytes of its counter. */
export function departures(run, bytes) {
  const { at_s: times, sent_bytes: sent } = run;
  const found = [];
  let next = sent[0] + bytes;
  for (let place = 1; place < times.length; place += 1) {
    while (next <= sent[place]) {
      const share = (next - sent[place - 1]) / (sent[place] - sent[place - 1]);
      found.push(times[place - 1] + share * (times[place] - times[place - 1]));
      next += bytes;
    }
  }
  return found;
}
