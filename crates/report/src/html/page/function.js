// One function: what it costs, who calls it, its source and its instructions side by side.

function functionView(row, at) {
  const own = functions.own;
  const executed = functions.instructions[row];
  const facts = [
    [percent(shareOfFunction(row)) + mark(own.samples[row]), `of the ${shareOf}, by itself`],
    functions.total.cycles[row] === null ? null
      : [percent(functions.total.cycles[row] / summary.cycles) + mark(functions.total.samples[row]), 'with callees'],
    isSampled && isCounted ? [cpiText(own, row, executed), 'cycles per instruction', limitsText(each(own, row, executed))] : null,
    [count(functions.calls[row]), functions.calls[row] === 1 ? 'call' : 'calls'],
    [ratio(executed, functions.calls[row]), 'instructions a call'],
    [eachText(each(own, row, functions.calls[row])), `${eachUnit} a call`, limitsText(each(own, row, functions.calls[row]))],
  ].filter((fact) => fact && fact[0] !== UNKNOWN);
  const head = element('header', { class: 'function-head' },
    element('h1', {}, nameOf(row)),
    element('p', { class: 'where' }, `${strings[functions.place[row]]} · ${strings[functions.module[row]]}+0x${functions.offset[row]}`),
    element('dl', { class: 'facts' }, facts.map(([value, label, title]) =>
      element('div', { title: title || null }, element('dt', {}, label), element('dd', {}, value)))),
    neighbours(row));
  const one = codeOf(row);
  const listing = one ? codeView(one, at) : element('p', { class: 'note card' }, noCode(row));
  return { element: element('section', { class: 'function-view' }, head, listing), filter: null };
}

function noCode(row) {
  if (!functions.instructions[row]) {
    return 'This function was sampled but not counted, so its instructions are unknown.';
  }
  return `The page holds the code of the costliest functions only. This one: timewise annotate '${nameOf(row)}'`;
}

// Callers and callees with how often each calls, and what the calls cost.
function neighbours(row) {
  const side = (title, own, other) => {
    const found = [];
    own.forEach((one, index) => one === row && found.push(index));
    if (found.length === 0) return null;
    const cost = (index) => calls.cycles[index] ?? 0;
    found.sort((a, b) => cost(b) - cost(a) || (calls.count[b] ?? 0) - (calls.count[a] ?? 0));
    const shown = found.slice(0, 8).map((index) => {
      const [to, number, cycles] = [other[index], calls.count[index], calls.cycles[index]];
      const facts = [number === null ? '' : `${count(number)}×`, cycles === null ? '' : percent(cycles / summary.cycles)];
      return element('li', {}, element('a', { href: functionLink(to), title: nameOf(to) }, nameOf(to)),
        ` ${facts.filter((fact) => fact).join(' · ')}`);
    });
    if (found.length > shown.length) shown.push(element('li', {}, `and ${found.length - shown.length} more`));
    return element('div', { class: 'neighbours' }, element('h2', {}, title), element('ul', {}, shown));
  };
  return element('div', { class: 'both-sides' },
    side('Called by', calls.to, calls.from), side('Calls', calls.from, calls.to));
}

