// Implements a report's page: sorts and filters its rows, opens a row, supports the keyboard,
// copies rows.
//
// The document contains all data. The attributes of a row have its figures: data-v has the figures
// of the sides, the change as a fraction, the bounds of its interval and p, separated by commas;
// data-a and data-b have those of each run; data-g the number of its group. Names are only set as
// text.
(function () {
  'use strict';

  const INITIAL_ROWS = 60; // rows that are shown initially
  const MAX_OTHERS = 8;
  const table = document.getElementById('rows');
  if (!table) return;
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  const sides = table.dataset.sides.split('\t');
  const compares = sides.length > 1;
  const hasP = table.dataset.p === '1';
  const rows = Array.from(body.rows, readRow);
  let shown = rows;
  let all = rows.length <= INITIAL_ROWS;
  let open = null;

  const numbers = (text) => (text ? text.split(',').map((one) => (one === '' ? NaN : Number(one))) : []);

  function readRow(element, index) {
    const cells = element.cells;
    return {
      element, index, group: element.dataset.g, name: cells[0].textContent, metric: cells[1].textContent,
      cells, button: null, figures: null, panel: null,
    };
  }

  // Returns baseline, candidate, change, low, high, p and share of a row; for one side, value and share.
  function figures(row) {
    if (!row.figures) row.figures = numbers(row.element.dataset.v);
    return row.figures;
  }

  function make(parent, name, attributes, text) {
    const element = document.createElement(name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.appendChild(element);
    return element;
  }

  // --- selection and order of rows

  const filters = {};

  function matchesFilters(row) {
    if (filters.insignificant && !filters.insignificant.checked && row.element.classList.contains('not')) return false;
    if (filters.metric.value && row.metric !== filters.metric.value) return false;
    if (filters.group.value && row.group !== filters.group.value) return false;
    if (filters.p && filters.p.value !== '' && !(Number(filters.p.value) >= figures(row)[5])) return false;
    const text = filters.text.value.toLowerCase();
    return !text || (row.name + ' ' + row.metric).toLowerCase().includes(text);
  }

  function update() {
    close(false);
    shown = rows.filter(matchesFilters);
    const visible = new Set(all ? shown : shown.slice(0, INITIAL_ROWS));
    for (const row of rows) row.element.hidden = !visible.has(row);
    const hiddenCount = shown.length - visible.size;
    status.textContent = shown.length + ' of ' + rows.length + ' rows' + (hiddenCount ? ', the first ' + INITIAL_ROWS + ' shown' : '');
    more.hidden = hiddenCount === 0;
    more.textContent = 'Show all ' + shown.length + ' rows';
    addRowButtons(visible);
  }

  // Returns the sort key of a cell: a number if the column has numbers.
  function getSortKey(row, column) {
    const key = heads[column].dataset.v;
    if (key === undefined) return row.cells[column].textContent.toLowerCase();
    if (key === 'rank') return row.index;
    const number = figures(row)[Number(key)];
    return heads[column].dataset.size === '1' ? Math.abs(number) : number;
  }

  const isMissing = (one) => typeof one === 'number' && isNaN(one);

  function sort(column) {
    const previous = heads[column].getAttribute('aria-sort');
    const first = heads[column].dataset.first;
    const direction = previous === 'none' ? first : previous === 'ascending' ? 'descending' : 'ascending';
    const sign = direction === 'ascending' ? 1 : -1;
    for (const head of heads) if (head.hasAttribute('aria-sort')) head.setAttribute('aria-sort', 'none');
    heads[column].setAttribute('aria-sort', direction);
    rows.sort((one, other) => {
      const a = getSortKey(one, column);
      const b = getSortKey(other, column);
      if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b) || one.index - other.index;
      return a === b ? one.index - other.index : sign * (a > b ? 1 : -1);
    });
    close(false);
    for (const row of rows) body.appendChild(row.element);
    update();
  }

  // --- one row

  function addRowButtons(visible) {
    for (const row of visible) {
      if (row.button) continue;
      const cell = row.cells[0];
      cell.textContent = '';
      row.button = make(cell, 'button', {type: 'button', 'aria-expanded': 'false'}, row.name);
      row.button.addEventListener('click', () => toggle(row));
    }
  }

  function toggle(row) {
    const isOpen = open === row;
    close(false);
    if (!isOpen) openRow(row);
  }

  function close(takesFocus) {
    if (!open) return;
    const row = open;
    open = null;
    row.panel.remove();
    row.panel = null;
    row.element.classList.remove('open');
    row.button.setAttribute('aria-expanded', 'false');
    if (takesFocus) row.button.focus();
  }

  function openRow(row) {
    open = row;
    row.button.setAttribute('aria-expanded', 'true');
    row.element.classList.add('open');
    row.panel = make(null, 'tr', {'class': 'panel'});
    row.element.after(row.panel);
    const inside = make(make(row.panel, 'td', {colspan: heads.length}), 'div', {'class': 'inside'});
    addRuns(make(inside, 'div'), row);
    addOthers(make(inside, 'div'), row);
    addStacks(make(inside, 'div', {'class': 'full'}), row);
  }

  // Shows and opens a row, even if a filter hides it.
  function revealRow(row) {
    if (filters.insignificant && row.element.classList.contains('not')) filters.insignificant.checked = true;
    for (const field of Object.values(filters)) if (field && !matchesFilters(row)) field.value = '';
    all = true;
    update();
    openRow(row);
    row.button.focus();
  }

  function addOthers(parent, row) {
    const others = rows.filter((one) => one.group === row.group && one !== row).sort((a, b) => a.index - b.index);
    make(parent, 'h3', {}, others.length ? 'Other rows of this group' : 'This group has no other row');
    const list = make(parent, 'ul', {'class': 'others'});
    for (const one of others.slice(0, MAX_OTHERS)) {
      const text = compares ? getChangeText(one) : one.cells[2].textContent;
      const button = make(make(list, 'li'), 'button', {type: 'button'}, one.metric + '  ' + text);
      button.addEventListener('click', () => revealRow(one));
    }
    if (others.length > MAX_OTHERS) make(list, 'li', {'class': 'quiet'}, 'and ' + (others.length - MAX_OTHERS) + ' more');
  }

  const getChangeText = (row) => row.element.querySelector('.change').textContent;

  // Copies the group's flame graphs into the row; the originals remain below for readers of the
  // whole page.
  function addStacks(parent, row) {
    const source = document.querySelector('article[data-g="' + row.group + '"]');
    if (!source) {
      make(parent, 'p', {'class': 'quiet'}, 'There are no call stacks of this group on this page.');
      return;
    }
    make(parent, 'h3', {}, 'Call stacks of this group');
    for (const figure of source.querySelectorAll('figure')) {
      const copied = parent.appendChild(figure.cloneNode(true));
      for (const one of copied.querySelectorAll('[role=region]'))
        one.setAttribute('aria-label', one.getAttribute('aria-label') + ', in the opened row');
    }
  }

  function addRuns(parent, row) {
    make(parent, 'h3', {}, row.metric + ' of ' + row.name);
    const runs = [row.element.dataset.a, row.element.dataset.b].slice(0, sides.length)
      .map((text) => numbers(text).filter((one) => !isNaN(one)));
    let description = dots.add(parent, runs, sides, compares ? figures(row).slice(2, 5) : [], row.element.dataset.u);
    if (!description) description = sides.map((side, at) => side + ' ' + row.cells[2 + at].textContent).join(', ') + ', of one run.';
    make(parent, 'p', {'class': 'quiet'}, description);
  }

  // --- copying

  // Protects against spreadsheets, which evaluate text that begins like a formula.
  function quoteField(text) {
    const safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
    return /[",\n\r]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
  }

  function makeCsv() {
    const names = compares
      ? ['group', 'metric', 'baseline', 'candidate', 'change', 'low', 'high', 'p', 'share', 'baseline_runs', 'candidate_runs']
      : ['group', 'metric', 'value', 'share', 'runs'];
    const lines = shown.map((row) => {
      const many = compares ? 7 : 2;
      const own = Array.from({length: many}, (_, at) => figures(row)[at]).map((one) => (one === undefined || isNaN(one) ? '' : String(one)));
      const runs = [row.element.dataset.a, row.element.dataset.b].slice(0, sides.length).map((one) => (one || '').replace(/,/g, ' '));
      return [quoteField(row.name), quoteField(row.metric), ...own, ...runs].join(',');
    });
    return [names.join(','), ...lines].join('\n') + '\n';
  }

  async function copy() {
    const text = makeCsv();
    try {
      await navigator.clipboard.writeText(text);
    } catch (error) {
      const area = make(document.body, 'textarea', {'aria-label': 'CSV'}, text);
      area.select();
      document.execCommand('copy');
      area.remove();
      copyButton.focus();
    }
    status.textContent = shown.length + ' rows copied as CSV';
  }

  // --- the flame graphs: a click enlarges a frame, a second click resets the graph

  function zoom(picture, target) {
    const frames = Array.from(picture.querySelectorAll('.f'));
    for (const one of frames) {
      if (!one.dataset.x) [one.dataset.x, one.dataset.w] = [one.getAttribute('x'), one.getAttribute('width')];
    }
    const x = (one) => parseFloat(one.dataset.x);
    const w = (one) => parseFloat(one.dataset.w);
    const isReset = picture.dataset.zoomed === target.dataset.x + target.getAttribute('y');
    const [from, shownWidth] = isReset ? [0, 100] : [x(target), w(target)];
    picture.dataset.zoomed = isReset ? '' : target.dataset.x + target.getAttribute('y');
    for (const one of frames) {
      const left = Math.max(0, (x(one) - from) / shownWidth * 100);
      const right = Math.min(100, (x(one) + w(one) - from) / shownWidth * 100);
      one.setAttribute('x', left + '%');
      one.setAttribute('width', Math.max(0, right - left) + '%');
      one.classList.toggle('out', 0.001 > right - left);
      addMissingLabel(one);
    }
  }

  // Adds a name to a frame that has become wide enough.
  function addMissingLabel(frame) {
    if (frame.querySelector('text') || 30 > frame.getBoundingClientRect().width) return;
    const name = frame.querySelector('title').textContent.split('\n')[0];
    dots.draw(frame, 'text', {x: 4, y: 13}, name);
  }

  document.addEventListener('click', (event) => {
    const frame = event.target.closest('.frames .f');
    if (frame) zoom(frame.closest('.frames'), frame);
  });

  // --- controls that are added to the document

  const tools = document.getElementById('tools');
  function add(label, name, attributes) {
    return make(make(tools, 'label', {}, label), name, attributes);
  }

  function addChoices(select, pairs) {
    make(select, 'option', {value: ''}, 'all');
    for (const [key, text] of pairs) make(select, 'option', {value: key}, text);
  }

  const sortedEntries = (map) => Array.from(map).sort((a, b) => (a[1] > b[1] ? 1 : a[1] === b[1] ? 0 : -1));
  filters.text = add('Search  /', 'input', {type: 'search'});
  filters.metric = add('Metric', 'select', {});
  addChoices(filters.metric, sortedEntries(new Map(rows.map((row) => [row.metric, row.metric]))));
  filters.group = add('Group', 'select', {});
  addChoices(filters.group, sortedEntries(new Map(rows.map((row) => [row.group, row.name]))));
  filters.p = hasP ? add('p at most', 'input', {type: 'number', min: 0, max: 1, step: 'any'}) : null;
  // Rows that are not significant are behind a switch, unless there are no others.
  const isSignificant = (row) => !row.element.classList.contains('not');
  filters.insignificant = hasP ? add('Not significant', 'input', {type: 'checkbox'}) : null;
  if (filters.insignificant) filters.insignificant.checked = !rows.some(isSignificant);
  const copyButton = make(tools, 'button', {type: 'button'}, 'Copy as CSV');
  const status = make(null, 'p', {'class': 'quiet', role: 'status'});
  tools.after(status);
  const more = make(null, 'button', {type: 'button', 'class': 'more'});
  table.parentElement.after(more);
  tools.hidden = false;

  for (const head of heads) {
    if (head.dataset.first === undefined) continue;
    const text = head.textContent;
    head.textContent = '';
    head.setAttribute('aria-sort', head.dataset.now || 'none');
    make(head, 'button', {type: 'button'}, text).addEventListener('click', () => sort(heads.indexOf(head)));
  }
  for (const field of Object.values(filters)) if (field) field.addEventListener('input', update);
  copyButton.addEventListener('click', copy);
  more.addEventListener('click', () => { all = true; update(); });

  // --- keys

  function moveFocus(row, key) {
    const visible = shown.filter((one) => !one.element.hidden);
    const at = visible.indexOf(row);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: visible.length - 1}[key];
    if (to === undefined || !visible[to]) return false;
    visible[to].button.focus();
    visible[to].element.scrollIntoView({block: 'nearest'});
    return true;
  }

  body.addEventListener('keydown', (event) => {
    const row = rows.find((one) => one.button === event.target);
    if (row && moveFocus(row, event.key)) event.preventDefault();
  });
  document.addEventListener('keydown', (event) => {
    const types = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === '/' && !types) {
      filters.text.focus();
      filters.text.select();
      event.preventDefault();
    } else if (event.key === 'Escape') {
      if (event.target === filters.text && filters.text.value) {
        filters.text.value = '';
        update();
      } else close(true);
    } else if (event.key === 'Enter' && event.target === filters.text && shown.length) {
      shown[0].button.focus();
    }
  });

  update();
}());
