// Numbers as people read them: three significant digits, thousands grouped, units said. The same rules as
// those of the text reports.
'use strict';

const UNKNOWN = '–';

function grouped(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

function digits(value, significant) {
  if (value === 0) return '0';
  const before = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.min(2, Math.max(0, significant - before)));
}

function scaled(value, units) {
  // A value that would round up to the next unit's 1 is shown in the next unit.
  const [size, unit] = units.findLast(([size]) => value >= size * 0.9995) ?? units[0];
  return [value / size, unit];
}

// Exact below 100,000, then in thousands, millions and so on.
function count(value) {
  if (value === null) return UNKNOWN;
  if (value < 100000) return grouped(value);
  const [number, unit] = scaled(value, [[1e3, 'k'], [1e6, 'M'], [1e9, 'G'], [1e12, 'T'], [1e15, 'P']]);
  return `${digits(number, 4)} ${unit}`;
}

function figure(value) {
  if (value >= 999.5) return count(Math.round(value));
  return value > 0 && value < 0.005 ? '<0.01' : digits(value, 3);
}

function percent(share) {
  return `${(share > 0 ? 100 * share : 0).toFixed(1)} %`;
}

function tenths(value) {
  const whole = Math.round(10 * value);
  return `${grouped(Math.floor(whole / 10))}.${whole % 10}`;
}

function duration(ns) {
  const [number, unit] = scaled(ns, [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']]);
  return `${unit === 's' ? number.toFixed(2) : digits(number, 3)} ${unit}`;
}

function ratio(part, whole) {
  return part === null || !whole ? UNKNOWN : figure(part / whole);
}

function times(value) {
  return value === 1 ? 'once' : `${count(value)} times`;
}

// Offsets have 64 bits, numbers of scripts 53.
function offset(base, distance) {
  return `0x${(BigInt(`0x${base}`) + BigInt(distance)).toString(16)}`;
}