function codeView(one, at) {
  const { rows, rowOf } = listingRows(one);
  const picture = arrows(one, rowOf, rows.length);
  const largest = Math.max(...[...one.cost.values()].map(([index]) => share(code.costs, index, 0)), 1e-9);
  let chosen = null;

  const isChosen = (line) => chosen && line && line.file === chosen.file && line.line === chosen.line;
  const choose = (line, from) => {
    chosen = isChosen(line) ? null : line;
    listing.update(true);
    source?.rows.update(true);
    if (!chosen) return;
    if (from === 'listing') source?.reveal(chosen);
    else {
      const found = one.line.findIndex((line) => isChosen(line));
      if (found >= 0) listing.reveal(rowOf.get(one.start + found));
    }
  };

  const instruction = (at) => {
    const line = one.line[at - one.start];
    const index = costOf(one, at);
    const executions = one.executions[at - one.start];
    const part = index === null ? 0 : share(code.costs, index, 0);
    const estimate = index === null ? null : each(code.costs, index, executions);
    const called = one.calls.get(at)?.[0];
    const text = strings[code.text[at]];
    return [
      element('td', { class: 'number line' }, line
        ? element('button', { type: 'button', title: `${sources[line.file].path}:${line.line}`,
          click: () => choose(line, 'listing') }, line.line) : ''),
      element('td', { class: 'offset' }, one.offsets[at - one.start]),
      element('td', { class: 'asm', title: text }, assembly(text, called)),
      element('td', { class: 'taken' }, one.taken.get(at)?.[0] ?? ''),
      element('td', { class: 'number' }, count(executions)),
      isSampled ? element('td', { class: 'number' }, index === null ? '' :
        element('span', { class: 'bar-cell', '--share': part / largest, '--heat': heat(part * 2) },
          element('span', { class: 'bar-text' }, percent(part) + mark(code.costs.samples[index])))) : null,
      isSampled ? element('td', { class: 'number', title: limitsText(estimate) || null },
        estimate ? eachText(estimate) : '') : null,
      isSampled && isTime ? element('td', { class: 'number' },
        estimate ? figure(estimate.cycles) + estimate.mark : '') : null,
    ];
  };

  const titles = ['line', 'offset', 'instruction', 'taken', 'executions'];
  const widths = ['3rem', '5rem', null, '5.6rem', '5.6rem'];
  if (isSampled) {
    titles.push('time', `${eachUnit} each`);
    widths.push('5.8rem', '4.4rem');
    if (isTime) {
      titles.push('≈ cycles');
      widths.push('4.6rem');
    }
  }
  const draw = (index) => {
    const row = rows[index];
    const arrow = picture.width ? element('td', { class: 'arrow' }, picture.drawRow(index)) : null;
    if (row.kind === 'gap') {
      return element('tr', { class: 'between' }, arrow,
        element('td', { colspan: titles.length }, '⋮ code that was not executed'));
    }
    if (row.kind === 'hint') {
      return element('tr', { class: 'between hint' }, arrow,
        element('td', { colspan: titles.length, title: row.hint.sentence }, `◆ ${row.hint.sentence}`));
    }
    if (row.kind === 'loop') {
      return element('tr', { class: 'between loop' }, arrow,
        element('td', { colspan: titles.length }, `↻ loop of depth ${loops.depth[row.loop]}: entered ${times(loops.invocations[row.loop])}, ` +
          `${ratio(loops.iterations[row.loop], loops.invocations[row.loop])} rounds each, ` +
          `${percent(loopShare(row.loop))} of the ${shareOf} without inner loops`));
    }
    const line = one.line[row.at - one.start];
    const classes = [isChosen(line) ? 'chosen' : '', row.at === at ? 'target' : ''].join(' ').trim();
    return element('tr', { class: classes || null }, arrow, instruction(row.at));
  };

  const columns = [...(picture.width ? [`${picture.width}px`] : []), ...widths];
  const heads = [...(picture.width ? [''] : []), ...titles];
  const { table, listing } = codeTable('Instructions', columns, heads, rows.length, draw);
  const source = sourceView(one, (line) => choose(line, 'source'), isChosen);
  const view = element('div', { class: source ? 'panes' : 'panes single' }, source?.element, table);
  const hottest = [...one.cost.entries()].reduce((best, [position, [index]]) =>
    (code.costs.cycles[index] > best[1] ? [position, code.costs.cycles[index]] : best), [one.start, 0])[0];
  // Once it has a height.
  requestAnimationFrame(() => {
    const wanted = at ?? hottest;
    listing.reveal(rowOf.get(wanted) ?? 0);
    const line = one.line[wanted - one.start];
    if (line) source?.reveal(line);
  });
  return view;
}

// A name that is called leads to its function.
function assembly(text, called) {
  const [, operation, rest] = /^(\S+)\s*(.*)$/s.exec(text) ?? [null, text, ''];
  const operand = called === undefined ? rest : element('a', { href: functionLink(called) }, rest);
  return [element('b', {}, operation), ' ', operand].reduce((all, part) => (all.append(part), all), new DocumentFragment());
}

