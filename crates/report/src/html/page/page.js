// The page as a whole: its views, the search, the colours, and the keys.

const VIEWS = [
  ['overview', 'Overview', overview],
  ['functions', 'Functions', functionTable],
  ['loops', 'Loops', loopTable],
  ['flame', 'Flame graph', flameView],
  ...(waiting.stack.length > 0 ? [['waiting', 'Waiting', waitingTable]] : []),
  ...(kernel.stack.length > 0 ? [['kernel', 'Kernel', kernelTable]] : []),
];

const main = document.getElementById('content');
const search = document.getElementById('search');
const made = new Map();
let current = null;

// Tables keep their order and place while another view is shown.
function viewNamed(name) {
  const make = VIEWS.find(([known]) => known === name)[2];
  if (!made.has(name)) made.set(name, make());
  return made.get(name);
}

function route() {
  const [name, row, at] = location.hash.slice(1).split('/');
  const isFunction = name === 'function' && Number(row) in functions.name;
  const shown = isFunction ? name : VIEWS.some(([known]) => known === name) ? name : 'overview';
  current = isFunction ? functionView(Number(row), at === undefined ? undefined : Number(at)) : viewNamed(shown);
  main.replaceChildren(current.element);
  main.dataset.view = shown;
  for (const link of document.querySelectorAll('#views a')) {
    if (link.hash === `#${shown}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const title = isFunction ? nameOf(Number(row)) : VIEWS.find(([known]) => known === shown)[1];
  document.title = `${title} · ${summary.command} · timewise`;
  current.filter?.(search.value);
  scrollTo(0, 0);
}

document.getElementById('views').append(...VIEWS.map(([name, title]) => element('a', { href: `#${name}` }, title)));

let searching = 0;
search.addEventListener('input', () => {
  clearTimeout(searching);
  searching = setTimeout(() => {
    // What can be searched is shown.
    if (!current.filter) location.hash = '#functions';
    else current.filter(search.value);
  }, 80);
});
search.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') main.querySelector('tbody a')?.click();
});

document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !event.target.closest('input') && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === 'Escape' && event.target === search) {
    search.value = '';
    search.dispatchEvent(new Event('input'));
    search.blur();
  }
});

const THEMES = [['', 'as the system', '◐'], ['light', 'light', '☀'], ['dark', 'dark', '☾']];
const themeButton = document.getElementById('theme');

function showTheme(name) {
  const [value, words, sign] = THEMES.find(([known]) => known === name) ?? THEMES[0];
  document.documentElement.dataset.theme = value;
  themeButton.textContent = sign;
  themeButton.setAttribute('aria-label', `Colours: ${words}`);
  themeButton.title = `Colours: ${words}`;
}

themeButton.addEventListener('click', () => {
  const now = THEMES.findIndex(([name]) => name === document.documentElement.dataset.theme);
  const [next] = THEMES[(now + 1) % THEMES.length];
  showTheme(next);
  // A page that was opened from a file may be refused a store.
  try { localStorage.setItem('timewise-theme', next); } catch { /* it is not kept, then */ }
});
try { showTheme(localStorage.getItem('timewise-theme') ?? ''); } catch { showTheme(''); }

addEventListener('hashchange', route);
route();
