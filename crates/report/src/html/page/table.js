// A table that is sorted by a click on a heading, filtered by a word, and scrolls through any number of rows.

const ROW_HEIGHT = 30;

// A column has a title, a hint, `value(row)` to sort by, `cell(row)` to show, and a width; one of names has
// `isName`. `link(row)` is where a row leads, `words(row)` what a search looks at, and `isFaint(row)` says that its
// figures rest on little.
function sortableTable({ label, number, columns, link, words, isFaint }) {
  const known = columns.filter((column) => {
    for (let row = 0; row < number; row += 1) if (column.value(row) !== null) return true;
    return number === 0;
  });
  const everything = Uint32Array.from({ length: number }, (_, row) => row);
  let [shown, sorted, descending] = [everything, null, true];

  const draw = (at) => {
    const row = shown[at];
    const cells = known.map((column) => {
      const shown = column.cell(row);
      const cell = element('td', { class: column.isName ? 'name' : 'number' });
      cell.append(shown);
      if (column.isName && typeof shown === 'string') cell.title = shown;
      return cell;
    });
    const to = link(row);
    return element('tr', { class: [to ? 'leads' : '', isFaint?.(row) ? 'faint' : ''].join(' '), click: (event) => {
      if (to && !event.target.closest('a') && !getSelection().toString()) location.hash = to;
    } }, cells);
  };

  const headings = known.map((column) => element('th',
    { scope: 'col', class: column.isName ? 'name' : 'number', 'aria-sort': 'none', title: column.hint },
    element('button', { type: 'button', click: () => sortBy(column) }, column.title)));
  const body = element('tbody');
  const table = element('table', { class: 'rows', 'aria-label': label },
    element('colgroup', {}, known.map((column) => element('col', { style: column.width ? `width:${column.width}` : null }))),
    element('thead', {}, element('tr', { 'aria-rowindex': 1 }, headings)), body);
  const scroller = element('div', { class: 'scroller', tabindex: 0, role: 'region', 'aria-label': label }, table);
  const rows = new Rows(scroller, body, ROW_HEIGHT, known.length, draw);
  const said = element('p', { class: 'rows-shown', role: 'status' });

  function show() {
    table.setAttribute('aria-rowcount', shown.length + 1);
    said.textContent = shown.length === number
      ? `${grouped(number)} ${label.toLowerCase()}`
      : `${grouped(shown.length)} of ${grouped(number)} ${label.toLowerCase()}`;
    rows.show(shown.length);
  }

  function sortBy(column) {
    descending = sorted === column ? !descending : !column.isName;
    sorted = column;
    order();
    scroller.scrollTop = 0;
    headings.forEach((heading, at) => {
      const direction = descending ? 'descending' : 'ascending';
      heading.setAttribute('aria-sort', known[at] === column ? direction : 'none');
    });
    show();
  }

  function order() {
    const values = Array.from(everything, sorted.value);
    const sign = descending ? -1 : 1;
    shown = shown.slice().sort((a, b) => {
      const [left, right] = [values[a], values[b]];
      // What is not known comes last either way.
      if (left === right) return a - b;
      if (left === null) return 1;
      if (right === null) return -1;
      return left < right ? -sign : sign;
    });
  }

  function filter(word) {
    const wanted = word.trim().toLowerCase();
    shown = wanted ? everything.filter((row) => words(row).toLowerCase().includes(wanted)) : everything;
    if (sorted) order();
    scroller.scrollTop = 0;
    show();
  }

  const start = known.find((column) => column.isStart);
  if (start) {
    sorted = start;
    headings[known.indexOf(start)].setAttribute('aria-sort', 'descending');
  }
  show();
  return { element: element('section', { class: 'table-view' }, said, scroller), filter };
}

// A figure with a bar of this length, as hot as its share of the whole is large.
function bar(length, text, part = length) {
  return element('span', { class: 'bar-cell', '--share': length, '--heat': heat(part) },
    element('span', { class: 'bar-text' }, text));
}

// 0 where little time goes, 1 where most does: small shares are told apart better than large ones.
function heat(part) {
  return Math.min(1, Math.sqrt(Math.max(0, part) * 1.6)).toFixed(3);
}

