// The figures, and what follows from them for one row.

const content = JSON.parse(document.getElementById('figures').textContent);
const { summary, functions, calls, loops, instructions, hints, waiting, kernel, code, sources, flame, strings } = content;

const isSampled = summary.cycles > 0;
const isCounted = summary.counted !== null;
const isTime = summary.clock !== null && !summary.clock.counts_cycles;

// Share of the time; where time was not sampled, of the executed instructions.
function share(costs, row, executed) {
  if (isSampled) return costs.cycles[row] / summary.cycles;
  return summary.instructions > 0 ? executed / summary.instructions : 0;
}

function mark(samples) {
  return samples > 0 && samples < summary.enough_samples ? '?' : '';
}

function markEach(samples) {
  return summary.doubtful && samples > 0 ? '?' : mark(samples);
}

// Cycles and nanoseconds for each of `number`, with limits; null where one of the two was not measured.
function each(costs, row, number) {
  if (!isSampled || !number) return null;
  const [value, low, high] = [costs.cycles, costs.low, costs.high].map((column) => column[row] / number);
  return {
    cycles: value,
    low: low * summary.clock_low,
    high: high * summary.clock_high,
    ns: value * summary.cycle_ns,
    lowNs: low * summary.cycle_ns,
    highNs: high * summary.cycle_ns,
    mark: markEach(costs.samples[row]),
  };
}

function cpiText(costs, row, executed) {
  const cpi = each(costs, row, executed);
  return cpi ? figure(cpi.cycles) + cpi.mark : UNKNOWN;
}

// The same with its limits, for who asks.
function limitsText(estimate) {
  if (!estimate || summary.doubtful) return '';
  return isTime
    ? `95 %: ${figure(estimate.lowNs)}–${figure(estimate.highNs)} ns, ` +
      `${figure(estimate.low)}–${figure(estimate.high)} cycles, the clock's drift included`
    : `95 %: ${figure(estimate.low)}–${figure(estimate.high)} cycles`;
}

// Time where the clock is time, else cycles.
function eachText(estimate) {
  if (!estimate) return UNKNOWN;
  return figure(isTime ? estimate.ns : estimate.cycles) + estimate.mark;
}

const eachUnit = isTime ? 'ns' : 'cycles';
const shareOf = isSampled ? 'time' : 'instructions';

const nameOf = (row) => strings[functions.name[row]];
const fileName = (path) => path.slice(path.lastIndexOf('/') + 1);

function shareOfFunction(row) {
  return share(functions.own, row, functions.instructions[row] ?? 0);
}

// Positions in a sorted column from `start` up to, not including, `end`.
function between(column, start, end) {
  return [lowerBound(column, start), lowerBound(column, end)];
}

function lowerBound(column, value) {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The last position in a sorted column whose value is not above `value`; -1 if there is none.
function lastAtMost(column, value) {
  return lowerBound(column, value + 1) - 1;
}

