// The runs of a row as dots, both sides above each other, and the shift with its interval below.
// Whatever is drawn is also said in words.
const dots = (function () {
  'use strict';

  const SVG = 'http://www.w3.org/2000/svg';
  const LEFT = 86;
  const LANE = 34;

  function draw(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
  }

  // Of bytes by 1024, of others by 1000: 812000 is 812K.
  const PREFIXES = ['', 'K', 'M', 'G', 'T', 'P'];
  let isBytes = false;
  let width = 0; // pixels, as many as there are

  function brief(number) {
    if (isNaN(number)) return '-';
    const step = isBytes ? 1024 : 1000;
    let scaled = number;
    let at = 0;
    for (; Math.abs(scaled) >= step && at + 1 !== PREFIXES.length; ++at) scaled /= step;
    return Number(scaled.toPrecision(3)) + PREFIXES[at] + (isBytes && at ? 'i' : '');
  }

  const percent = (fraction) => (fraction > 0 ? '+' : '') + (100 * fraction).toFixed(1) + ' %';

  function median(list) {
    const sorted = list.slice().sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  function inWords(runs, sides) {
    const one = (list, at) => sides[at] + ': ' + (list.length === 0 ? 'no run' : list.length + (list.length === 1 ? ' run' : ' runs') +
      ' from ' + brief(Math.min(...list)) + ' to ' + brief(Math.max(...list)) + ', median ' + brief(median(list)));
    return runs.map(one).join('; ');
  }

  function scale(low, high) {
    const wide = high - low || Math.abs(high) || 1;
    return (number) => LEFT + 10 + (number - low) / wide * (width - LEFT - 30);
  }

  function drawLanes(picture, runs, sides) {
    const every = [].concat(...runs);
    const low = Math.min(...every);
    const high = Math.max(...every);
    const place = scale(low, high);
    runs.forEach((list, at) => {
      const y = 18 + LANE * at;
      const which = at ? 'b' : 'a';
      draw(picture, 'text', {x: 0, y: y + 4, 'class': 'label'}, sides[at]);
      draw(picture, 'line', {'class': 'axis', x1: LEFT, x2: width, y1: y, y2: y});
      list.forEach((number, run) => {
        const dot = draw(picture, 'path', {'class': which + (at ? ' square' : ''), d: 'M' + place(number).toFixed(1) + ' ' + y + 'h0'});
        draw(dot, 'title', {}, sides[at] + ', run ' + (run + 1) + ': ' + brief(number));
      });
      if (list.length === 0) return;
      const x = place(median(list));
      draw(picture, 'line', {'class': 'median ' + which, x1: x, x2: x, y1: y - 11, y2: y + 11});
    });
    const y = LANE * runs.length + 16;
    draw(picture, 'text', {x: place(low), y, 'text-anchor': 'middle'}, brief(low));
    if (high > low) draw(picture, 'text', {x: place(high) + 10, y, 'text-anchor': 'end'}, brief(high));
  }

  // The change, and between which shifts it may be: fractions of the baseline.
  function drawShift(picture, shift, low, high, y) {
    const place = scale(Math.min(0, low, shift), Math.max(0, high, shift));
    draw(picture, 'text', {x: 0, y: y + 4, 'class': 'label'}, 'shift');
    draw(picture, 'line', {'class': 'axis', x1: LEFT, x2: width, y1: y, y2: y});
    draw(picture, 'line', {'class': 'zero', x1: place(0), x2: place(0), y1: y - 12, y2: y + 12});
    draw(picture, 'line', {'class': 'interval', x1: place(low), x2: place(high), y1: y, y2: y});
    draw(picture, 'circle', {'class': 'shift', cx: place(shift), cy: y, r: 5});
    const said = percent(shift) + ', interval ' + percent(low) + ' to ' + percent(high);
    draw(picture, 'text', {x: LEFT + 10, y: y + 26}, said);
    return said;
  }

  // `unit`: 'b' of bytes. `runs`: figures by side, without those that are missing; `shift`: change, low and high, where
  // they are known. Nothing where no side has several runs.
  function add(parent, runs, sides, shift, unit) {
    isBytes = unit === 'b';
    width = Math.max(260, Math.min(680, parent.getBoundingClientRect().width));
    if (!runs.some((list) => list.length > 1)) return '';
    const knows = runs.length > 1 && shift.every((one) => !isNaN(one));
    const height = LANE * runs.length + 24 + (knows ? 60 : 0);
    const picture = draw(parent, 'svg', {'class': 'dots', viewBox: '0 0 ' + width + ' ' + height, role: 'img'});
    drawLanes(picture, runs, sides);
    let said = inWords(runs, sides) + '.';
    if (knows) said += ' Shift ' + drawShift(picture, ...shift, LANE * runs.length + 44) + ', of this row alone.';
    picture.setAttribute('aria-label', said);
    return said;
  }

  return {add, draw, percent};
}());
