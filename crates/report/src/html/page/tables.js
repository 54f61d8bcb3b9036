// The tables of functions and of loops.

const functionLink = (row, at) => `#function/${row}${at === undefined || at === null ? '' : `/${at}`}`;

function functionTable() {
  const { own } = functions;
    return sortableTable({
    label: 'Functions',
    number: functions.name.length,
    link: (row) => functionLink(row),
    isFaint: (row) => isSampled && own.samples[row] < summary.enough_samples,
    words: (row) => `${nameOf(row)} ${strings[functions.place[row]]}`,
    columns: [
      { title: 'Self', hint: `Share of the ${shareOf}, without callees`, width: '9.5rem', isStart: true,
        value: (row) => (isSampled ? own.cycles[row] : functions.instructions[row]),
        cell: (row) => bar(shareOfFunction(row), percent(shareOfFunction(row)) + mark(own.samples[row])) },
      totalColumn(functions.total, 'with callees'),
      { title: 'CPI', hint: 'Cycles per instruction', width: '5.5rem',
        value: (row) => each(own, row, functions.instructions[row])?.cycles ?? null,
        cell: (row) => withLimits(each(own, row, functions.instructions[row]), cpiText(own, row, functions.instructions[row])) },
      totalCpiColumn(functions.total),
      { title: 'Calls', hint: 'How often it was called, exactly', width: '7rem',
        value: (row) => functions.calls[row], cell: (row) => count(functions.calls[row]) },
      { title: 'Instr/call', hint: 'Instructions of a call, without callees', width: '7rem',
        value: (row) => perCall(row), cell: (row) => ratio(functions.instructions[row], functions.calls[row]) },
      { title: `${eachUnit} a call`, hint: 'Cost of a call, without callees', width: '7.5rem',
        value: (row) => each(own, row, functions.calls[row])?.cycles ?? null,
        cell: (row) => withLimits(each(own, row, functions.calls[row]), eachText(each(own, row, functions.calls[row]))) },
      { title: 'Samples', hint: 'Samples charged to it', width: '6rem',
        value: (row) => (isSampled ? own.samples[row] : null), cell: (row) => tenths(own.samples[row]) },
      { title: 'Function', isName: true, value: (row) => nameOf(row),
        cell: (row) => element('a', { href: functionLink(row), title: nameOf(row) }, nameOf(row)) },
      { title: 'Where', isName: true, width: '14rem', value: (row) => strings[functions.place[row]],
        cell: (row) => strings[functions.place[row]] },
    ],
  });
}

function totalColumn(total, what) {
  const value = isSampled ? total.cycles : total.instructions;
  const whole = isSampled ? summary.cycles : summary.instructions;
  return { title: 'Total', hint: `Share of the ${shareOf}, ${what}`, width: '9.5rem',
    value: (row) => value[row],
    cell: (row) => (value[row] === null ? UNKNOWN
      : bar(value[row] / whole, percent(value[row] / whole) + (isSampled ? mark(total.samples[row]) : ''))) };
}

function totalCpiColumn(total) {
  return { title: 'CPI, total', hint: 'Cycles per instruction, callees included', width: '6.5rem',
    value: (row) => total.cpi[row],
    cell: (row) => {
      if (total.cpi[row] === null) return UNKNOWN;
      const limits = total.cpi_low[row] === null ? null
        : `95 %: ${figure(total.cpi_low[row])}–${figure(total.cpi_high[row])} cycles`;
      return element('span', { title: limits }, figure(total.cpi[row]) + markEach(total.samples[row]));
    } };
}

function perCall(row) {
  const [executed, called] = [functions.instructions[row], functions.calls[row]];
  return executed === null || !called ? null : executed / called;
}

function withLimits(estimate, text) {
  return element('span', { title: limitsText(estimate) || null }, text);
}

const loopLink = (row) => functionLink(loops.function[row], loops.header[row]);
const loopShare = (row) => share(loops.own, row, loops.instructions[row]);

function loopTable() {
  const { own } = loops;
  const perRound = (row) => each(own, row, loops.iterations[row]);
  return sortableTable({
    label: 'Loops',
    number: loops.name.length,
    link: loopLink,
    isFaint: (row) => isSampled && own.samples[row] < summary.enough_samples,
    words: (row) => `${strings[loops.name[row]]} ${nameOf(loops.function[row])}`,
    columns: [
      { title: 'Self', hint: `Share of the ${shareOf}, without inner loops and callees`, width: '9.5rem', isStart: true,
        value: (row) => (isSampled ? own.cycles[row] : loops.instructions[row]),
        cell: (row) => bar(loopShare(row), percent(loopShare(row)) + mark(own.samples[row])) },
      totalColumn(loops.total, 'with inner loops and callees'),
      { title: 'CPI', hint: 'Cycles per instruction', width: '5.5rem',
        value: (row) => each(own, row, loops.instructions[row])?.cycles ?? null,
        cell: (row) => withLimits(each(own, row, loops.instructions[row]), cpiText(own, row, loops.instructions[row])) },
      totalCpiColumn(loops.total),
      { title: 'Entered', hint: 'How often, exactly', width: '7rem',
        value: (row) => loops.invocations[row], cell: (row) => count(loops.invocations[row]) },
      { title: 'Rounds each', hint: 'Rounds each time it was entered', width: '7.5rem',
        value: (row) => loops.iterations[row] / Math.max(1, loops.invocations[row]),
        cell: (row) => ratio(loops.iterations[row], loops.invocations[row]) },
      { title: `${eachUnit} a round`, hint: 'Cost of a round, without inner loops and callees', width: '8rem',
        value: (row) => perRound(row)?.cycles ?? null,
        cell: (row) => withLimits(perRound(row), eachText(perRound(row))) },
      { title: 'Depth', hint: '1 for an outermost loop', width: '5rem',
        value: (row) => loops.depth[row], cell: (row) => loops.depth[row] },
      { title: 'Loop', isName: true, value: (row) => strings[loops.name[row]],
        cell: (row) => element('a', { href: loopLink(row), title: strings[loops.name[row]] }, strings[loops.name[row]]) },
      { title: 'Function', isName: true, value: (row) => nameOf(loops.function[row]),
        cell: (row) => nameOf(loops.function[row]) },
    ],
  });
}

