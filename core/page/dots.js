// Draws the runs of a row as dots, one line per side, and the shift with its interval below. The
// same data is also written as text.
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

  // Prefixes of 1024 for bytes, of 1000 for others: 812000 is 812K.
  const PREFIXES = ['', 'K', 'M', 'G', 'T', 'P'];
  let isBytes = false;
  let width = 0; // available pixels

  function formatBrief(number) {
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

  function describeRuns(runs, sides) {
    const one = (list, at) => sides[at] + ': ' + (list.length === 0 ? 'no run' : list.length + (list.length === 1 ? ' run' : ' runs') +
      ' from ' + formatBrief(Math.min(...list)) + ' to ' + formatBrief(Math.max(...list)) + ', median ' + formatBrief(median(list)));
    return runs.map(one).join('; ');
  }

  function scale(low, high) {
    const range = high - low || Math.abs(high) || 1;
    return (number) => LEFT + 10 + (number - low) / range * (width - LEFT - 30);
  }

  function drawLanes(svg, runs, sides) {
    const all = [].concat(...runs);
    const low = Math.min(...all);
    const high = Math.max(...all);
    const place = scale(low, high);
    runs.forEach((list, at) => {
      const y = 18 + LANE * at;
      const sideClass = at ? 'b' : 'a';
      draw(svg, 'text', {x: 0, y: y + 4, 'class': 'label'}, sides[at]);
      draw(svg, 'line', {'class': 'axis', x1: LEFT, x2: width, y1: y, y2: y});
      list.forEach((number, run) => {
        const dot = draw(svg, 'path', {'class': sideClass + (at ? ' square' : ''), d: 'M' + place(number).toFixed(1) + ' ' + y + 'h0'});
        draw(dot, 'title', {}, sides[at] + ', run ' + (run + 1) + ': ' + formatBrief(number));
      });
      if (list.length === 0) return;
      const x = place(median(list));
      draw(svg, 'line', {'class': 'median ' + sideClass, x1: x, x2: x, y1: y - 11, y2: y + 11});
    });
    const y = LANE * runs.length + 16;
    draw(svg, 'text', {x: place(low), y, 'text-anchor': 'middle'}, formatBrief(low));
    if (high > low) draw(svg, 'text', {x: place(high) + 10, y, 'text-anchor': 'end'}, formatBrief(high));
  }

  // Draws the shift and its interval, as fractions of the baseline.
  function drawShift(svg, shift, low, high, y) {
    const place = scale(Math.min(0, low, shift), Math.max(0, high, shift));
    draw(svg, 'text', {x: 0, y: y + 4, 'class': 'label'}, 'shift');
    draw(svg, 'line', {'class': 'axis', x1: LEFT, x2: width, y1: y, y2: y});
    draw(svg, 'line', {'class': 'zero', x1: place(0), x2: place(0), y1: y - 12, y2: y + 12});
    draw(svg, 'line', {'class': 'interval', x1: place(low), x2: place(high), y1: y, y2: y});
    draw(svg, 'circle', {'class': 'shift', cx: place(shift), cy: y, r: 5});
    const description = percent(shift) + ', interval ' + percent(low) + ' to ' + percent(high);
    draw(svg, 'text', {x: LEFT + 10, y: y + 26}, description);
    return description;
  }

  // `unit`: 'b' for bytes. `runs`: figures by side, without missing ones; `shift`: change, low and
  // high if known. Returns an empty text if no side has several runs.
  function add(parent, runs, sides, shift, unit) {
    isBytes = unit === 'b';
    width = Math.max(260, Math.min(680, parent.getBoundingClientRect().width));
    if (!runs.some((list) => list.length > 1)) return '';
    const hasShift = runs.length > 1 && shift.every((one) => !isNaN(one));
    const height = LANE * runs.length + 24 + (hasShift ? 60 : 0);
    const svg = draw(parent, 'svg', {'class': 'dots', viewBox: '0 0 ' + width + ' ' + height, role: 'img'});
    drawLanes(svg, runs, sides);
    let description = describeRuns(runs, sides) + '.';
    if (hasShift) description += ' Shift ' + drawShift(svg, ...shift, LANE * runs.length + 44) + ', not adjusted for other rows.';
    svg.setAttribute('aria-label', description);
    return description;
  }

  return {add, draw, percent};
}());
