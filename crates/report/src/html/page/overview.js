// The first screen: what ran, where its time went, and how far to trust the figures.

function overview() {
  const small = new FlameGraph({ root: trunk(), levels: 7, isSmall: true });
  small.zoom = () => { location.hash = '#flame'; };
  const hasStacks = flame.cycles.length > 2;
  const view = element('section', { class: 'overview' },
    element('h1', { class: 'hidden' }, 'Overview'),
    warnings(),
    element('div', { class: 'tiles' }, tiles()),
    hasStacks ? element('section', { class: 'card wide' },
      heading('Call stacks', '#flame', 'Flame graph'), small.area) : null,
    element('div', { class: 'pair' },
      functions.name.length ? element('section', { class: 'card' }, heading('Hottest functions', '#functions', `All ${grouped(functions.name.length)}`), hottest(
        topRows(functions.name.length), functionLink, nameOf, (row) => strings[functions.place[row]], shareOfFunction,
        (row) => cpiText(functions.own, row, functions.instructions[row]))) : null,
      goingRound().length ? element('section', { class: 'card' }, heading('Hottest loops', '#loops', `All ${grouped(loops.name.length)}`), hottest(
        goingRound().slice(0, TOP), loopLink, (row) => strings[loops.name[row]], (row) => nameOf(loops.function[row]), loopShare,
        (row) => cpiText(loops.own, row, loops.instructions[row]))) : null),
    inTheKernel(),
    hintList(),
    costliest(),
    origin());
  return { element: view, filter: null };
}

const TOP = 8;
const topRows = (number) => Array.from({ length: Math.min(TOP, number) }, (_, row) => row);

// As on the screen of `timewise run`: code that hardly ever runs again is no loop to look at.
const goingRound = () => loops.name.map((_, row) => row).filter((row) => loops.iterations[row] >= 1.005 * loops.invocations[row]);

function heading(title, to, more) {
  return element('header', { class: 'card-head' }, element('h2', {}, title), element('a', { href: to }, `${more} →`));
}

function warnings() {
  const { warnings } = summary.measurement;
  return warnings.length === 0 ? null
    : element('div', { class: 'warnings', role: 'note' }, warnings.map((warning) => element('p', {}, warning)));
}

const ofATurn = (runs) => runs > 1 ? `, in an average one of ${runs} turns` : '';

function tiles() {
  const measured = summary.measurement;
  const tile = (label, value, note, ...more) => element('div', { class: 'tile' },
    element('p', { class: 'label' }, label), element('p', { class: 'value' }, value), ...more,
    note ? element('p', { class: 'note' }, note) : null);
  const made = [];
  if (measured.sampling_runs > 0) {
    const waiting = Math.max(0, measured.elapsed_ns - measured.user_ns - measured.kernel_ns);
    const parts = [['user', measured.user_ns], ['kernel', measured.kernel_ns], ['waiting', waiting]];
    const whole = parts.reduce((sum, [, ns]) => sum + ns, 0) || 1;
    made.push(tile('Elapsed', duration(measured.elapsed_ns),
      parts.map(([name, ns]) => `${(ns / 1e9).toFixed(2)} s ${name}`).join(' · ') + ofATurn(measured.sampling_runs),
      element('div', { class: 'stack', 'aria-hidden': 'true' }, parts.map(([name, ns]) =>
        element('span', { class: name, '--share': ns / whole })))));
  }
  if (isSampled && isCounted && measured.joined_share >= 0.5) {
    const whole = { cycles: [summary.cycles], low: [summary.cycles_low], high: [summary.cycles_high], samples: [measured.samples] };
    const cpi = each(whole, 0, summary.instructions);
    const range = summary.doubtful ? 'unknown: the runs did different work' : `${figure(cpi.low)}–${figure(cpi.high)} with 95 % confidence`;
    made.push(tile('Cycles per instruction', summary.doubtful ? UNKNOWN : figure(cpi.cycles),
      isTime ? `${range} · estimated from time` : range));
  }
  if (isCounted) {
    made.push(tile('Instructions', count(summary.instructions), `counted, ${summary.counted}${ofATurn(measured.counting_runs)}`));
  }
  if (measured.sampling_runs > 0) {
    made.push(tile('Samples', grouped(measured.samples), `${grouped(measured.lost_samples)} lost` +
      (measured.joined_share === null ? '' : ` · ${percent(measured.joined_share)} on counted code`)));
  }
  return made;
}

