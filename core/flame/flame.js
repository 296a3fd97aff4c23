// Implements the flame graph's zoom, search, keyboard control, and display of the selected frame.
//
// The SVG contains all data: attributes give the position and width of a frame, its title gives its
// name, module and figures. Frames are in depth-first order from the root, each before its callees.
// Names are only set as text.
(function () {
  'use strict';

  const SVG = 'http://www.w3.org/2000/svg';
  const XHTML = 'http://www.w3.org/1999/xhtml';
  const ROW = 18; // as in flame_page.cc
  const TOOLS_HEIGHT = 72; // height of the controls
  const PAD = 4;
  const MIN_TEXT_WIDTH = 24; // pixels; a name in a narrower frame is unreadable

  const root = document.querySelector('svg.flame');
  const canvas = root.querySelector('.frames');
  const head = root.querySelector('.head');
  const frames = Array.from(canvas.querySelectorAll('.f'), readFrame);
  const byElement = new Map(frames.map((frame) => [frame.element, frame]));
  const rows = parseFloat(canvas.getAttribute('height')) / ROW;
  let rootOnTop = root.classList.contains('icicle');
  let zoomed = frames[0];
  let current = frames[0];
  let letterWidth = 7; // pixels

  function readFrame(element, index) {
    const lines = element.querySelector('title').textContent.split('\n');
    return {
      element, index, name: lines[0], figures: lines.slice(1).join('   '),
      searchText: lines.slice(0, -1).join('\n'), text: element.querySelector('text'),
      x: parseFloat(element.getAttribute('x')), width: parseFloat(element.getAttribute('width')),
      y: parseFloat(element.getAttribute('y')), depth: 0, parent: null, children: [], end: 0,
    };
  }

  // Derives parents and children from the order and the depths.
  function linkFrames() {
    const path = [];
    for (const frame of frames) {
      frame.depth = Math.round(Math.abs(frame.y - frames[0].y) / ROW);
      path.length = frame.depth;
      frame.parent = path[frame.depth - 1] || null;
      if (frame.parent) frame.parent.children.push(frame);
      path.push(frame);
    }
    for (const frame of frames.slice().reverse()) {
      const last = frame.children[frame.children.length - 1];
      frame.end = last ? last.end : frame.index + 1;
    }
  }

  // --- drawing

  const isBelow = (frame, other) => frame.index >= other.index && frame.index < other.end;
  const isAbove = (frame, other) => frame !== other && isBelow(other, frame);

  function place(frame, pageWidth) {
    const above = isAbove(frame, zoomed);
    const isVisible = above || isBelow(frame, zoomed);
    frame.element.classList.toggle('out', !isVisible);
    frame.element.classList.toggle('above', above);
    if (!isVisible) return;
    frame.shownX = above ? 0 : (frame.x - zoomed.x) / zoomed.width * 100;
    frame.shownWidth = above ? 100 : frame.width / zoomed.width * 100;
    frame.element.setAttribute('x', frame.shownX + '%');
    frame.element.setAttribute('width', frame.shownWidth + '%');
    frame.element.setAttribute('y', (rootOnTop ? frame.depth : rows - 1 - frame.depth) * ROW);
    write(frame, pageWidth * frame.shownWidth / 100);
  }

  // Writes as much of the name as fits.
  function write(frame, pixels) {
    const capacity = Math.floor((pixels - 2 * PAD) / letterWidth);
    if (pixels >= MIN_TEXT_WIDTH && !frame.text) {
      frame.text = frame.element.appendChild(document.createElementNS(SVG, 'text'));
      frame.text.setAttribute('x', PAD);
      frame.text.setAttribute('y', 13);
    }
    if (!frame.text) return;
    const letters = Array.from(frame.name);
    const fits = letters.length <= capacity;
    const shortened = fits ? frame.name : letters.slice(0, capacity - 1).join('') + '…';
    frame.text.textContent = pixels < MIN_TEXT_WIDTH ? '' : shortened;
  }

  // Reads the page width once: reading it between changes would force a new layout each time.
  function draw() {
    const pageWidth = root.getBoundingClientRect().width;
    frames.forEach((frame) => place(frame, pageWidth));
    if (current.element.classList.contains('out')) select(zoomed, false);
  }

  function zoom(frame) {
    zoomed = frame;
    draw();
    select(frame, true);
  }

  function flip() {
    rootOnTop = !rootOnTop;
    flipButton.textContent = rootOnTop ? 'Flame' : 'Icicle';
    draw();
    show(current);
  }

  // --- one frame

  function showDetails(frame) {
    details.name.textContent = frame.name;
    details.figures.textContent = frame.figures;
  }

  // The tab key enters the graph at the frame that was focused last.
  function select(frame, takesFocus) {
    current.element.setAttribute('tabindex', '-1');
    current = frame;
    frame.element.setAttribute('tabindex', '0');
    showDetails(frame);
    if (!takesFocus) return;
    frame.element.focus({preventScroll: true});
    show(frame);
  }

  function show(frame) {
    const box = frame.element.firstElementChild.nextElementSibling.getBoundingClientRect();
    const top = head.getBoundingClientRect().bottom;
    if (top > box.top) window.scrollBy(0, box.top - top - ROW);
    const beyond = box.bottom - window.innerHeight;
    if (beyond > 0 && box.top >= top) window.scrollBy(0, beyond + ROW);
    keepHeadVisible();
  }

  // Returns the nearest frame of the same depth, to the left (-1) or right (1).
  function findSameDepth(frame, step) {
    for (let at = frame.index + step; at >= 0 && frames.length > at; at += step)
      if (frames[at].depth === frame.depth && isBelow(frames[at], zoomed)) return frames[at];
    return null;
  }

  function findWidest(list) {
    return list.reduce((best, frame) => (best && best.width >= frame.width ? best : frame), null);
  }

  function findChild(frame) {
    if (!isAbove(frame, zoomed)) return findWidest(frame.children);
    return frame.children.find((child) => isBelow(zoomed, child));
  }

  function findNeighbour(frame, key) {
    if (key === 'ArrowLeft') return findSameDepth(frame, -1);
    if (key === 'ArrowRight') return findSameDepth(frame, 1);
    return (key === 'ArrowDown') === rootOnTop ? findChild(frame) : frame.parent;
  }

  // --- search

  function parseExpression(text) {
    try {
      return new RegExp(text, 'i');
    } catch (error) {
      return null;
    }
  }

  // Sums the shares of matching frames; a match below another match is counted only once.
  function search() {
    const pattern = parseExpression(field.value);
    const isOn = pattern !== null && field.value !== '';
    let share = 0;
    let countedEnd = 0;
    root.classList.toggle('searching', isOn);
    for (const frame of frames) {
      const found = isOn && pattern.test(frame.searchText);
      frame.element.classList.toggle('hit', found);
      if (!found || countedEnd > frame.index) continue;
      share += frame.width;
      countedEnd = frame.end;
    }
    result.textContent = isOn ? share.toFixed(2) + ' %' : pattern ? '' : 'no regular expression';
  }

  function clear() {
    field.value = '';
    search();
  }

  // --- controls that are added to the head

  function make(space, parent, name, attributes, text) {
    const element = parent.appendChild(document.createElementNS(space, name));
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text) element.textContent = text;
    return element;
  }

  function button(text, title, action) {
    const element = make(XHTML, bar, 'button', {type: 'button', title}, text);
    element.addEventListener('click', action);
    return element;
  }

  function line(y) {
    return make(SVG, tools, 'text', {x: PAD, y, 'class': 'details'});
  }

  // The controls are between the head and the frames, which are moved down.
  const top = parseFloat(canvas.getAttribute('y'));
  const tools = make(SVG, head, 'g', {'class': 'tools', transform: 'translate(0,' + top + ')'});
  const barBox = {x: PAD, y: -4, width: '98%', height: 32};
  const bar = make(XHTML, make(SVG, tools, 'foreignObject', barBox), 'div', {'class': 'bar'});
  const field = make(XHTML, bar, 'input', {
    type: 'search', placeholder: 'Search  /', 'aria-label': 'Search by regular expression',
  });
  const flipButton = button(rootOnTop ? 'Flame' : 'Icicle', 'Turn upside down', flip);
  button('Reset', 'Show all (Escape)', () => { clear(); zoom(frames[0]); });
  const result = make(XHTML, bar, 'output', {title: 'Share of all that was found'});
  const details = {name: line(44), figures: line(61)};
  details.figures.setAttribute('class', 'details quiet');

  function reserveSpace() {
    const number = (part, name) => parseFloat(part.getAttribute(name));
    const add = (part, name) => part.setAttribute(name, number(part, name) + TOOLS_HEIGHT);
    for (const part of root.querySelectorAll('.below, .frames')) add(part, 'y');
    for (const part of [root, head.querySelector('.paper')]) add(part, 'height');
  }

  function measure() {
    const probe = make(SVG, frames[0].element, 'text', {}, 'M'.repeat(50));
    letterWidth = probe.getComputedTextLength() / 50 || letterWidth;
    probe.remove();
  }

  // Keeps the head visible.
  function keepHeadVisible() {
    const hidden = Math.max(0, -root.getBoundingClientRect().top);
    head.setAttribute('transform', 'translate(0,' + hidden + ')');
  }

  // --- events

  function onFrames(type, action) {
    canvas.addEventListener(type, (event) => {
      const frame = byElement.get(event.target.closest('.f'));
      if (frame) action(frame, event);
    });
  }

  onFrames('click', zoom);
  onFrames('mouseover', showDetails);
  onFrames('focusin', (frame) => select(frame, false));
  canvas.addEventListener('mouseleave', () => showDetails(current));
  onFrames('keydown', (frame, event) => {
    if (event.key === 'Enter') zoom(frame);
    else if (event.key.startsWith('Arrow')) select(findNeighbour(frame, event.key) || frame, true);
    else return;
    event.preventDefault();
  });
  field.addEventListener('input', search);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && event.target !== field) {
      field.focus();
      field.select();
      event.preventDefault();
    } else if (event.key === 'Escape') {
      if (event.target === field || field.value) clear();
      else zoom(frames[0]);
      if (event.target === field) current.element.focus({preventScroll: true});
    } else if (event.key === 'Enter' && event.target === field) {
      select(frames.find((frame) => frame.element.matches('.hit:not(.out)')) || current, true);
    }
  });
  window.addEventListener('resize', draw);
  window.addEventListener('scroll', keepHeadVisible);
  window.addEventListener('load', () => show(frames[0])); // in a tall graph, the root is out of view

  linkFrames();
  frames.forEach((frame) => frame.element.setAttribute('tabindex', '-1'));
  reserveSpace();
  measure();
  draw();
  select(frames[0], false);
  keepHeadVisible();
}());
