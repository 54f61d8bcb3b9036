// The flame graph: callers above, callees below, as wide as their share of the time.

const FRAME_HEIGHT = 22;
const NARROWEST = 1.5;

const flameTree = (() => {
  const children = flame.parent.map(() => []);
  flame.parent.forEach((parent, node) => node > 0 && children[parent].push(node));
  const depth = new Uint32Array(flame.parent.length);
  const start = new Float64Array(flame.parent.length);
  const own = Float64Array.from(flame.cycles);
  for (let node = 0; node < flame.parent.length; node += 1) {
    // Callers stand before callees, so this node's place is known.
    children[node].sort((a, b) => flame.cycles[b] - flame.cycles[a]);
    let next = start[node];
    for (const child of children[node]) {
      depth[child] = depth[node] + 1;
      start[child] = next;
      next += flame.cycles[child];
      own[node] -= flame.cycles[child];
    }
  }
  return { children, depth, start, own };
})();

const frameName = (node) => strings[flame.name[node]];

// Where stacks begin to differ: what is above is the same in nearly all of them.
function trunk() {
  let node = 0;
  for (;;) {
    const child = flameTree.children[node].find((one) => flame.cycles[one] >= 0.9 * flame.cycles[0]);
    if (child === undefined) return node;
    node = child;
  }
}

// Hues that stay apart and never look like "hot" or "cold".
const moduleHues = (() => {
  const hues = new Map();
  const spread = [62, 225, 150, 300, 95, 250, 20, 180, 340, 120];
  flame.cycles.map((cycles, node) => [flameTree.own[node], flame.module[node]])
    .sort((a, b) => b[0] - a[0])
    .forEach(([, module]) => hues.has(module) || hues.set(module, spread[hues.size % spread.length]));
  return hues;
})();

function frameCpi(node) {
  const row = flame.function[node];
  if (row === null || functions.own.samples[row] < summary.enough_samples) return null;
  return each(functions.own, row, functions.instructions[row])?.cycles ?? null;
}

// From 0 (four instructions a cycle) to 1 (eight cycles an instruction).
function cpiHeat(cpi) {
  return Math.min(1, Math.max(0, (Math.log2(cpi) + 2) / 5));
}

