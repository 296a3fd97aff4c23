// What a flame graph does: zoom, search, keyboard, figures of the frame under the pointer.
//
// The picture is its own data: a frame's place and width are its attributes, its title is its name,
// its module and its figures, and frames stand in the order of a walk from the root, each before
// those that it called. Names are only ever set as text.
(function () {
  'use strict';

  const SVG = 'http://www.w3.org/2000/svg';
  const XHTML = 'http://www.w3.org/1999/xhtml';
  const ROW = 18; // as in flame_page.cc
  const TOOLS = 72; // height of what is added to the head
  const PAD = 4;
  const LEAST_TEXT = 24; // pixels of a frame in which a name begins to make sense

  const root = document.querySelector('svg.flame');
  const canvas = root.querySelector('.frames');
  const head = root.querySelector('.head');
  const frames = Array.from(canvas.querySelectorAll('.f'), readFrame);
  const byElement = new Map(frames.map((frame) => [frame.element, frame]));
  const rows = parseFloat(canvas.getAttribute('height')) / ROW;
  let rootOnTop = root.classList.contains('icicle');
  let zoomed = frames[0];
  let current = frames[0];
  let letter = 7; // pixels

  function readFrame(element, index) {
    const lines = element.querySelector('title').textContent.split('\n');
    return {
      element, index, name: lines[0], figures: lines.slice(1).join('   '),
      searched: lines.slice(0, -1).join('\n'), text: element.querySelector('text'),
      x: parseFloat(element.getAttribute('x')), width: parseFloat(element.getAttribute('width')),
      y: parseFloat(element.getAttribute('y')), depth: 0, parent: null, children: [], end: 0,
    };
  }

  // Who called whom follows from the order and the depths.
  function link() {
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

  function place(frame, wide) {
    const above = isAbove(frame, zoomed);
    const seen = above || isBelow(frame, zoomed);
    frame.element.classList.toggle('out', !seen);
    frame.element.classList.toggle('above', above);
    if (!seen) return;
    frame.shownX = above ? 0 : (frame.x - zoomed.x) / zoomed.width * 100;
    frame.shownWidth = above ? 100 : frame.width / zoomed.width * 100;
    frame.element.setAttribute('x', frame.shownX + '%');
    frame.element.setAttribute('width', frame.shownWidth + '%');
    frame.element.setAttribute('y', (rootOnTop ? frame.depth : rows - 1 - frame.depth) * ROW);
    write(frame, wide * frame.shownWidth / 100);
  }

  // As much of the name as fits.
  function write(frame, pixels) {
    const room = Math.floor((pixels - 2 * PAD) / letter);
    if (pixels >= LEAST_TEXT && !frame.text) {
      frame.text = frame.element.appendChild(document.createElementNS(SVG, 'text'));
      frame.text.setAttribute('x', PAD);
      frame.text.setAttribute('y', 13);
    }
    if (!frame.text) return;
    const letters = Array.from(frame.name);
    const fits = letters.length <= room;
    const cut = fits ? frame.name : letters.slice(0, room - 1).join('') + '…';
    frame.text.textContent = pixels < LEAST_TEXT ? '' : cut;
  }

  // Asked for once: between changes each question lays out the whole page anew.
  function draw() {
    const wide = root.getBoundingClientRect().width;
    frames.forEach((frame) => place(frame, wide));
    if (current.element.classList.contains('out')) select(zoomed, false);
  }

  function zoom(frame) {
    zoomed = frame;
    draw();
    select(frame, true);
  }

  function turn() {
    rootOnTop = !rootOnTop;
    turner.textContent = rootOnTop ? 'Flame' : 'Icicle';
    draw();
    show(current);
  }

  // --- one frame

  function tell(frame) {
    told.name.textContent = frame.name;
    told.figures.textContent = frame.figures;
  }

  // The tab key enters the picture at the frame that was left.
  function select(frame, takesFocus) {
    current.element.setAttribute('tabindex', '-1');
    current = frame;
    frame.element.setAttribute('tabindex', '0');
    tell(frame);
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
    follow();
  }

  // The nearest one of the same depth, to the left (-1) or right (1).
  function beside(frame, step) {
    for (let at = frame.index + step; at >= 0 && frames.length > at; at += step)
      if (frames[at].depth === frame.depth && isBelow(frames[at], zoomed)) return frames[at];
    return null;
  }

  function widest(list) {
    return list.reduce((best, frame) => (best && best.width >= frame.width ? best : frame), null);
  }

  function inward(frame) {
    if (!isAbove(frame, zoomed)) return widest(frame.children);
    return frame.children.find((child) => isBelow(zoomed, child));
  }

  function neighbour(frame, key) {
    if (key === 'ArrowLeft') return beside(frame, -1);
    if (key === 'ArrowRight') return beside(frame, 1);
    return (key === 'ArrowDown') === rootOnTop ? inward(frame) : frame.parent;
  }

  // --- search

  function expression(text) {
    try {
      return new RegExp(text, 'i');
    } catch (error) {
      return null;
    }
  }

  // Of the whole picture; what is found below something that was found counts once.
  function search() {
    const wanted = expression(field.value);
    const isOn = wanted !== null && field.value !== '';
    let share = 0;
    let counted = 0;
    root.classList.toggle('searching', isOn);
    for (const frame of frames) {
      const found = isOn && wanted.test(frame.searched);
      frame.element.classList.toggle('hit', found);
      if (!found || counted > frame.index) continue;
      share += frame.width;
      counted = frame.end;
    }
    result.textContent = isOn ? share.toFixed(2) + ' %' : wanted ? '' : 'no regular expression';
  }

  function clear() {
    field.value = '';
    search();
  }

  // --- what is added to the head

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
    return make(SVG, tools, 'text', {x: PAD, y, 'class': 'told'});
  }

  // Tools stand between the head and the frames, which move down for them.
  const top = parseFloat(canvas.getAttribute('y'));
  const tools = make(SVG, head, 'g', {'class': 'tools', transform: 'translate(0,' + top + ')'});
  const room = {x: PAD, y: -4, width: '98%', height: 32};
  const bar = make(XHTML, make(SVG, tools, 'foreignObject', room), 'div', {'class': 'bar'});
  const field = make(XHTML, bar, 'input', {
    type: 'search', placeholder: 'Search  /', 'aria-label': 'Search by regular expression',
  });
  const turner = button(rootOnTop ? 'Flame' : 'Icicle', 'Turn upside down', turn);
  button('Reset', 'Show all (Escape)', () => { clear(); zoom(frames[0]); });
  const result = make(XHTML, bar, 'output', {title: 'Share of all that was found'});
  const told = {name: line(44), figures: line(61)};
  told.figures.setAttribute('class', 'told quiet');

  function makeRoom() {
    const number = (part, name) => parseFloat(part.getAttribute(name));
    const add = (part, name) => part.setAttribute(name, number(part, name) + TOOLS);
    for (const part of root.querySelectorAll('.below, .frames')) add(part, 'y');
    for (const part of [root, head.querySelector('.paper')]) add(part, 'height');
  }

  function measure() {
    const probe = make(SVG, frames[0].element, 'text', {}, 'M'.repeat(50));
    letter = probe.getComputedTextLength() / 50 || letter;
    probe.remove();
  }

  // The head stays in sight.
  function follow() {
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
  onFrames('mouseover', tell);
  onFrames('focusin', (frame) => select(frame, false));
  canvas.addEventListener('mouseleave', () => tell(current));
  onFrames('keydown', (frame, event) => {
    if (event.key === 'Enter') zoom(frame);
    else if (event.key.startsWith('Arrow')) select(neighbour(frame, event.key) || frame, true);
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
  window.addEventListener('scroll', follow);
  window.addEventListener('load', () => show(frames[0])); // of a high picture it is out of sight

  link();
  frames.forEach((frame) => frame.element.setAttribute('tabindex', '-1'));
  makeRoom();
  measure();
  draw();
  select(frames[0], false);
  follow();
}());