// Columns of text, which stands to the left.
const NAMES = new Set(['offset', 'instruction', 'taken', 'source']);

function codeTable(label, widths, titles, number, draw) {
  const body = element('tbody');
  const table = element('table', { class: 'rows code', 'aria-label': label, 'aria-rowcount': number + 1 },
    element('colgroup', {}, widths.map((width) => element('col', { style: width ? `width:${width}` : null }))),
    element('thead', {}, element('tr', {}, titles.map((title) =>
      (title ? element('th', { scope: 'col', class: NAMES.has(title) ? 'name' : null }, title) : element('td'))))), body);
  const scroller = element('div', { class: 'scroller', tabindex: 0, role: 'region', 'aria-label': label }, table);
  const listing = new Rows(scroller, body, CODE_ROW_HEIGHT, titles.length, draw);
  listing.show(number);
  return { table: scroller, listing };
}

// The lines around those that the function was made from; null if no source can be shown.
function sourceView(one, choose, isChosen) {
  const costs = lineCosts(one);
  const wanted = new Map();
  for (const line of one.line) {
    if (!line) continue;
    if (!wanted.has(line.file)) wanted.set(line.file, new Set());
    wanted.get(line.file).add(line.line);
  }
  const home = one.line.find((line) => line)?.file;
  const files = [...wanted.keys()].sort((a, b) => (b === home) - (a === home));
  const rows = [];
  for (const file of files) {
    const { path, changed, parts } = sources[file];
    const lines = wanted.get(file);
    const [first, last] = [Math.min(...lines), Math.max(...lines)];
    const inside = parts.filter(([start, texts]) => start <= last && start + texts.length > first);
    if (changed) rows.push({ kind: 'note', text: `${fileName(path)} was changed after the run: its lines may be others` });
    if (inside.length === 0) continue;
    rows.push({ kind: 'note', text: path });
    inside.forEach(([start, texts], nth) => {
      if (nth > 0) rows.push({ kind: 'note', text: '⋮' });
      texts.forEach((text, index) => {
        const near = start + index >= first - 3 && start + index <= last + 3;
        if (near) rows.push({ kind: 'line', file, line: start + index, text });
      });
    });
  }
  if (!rows.some((row) => row.kind === 'line')) return null;
  const draw = (index) => {
    const row = rows[index];
    if (row.kind === 'note') {
      return element('tr', { class: 'between' }, element('td', { colspan: 4 }, row.text));
    }
    const cost = costs.get(`${row.file}:${row.line}`);
    const part = cost ? (isSampled ? cost.cycles / summary.cycles : cost.instructions / (summary.instructions || 1)) : 0;
    const cpi = cost && isSampled && cost.instructions && cost.samples > 0
      ? figure(cost.cycles / cost.instructions) + markEach(cost.samples) : '';
    const number = cost ? element('button', { type: 'button', click: () => choose(row) }, row.line) : String(row.line);
    return element('tr', { class: [cost ? '' : 'no-code', isChosen(row) ? 'chosen' : ''].join(' ').trim() || null },
      element('td', { class: 'number' }, part > 0 ? element('span', { class: 'bar-cell', '--share': part * 2, '--heat': heat(part) },
        element('span', { class: 'bar-text' }, percent(part) + mark(isSampled ? cost.samples : 0))) : ''),
      element('td', { class: 'number' }, cpi),
      element('td', { class: 'number line' }, number),
      element('td', { class: 'source', title: row.text.trim() }, row.text.replaceAll('\t', '    ')));
  };
  const { table, listing } = codeTable('Source', ['5.8rem', '3.6rem', '3rem', null], [shareOf, 'CPI', 'line', 'source'], rows.length, draw);
  return { element: table, rows: listing, reveal: (line) => {
    const found = rows.findIndex((row) => row.kind === 'line' && row.file === line.file && row.line === line.line);
    if (found >= 0) listing.reveal(found);
  } };
}

