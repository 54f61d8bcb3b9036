// The tables of call stacks that lead to the kernel: to wait, or to have it do something.

function waitingTable() {
  const { duration_ns: durations, share: shares, threads, times: often } = waiting;
  return stackTable('Waiting', waiting, [
    { title: 'Time', hint: `Of all threads together, ${waiting.how}`, width: '7rem', isStart: true,
      value: (row) => durations[row], cell: (row) => duration(durations[row]) },
    { title: 'Share', hint: 'Of the time of all threads', width: '9.5rem',
      value: (row) => shares[row], cell: (row) => bar(shares[row], percent(shares[row])) },
    { title: 'Threads', hint: 'How many waited so', width: '6rem', value: (row) => threads[row], cell: (row) => grouped(threads[row]) },
    { title: 'Times', hint: 'How often they did', width: '6rem', value: (row) => often[row],
      cell: (row) => (often[row] === null ? UNKNOWN : count(Math.round(often[row]))) },
    { title: 'Each', hint: 'How long at a time', width: '7rem', value: (row) => (often[row] ? durations[row] / often[row] : null),
      cell: (row) => (often[row] ? duration(durations[row] / often[row]) : UNKNOWN) },
  ]);
}

function kernelTable() {
  const { share: shares, samples } = kernel;
  return stackTable('Kernel', kernel, [
    { title: 'Share', hint: 'Of all CPU time, the kernel’s included', width: '9.5rem', isStart: true,
      value: (row) => shares[row], cell: (row) => bar(shares[row], percent(shares[row]) + mark(samples[row])) },
    { title: 'Samples', hint: 'Samples of the kernel', width: '6rem', value: (row) => samples[row], cell: (row) => tenths(samples[row]) },
  ]);
}

function stackTable(label, { function: called, caller, place, stack }, columns) {
  const text = (at) => (at === null ? UNKNOWN : strings[at]);
  const name = (title, hint, at, width) =>
    ({ title, hint, isName: true, width, value: (row) => (at[row] === null ? null : strings[at[row]]), cell: (row) => text(at[row]) });
  return sortableTable({
    label: `Call stacks · ${label.toLowerCase()}`,
    number: stack.length,
    link: () => null,
    words: (row) => [strings[stack[row]], strings[place[row]]].join(' '),
    columns: [...columns,
      name('Function', 'Called the kernel, or the kernel was called for it', called, '12rem'),
      name('Called by', 'The function that called it', caller, '12rem'),
      name('Where', 'Source line of that call, or the module', place, '11rem'),
      name('Call stack', 'Innermost first', stack)],
  });
}