function hottest(rows, link, name, place, part, cpi) {
  const largest = Math.max(...rows.map(part), 1e-9);
  return element('ol', { class: 'hottest' }, rows.map((row) => element('li', {},
    element('a', { href: link(row), '--share': part(row) / largest, '--heat': heat(part(row)) },
      element('span', { class: 'what' }, element('b', { title: name(row) }, name(row)), element('span', { class: 'where' }, place(row))),
      cpi && isSampled && isCounted ? element('span', { class: 'cpi' }, element('span', { class: 'unit' }, 'CPI '), cpi(row)) : null,
      element('span', { class: 'share' }, percent(part(row)))))));
}

// Where threads waited and what the kernel was called for, if that is a notable part of the time.
function inTheKernel() {
  const card = (title, to, { stack, share, function: called, caller }) =>
    element('section', { class: 'card' }, heading(title, to, `All ${grouped(stack.length)}`), hottest(
      topRows(stack.length), () => to, (row) => strings[called[row]],
      (row) => (caller[row] === null ? '' : strings[caller[row]]), (row) => share[row], null));
  const cards = [
    waiting.stands_out ? card('Waiting', '#waiting', waiting) : null,
    kernel.stands_out ? card('In the kernel', '#kernel', kernel) : null,
  ];
  return cards.some((shown) => shown) ? element('div', { class: 'pair' }, cards) : null;
}

// What the figures say should be looked at first.
function hintList() {
  if (hints.length === 0) return null;
  const titles = { division: 'division', 'slow-load': 'slow load', 'costly-branch': 'costly branch', 'short-trips': 'short loop' };
  return element('section', { class: 'card' }, element('header', { class: 'card-head' }, element('h2', {}, 'Hints')),
    element('ul', { class: 'hints' }, hints.slice(0, 6).map((hint) => element('li', {},
      element('span', { class: 'kind' }, titles[hint.kind] ?? hint.kind),
      element('p', {}, element('a', { href: functionLink(hint.function, hint.at) }, `${hint.place} in ${nameOf(hint.function)}`),
        ` ${hint.sentence}`)))));
}

function costliest() {
  const number = Math.min(10, instructions.at.length);
  if (number === 0) return null;
  const largest = share(instructions.cost, 0, 0);
  const rows = Array.from({ length: number }, (_, row) => {
    const estimate = each(instructions.cost, row, instructions.executions[row]);
    const part = share(instructions.cost, row, 0);
    const to = functionLink(instructions.function[row], instructions.at[row]);
    return element('tr', { class: 'leads', click: (event) => { if (!event.target.closest('a')) location.hash = to; } },
      element('td', { class: 'name' }, element('a', { href: to }, strings[instructions.place[row]])),
      element('td', { class: 'asm' }, strings[instructions.text[row]]),
      element('td', { class: 'number' }, bar(part / largest, percent(part) + mark(instructions.cost.samples[row]), part)),
      element('td', { class: 'number', title: limitsText(estimate) || null }, eachText(estimate)),
      element('td', { class: 'number' }, count(instructions.executions[row])));
  });
  const titles = [['Where', 'name'], ['Instruction', 'name'], ['Time', 'number'], [`${eachUnit} each`, 'number'], ['Executions', 'number']];
  return element('section', { class: 'card' }, element('header', { class: 'card-head' }, element('h2', {}, 'Costliest instructions')),
    element('table', { class: 'rows plain', 'aria-label': 'Costliest instructions' },
      element('thead', {}, element('tr', {}, titles.map(([title, kind]) => element('th', { scope: 'col', class: kind }, title)))),
      element('tbody', {}, rows)));
}

function origin() {
  const facts = [...summary.origin];
  const { machine } = summary;
  if (machine) facts.push([machine.processor, machine.cpus ? `${machine.cpus} processors` : '', machine.kernel ? `Linux ${machine.kernel}` : '']
    .filter((fact) => fact).join(' · '));
  if (summary.started_unix_ms) facts.push(`run on ${new Date(summary.started_unix_ms).toLocaleString('en-GB')}`);
  return element('footer', { class: 'origin' }, element('h2', {}, 'Where these figures come from'),
    element('ul', {}, facts.filter((fact) => fact).map((fact) => element('li', {}, fact))),
    element('p', {}, `? rests on fewer than ${summary.enough_samples} samples: the 95 % interval spans more than a factor of three. ` +
      'Hover a cost for its interval.'));
}

