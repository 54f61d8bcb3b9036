// The code of one function: its instructions with what is known of each, and its source lines.

const CODE_ROW_HEIGHT = 22;
const MOST_LANES = 8;
const LANE_WIDTH = 7;

// Everything about the instructions of a function, by position in the columns of `code`.
function codeOf(row) {
  const [start, end] = [code.start[row], code.start[row + 1]];
  if (start === end) return null;
  const offsets = [];
  let distance = 0;
  for (let at = start; at < end; at += 1) {
    distance += code.delta[at];
    offsets.push(offset(functions.offset[row], distance));
  }
  const marks = (columns, read) => {
    const [first, last] = between(columns.at, start, end);
    const found = new Map();
    for (let index = first; index < last; index += 1) {
      found.set(columns.at[index], [...(found.get(columns.at[index]) ?? []), read(index)]);
    }
    return found;
  };
  const line = new Array(end - start);
  const executions = new Array(end - start);
  for (let at = start; at < end; at += 1) {
    const nearestLine = lastAtMost(code.lines.at, at);
    const known = nearestLine >= 0 && code.lines.at[nearestLine] >= start && code.lines.line[nearestLine] !== null;
    line[at - start] = known ? { file: code.lines.file[nearestLine], line: code.lines.line[nearestLine] } : null;
    executions[at - start] = code.blocks.executions[lastAtMost(code.blocks.at, at)];
  }
  return {
    row, start, end, offsets, line, executions,
    cost: marks(code.costs, (index) => index),
    taken: marks(code.taken, (index) => strings[code.taken.what[index]]),
    calls: marks(code.calls, (index) => code.calls.what[index]),
    loops: marks(code.loops, (index) => code.loops.what[index]),
    gaps: marks(code.blocks, (index) => code.blocks.gap[index] === 1),
    jumps: [...marks(code.jumps, (index) => index).values()].flat(),
  };
}

function costOf(one, at) {
  const index = one.cost.get(at)?.[0];
  return index === undefined ? null : index;
}

// What a source line of this function cost: the sum over its instructions.
function lineCosts(one) {
  const lines = new Map();
  for (let at = one.start; at < one.end; at += 1) {
    const line = one.line[at - one.start];
    if (!line) continue;
    const key = `${line.file}:${line.line}`;
    const sum = lines.get(key) ?? { samples: 0, cycles: 0, instructions: 0, executions: 0, first: at };
    const index = costOf(one, at);
    if (index !== null) {
      sum.samples += code.costs.samples[index];
      sum.cycles += code.costs.cycles[index];
    }
    sum.instructions += one.executions[at - one.start];
    sum.executions = Math.max(sum.executions, one.executions[at - one.start]);
    lines.set(key, sum);
  }
  return lines;
}

// Rows of the listing: instructions, and above them loops that begin, hints, and code that was left out.
function listingRows(one) {
  const rows = [];
  const rowOf = new Map();
  const hintsAt = Map.groupBy(hints.filter((hint) => hint.at !== null), (hint) => hint.at);
  for (let at = one.start; at < one.end; at += 1) {
    if (one.gaps.get(at)?.[0]) rows.push({ kind: 'gap' });
    for (const loop of one.loops.get(at) ?? []) rows.push({ kind: 'loop', loop });
    for (const hint of hintsAt.get(at) ?? []) rows.push({ kind: 'hint', hint });
    rowOf.set(at, rows.length);
    rows.push({ kind: 'instruction', at });
  }
  return { rows, rowOf };
}

// For each row of the listing, the parts of arrows that cross it.
function arrows(one, rowOf, length) {
  const crossing = Array.from({ length }, () => null);
  let lanes = 0;
  for (const index of one.jumps) {
    const [from, to, lane] = [rowOf.get(code.jumps.at[index]), rowOf.get(code.jumps.to[index]), code.jumps.lane[index]];
    if (lane >= MOST_LANES) continue;
    lanes = Math.max(lanes, lane + 1);
    const jump = { from, to, lane, isBack: to <= from };
    for (let row = Math.min(from, to); row <= Math.max(from, to); row += 1) {
      (crossing[row] ??= []).push(jump);
    }
  }
  const width = lanes * LANE_WIDTH + 12;
  const drawRow = (row) => {
    if (!lanes) return null;
    const picture = drawing('svg', { class: 'arrows', width, height: CODE_ROW_HEIGHT, 'aria-hidden': 'true' });
    const [middle, bottom] = [CODE_ROW_HEIGHT / 2, CODE_ROW_HEIGHT];
    for (const { from, to, lane, isBack } of crossing[row] ?? []) {
      const x = width - 9 - (lane + 0.5) * LANE_WIDTH;
      const [first, last] = [Math.min(from, to), Math.max(from, to)];
      const up = row > first ? 0 : middle;
      const down = row < last ? bottom : middle;
      const ends = row === from || row === to ? `M${x} ${middle}H${width - (row === to ? 5 : 1)}` : '';
      const head = row === to ? `M${width - 5} ${middle - 3}L${width - 1} ${middle}L${width - 5} ${middle + 3}` : '';
      picture.append(drawing('path', { d: `M${x} ${up}V${down}${ends}${head}`, class: isBack ? 'back' : null }));
    }
    return picture;
  };
  return { width: lanes ? width : 0, drawRow };
}

