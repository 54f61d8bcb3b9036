// Rows of a table of any length: only those in view are elements.

const BEYOND = 12;

class Rows {
  // Keeps `body` filled with the rows that `scroller` shows; each is `height` pixels high.
  constructor(scroller, body, height, columns, draw) {
    Object.assign(this, { scroller, body, height, draw, number: 0, first: 0, last: 0 });
    const pad = () => element('tr', { class: 'pad', 'aria-hidden': 'true' }, element('td', { colspan: columns }));
    [this.above, this.below] = [pad(), pad()];
    scroller.addEventListener('scroll', () => this.schedule(), { passive: true });
    this.watch = new ResizeObserver(() => this.schedule());
    this.watch.observe(scroller);
  }

  // Shows other rows, or the same ones anew.
  show(number) {
    this.number = number;
    this.update(true);
  }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.update(false);
    });
  }

  update(anew) {
    const top = Math.max(0, this.scroller.scrollTop);
    const room = this.scroller.clientHeight || 600;
    const first = Math.max(0, Math.floor(top / this.height) - BEYOND);
    const last = Math.min(this.number, Math.ceil((top + room) / this.height) + BEYOND);
    if (!anew && first === this.first && last === this.last) return;
    [this.first, this.last] = [Math.min(first, last), last];
    // A row that is focused keeps its focus when it is drawn anew.
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest('tr') : null;
    const focusedRow = focused?.dataset.row;
    this.above.firstChild.style.height = `${this.first * this.height}px`;
    this.below.firstChild.style.height = `${(this.number - last) * this.height}px`;
    const drawn = [];
    for (let row = this.first; row < last; row += 1) {
      const tr = this.draw(row);
      tr.dataset.row = row;
      tr.setAttribute('aria-rowindex', row + 2);
      drawn.push(tr);
    }
    this.body.replaceChildren(this.above, ...drawn, this.below);
    if (focusedRow !== undefined) {
      this.body.querySelector(`tr[data-row="${focusedRow}"] a`)?.focus({ preventScroll: true });
    }
  }

  // Scrolls so that a row is in view, in the middle if it was not.
  reveal(row) {
    const { scroller, height } = this;
    const [top, room] = [scroller.scrollTop, scroller.clientHeight];
    if (row * height < top || (row + 2) * height > top + room) {
      scroller.scrollTop = Math.max(0, row * height - room / 2);
    }
    this.update(true);
  }
}