class FlameGraph {
  // A small one begins at `root` and shows no more than `levels` below it.
  constructor({ root = 0, levels = Infinity, isSmall = false } = {}) {
    Object.assign(this, { root, focused: root, word: '', byCpi: false, levels, isSmall, frames: new Map() });
    this.top = isSmall ? flameTree.depth[root] : 0;
    this.area = element('div', { class: 'flame', role: 'group', 'aria-label': 'Flame graph: callers above callees' });
    this.facts = element('p', { class: 'flame-facts' });
    this.area.addEventListener('click', (event) => this.on(event, (node) => this.zoom(node)));
    this.area.addEventListener('mouseover', (event) => this.on(event, (node) => this.explain(node)));
    this.area.addEventListener('focusin', (event) => this.on(event, (node) => this.explain(node)));
    this.area.addEventListener('mouseleave', () => this.explain(this.root));
    this.area.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.area);
    this.explain(0);
  }

  on(event, act) {
    const frame = event.target.closest('.frame');
    if (frame) act(Number(frame.dataset.node));
  }

  zoom(node) {
    this.root = node;
    this.focused = node;
    this.draw();
    this.explain(node);
    tell(`${frameName(node)}: ${percent(flame.cycles[node] / flame.cycles[0])}`);
  }

  highlight(word) {
    this.word = word.trim().toLowerCase();
    this.draw();
    this.explain(this.root);
  }

  matches(node) {
    return this.word !== '' && frameName(node).toLowerCase().includes(this.word);
  }

  // Share of the time below any match, each counted once.
  matchedShare() {
    let matched = 0;
    const visit = [0];
    while (visit.length > 0) {
      const node = visit.pop();
      if (this.matches(node)) matched += flame.cycles[node];
      else visit.push(...flameTree.children[node]);
    }
    return matched / flame.cycles[0];
  }

  draw() {
    const width = this.area.clientWidth;
    if (!width || flame.cycles.length === 0 || !flame.cycles[0]) return;
    const { start, depth, children } = flameTree;
    const scale = width / flame.cycles[this.root];
    const seen = new Set();
    let lowest = depth[this.root];
    for (let node = flame.parent[this.root], last = this.root; last !== 0 && !this.isSmall; last = node, node = flame.parent[node]) {
      seen.add(node);
      this.place(node, 0, width, true);
    }
    const visit = [this.root];
    while (visit.length > 0) {
      const node = visit.pop();
      const wide = flame.cycles[node] * scale;
      if (wide < NARROWEST || depth[node] - this.top > this.levels) continue;
      seen.add(node);
      lowest = Math.max(lowest, depth[node]);
      this.place(node, (start[node] - start[this.root]) * scale, wide, false);
      visit.push(...children[node]);
    }
    for (const [node, frame] of this.frames) {
      if (!seen.has(node)) {
        frame.remove();
        this.frames.delete(node);
      }
    }
    this.area.style.height = `${(lowest + 1 - this.top) * FRAME_HEIGHT}px`;
    if (!seen.has(this.focused)) this.focused = this.root;
    this.frames.get(this.focused).tabIndex = 0;
  }

  place(node, left, wide, isAbove) {
    let frame = this.frames.get(node);
    if (!frame) {
      frame = element('div', { class: 'frame', role: 'button', 'data-node': node, tabindex: -1,
        '--hue': moduleHues.get(flame.module[node]) ?? 0 }, element('span', {}, frameName(node)));
      frame.setAttribute('aria-label', `${frameName(node)}, ${percent(flame.cycles[node] / flame.cycles[0])} of the time`);
      this.frames.set(node, frame);
      this.area.append(frame);
    }
    const cpi = this.byCpi ? frameCpi(node) : null;
    frame.style.top = `${(flameTree.depth[node] - this.top) * FRAME_HEIGHT}px`;
    frame.style.left = `${left}px`;
    frame.style.width = `${Math.max(1, wide - 1)}px`;
    frame.style.setProperty('--cpi', cpi === null ? 0 : cpiHeat(cpi).toFixed(3));
    frame.style.setProperty('--tint', `${(node * 37) % 7}`);
    const is = (name, holds) => frame.classList.toggle(name, holds);
    is('narrow', wide < 34);
    is('above', isAbove);
    is('root', node === 0);
    is('by-cpi', this.byCpi && cpi !== null);
    is('no-cpi', this.byCpi && cpi === null);
    is('match', this.matches(node));
    is('other', this.word !== '' && !this.matches(node));
  }

  explain(node) {
    if (this.isSmall) return;
    const facts = [percent(flame.cycles[node] / flame.cycles[0]) + (node ? ' with callees' : ' of the time')];
    if (node) facts.push(`${percent(flameTree.own[node] / flame.cycles[0])} here by itself`);
    const row = flame.function[node];
    if (row !== null && isCounted) facts.push(`CPI ${cpiText(functions.own, row, functions.instructions[row])}`);
    if (node && flame.module[node]) facts.push(fileName(strings[flame.module[node]]));
    if (this.word && node === this.root) facts.push(`search matches ${percent(this.matchedShare())}`);
    const name = row === null ? element('b', {}, frameName(node))
      : element('a', { href: functionLink(row) }, frameName(node));
    this.facts.replaceChildren(name, ` ${facts.join(' · ')}`);
  }

  key(event) {
    const { children, depth } = flameTree;
    const node = this.focused;
    const siblings = node === 0 ? [0] : children[flame.parent[node]];
    const next = {
      ArrowUp: () => flame.parent[node],
      ArrowDown: () => children[node][0],
      ArrowLeft: () => siblings[siblings.indexOf(node) - 1],
      ArrowRight: () => siblings[siblings.indexOf(node) + 1],
      Home: () => 0,
    }[event.key];
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.zoom(node);
      this.frames.get(node)?.focus();
    } else if (event.key === 'Escape') {
      this.zoom(0);
      this.frames.get(0)?.focus();
    } else if (next) {
      event.preventDefault();
      const to = next();
      if (to === undefined || !this.frames.has(to)) return;
      this.frames.get(node).tabIndex = -1;
      this.focused = to;
      this.frames.get(to).tabIndex = 0;
      this.frames.get(to).focus();
    }
  }
}

function flameView() {
  const graph = new FlameGraph();
  const choice = (label, byCpi) => element('button', { type: 'button', 'aria-pressed': String(graph.byCpi === byCpi),
    click: (event) => {
      graph.byCpi = byCpi;
      for (const button of event.target.parentNode.children) {
        button.setAttribute('aria-pressed', String(button === event.target));
      }
      legend.hidden = !byCpi;
      graph.draw();
    } }, label);
  const legend = element('span', { class: 'legend', hidden: true },
    '0.25', element('span', { class: 'ramp', 'aria-hidden': 'true' }), '8 cycles per instruction');
  const view = element('section', { class: 'card flame-view' },
    element('div', { class: 'tools' },
      element('span', { class: 'choices', role: 'group', 'aria-label': 'Colours' },
        choice('By module', false), isCounted ? choice('By CPI', true) : null),
      legend,
      element('button', { type: 'button', class: 'quiet', click: () => graph.zoom(0) }, 'Whole program')),
    graph.facts, graph.area,
    element('p', { class: 'note' }, 'Sampled call stacks, callers above callees. Click or Enter zooms, arrow keys move, ' +
      'Escape shows the whole program. Widths are shares of the sampled time in user mode.'));
  return { element: view, filter: (word) => graph.highlight(word) };
}

