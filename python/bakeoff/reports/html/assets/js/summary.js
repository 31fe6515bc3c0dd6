// The summary figures: throughput over 95th-percentile delay, axis inverted.

const markerPaths = Object.fromEntries(
  Object.entries(readJson(document.getElementById("markers"))).map(([name, path]) => [name, new Path2D(path)]),
);
const MARKER_RADIUS = 6.5;

function drawMarker(ctx, entry, x, y, scale) {
  ctx.save();
  ctx.translate(x, y);
  const radius = MARKER_RADIUS * scale;
  ctx.scale(radius, radius);
  ctx.lineJoin = "round";
  // A rim of paper keeps markers apart that cover each other.
  ctx.lineWidth = 0.6;
  ctx.strokeStyle = inks().paper;
  if (!entry.hollow) ctx.stroke(markerPaths[entry.marker]);
  ctx.lineWidth = 0.24;
  ctx.strokeStyle = colourOf(entry);
  ctx.fillStyle = entry.hollow ? inks().paper : colourOf(entry);
  ctx.globalAlpha = 0.9;
  ctx.fill(markerPaths[entry.marker]);
  ctx.globalAlpha = 1;
  ctx.stroke(markerPaths[entry.marker]);
  ctx.restore();
}

/** Positions tried for a name around its marker: right, left, above, below, and the corners. */
const PLACES = [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [-1, -1], [1, 1], [-1, 1]];
/** In steps, how far from it where there is no room beside it; a line then leads to the name. */
const FARTHER = [2, 3, 5, 7];

function overlaps(a, b) {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/** Where a name of this width may stand around its marker, the nearest first. */
function boxesOf({ x, y }, w, scale) {
  const h = 14 * scale;
  const step = (MARKER_RADIUS + 4) * scale;
  return [1, ...FARTHER].flatMap((distance) =>
    PLACES.map(([dx, dy]) => {
      const gap = step * distance;
      const left = x + dx * gap + (dx > 0 ? 0 : dx < 0 ? -w : -w / 2);
      const top = y + dy * (dx ? gap * 0.9 : gap + h / 3) - h / 2;
      return { x: left, y: top, w, h, from: distance > 1 ? { x, y } : null };
    }),
  );
}

/** The markers that have a name: ours, and published ones without one of ours, which no reader may take for ours. */
function namedMarkers(placed) {
  const ours = new Set(placed.filter(({ entry }) => !entry.hollow).map(({ entry }) => entry.name));
  return [...placed.filter(({ entry }) => !entry.hollow), ...placed.filter(({ entry }) => entry.hollow && !ours.has(entry.name))];
}

/** Puts names where they cover no marker and no other name, as far as there is room. */
function drawNames(u, named, taken) {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const inside = (box) => box.x >= bbox.left && box.x + box.w <= bbox.left + bbox.width && box.y >= bbox.top && box.y + box.h <= bbox.top + bbox.height;
  ctx.save();
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const { entry, x, y } of named) {
    ctx.font = `${entry.hollow ? "" : "600 "}${Math.round(11.5 * scale)}px system-ui, sans-serif`;
    const boxes = boxesOf({ x, y }, ctx.measureText(entry.name).width, scale);
    const box = boxes.find((candidate) => inside(candidate) && !taken.some((other) => overlaps(candidate, other)));
    if (!box) continue;
    taken.push(box);
    ctx.fillStyle = ctx.strokeStyle = colourOf(entry);
    ctx.globalAlpha = entry.hollow ? 0.85 : 1;
    ctx.fillText(entry.name, box.x, box.y + box.h / 2);
    if (box.from) drawLeader(ctx, box, scale);
  }
  ctx.restore();
}

/** A thin line from a marker to the edge of its name. */
function drawLeader(ctx, box, scale) {
  const nearest = (value, low, size) => Math.min(Math.max(value, low), low + size);
  ctx.lineWidth = 0.75 * scale;
  ctx.beginPath();
  ctx.moveTo(box.from.x, box.from.y);
  ctx.lineTo(nearest(box.from.x, box.x, box.w), nearest(box.from.y, box.y, box.h));
  ctx.stroke();
}

const isHidden = (entry, hidden) => entry.parts.some((part) => hidden.has(part));

/** A thin line from each published mean to ours. */
function joinPairs(u, figure, hidden) {
  if (!figure.has_pairs) return;
  const { ctx } = u;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const theirs of figure.series.filter((entry) => entry.hollow && !isHidden(entry, hidden))) {
    const ours = figure.series.find((entry) => !entry.hollow && entry.name === theirs.name);
    if (!ours) continue;
    ctx.strokeStyle = colourOf(ours);
    ctx.beginPath();
    for (const [delay, throughput] of [theirs.points[0], ours.points[0]]) {
      ctx.lineTo(u.valToPos(delay, "x", true), u.valToPos(throughput, "y", true));
    }
    ctx.stroke();
  }
  ctx.restore();
}

function drawPoints(u, figure, hidden) {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const size = MARKER_RADIUS * scale;
  const placed = [];
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  joinPairs(u, figure, hidden);
  // Ours come last, so that they lie on top.
  for (const entry of [...figure.series].sort((a, b) => b.hollow - a.hollow)) {
    if (isHidden(entry, hidden)) continue;
    for (const [delay, throughput] of entry.points) {
      const x = u.valToPos(delay, "x", true);
      const y = u.valToPos(throughput, "y", true);
      drawMarker(ctx, entry, x, y, scale);
      placed.push({ entry, x, y });
    }
  }
  if (figure.has_names) {
    const taken = placed.map(({ x, y }) => ({ x: x - size, y: y - size, w: 2 * size, h: 2 * size }));
    drawNames(u, namedMarkers(placed), taken);
  }
  ctx.restore();
}

/** Ticks of the logarithmic delay axis: powers of two, or round numbers once fewer than three are in sight. */
function delayTicks(u, _axis, low, high) {
  const powers = [];
  for (let power = 2 ** Math.ceil(Math.log2(low)); power <= high; power *= 2) powers.push(power);
  if (powers.length >= 3) return powers;
  const step = niceStep((high - low) / 5);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
  return ticks;
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
}

/** Shows the name and numbers of the marker under the pointer. */
function tipPlugin(figure, hidden) {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  return {
    hooks: {
      init: (u) => u.over.append(tip),
      setCursor: (u) => {
        const { left, top } = u.cursor;
        let best = null;
        let nearest = 18;
        for (const entry of figure.series) {
          if (isHidden(entry, hidden)) continue;
          for (const point of entry.points) {
            const distance = Math.hypot(u.valToPos(point[0], "x") - left, u.valToPos(point[1], "y") - top);
            if (distance < nearest) [nearest, best] = [distance, point];
          }
        }
        tip.hidden = !best;
        if (!best) return;
        tip.textContent = `${best[2]}: ${shown(best[1])} Mbit/s, ${shown(best[0])} ms`;
        const x = u.valToPos(best[0], "x");
        tip.style.left = `${Math.min(Math.max(0, x - tip.offsetWidth / 2), u.over.clientWidth - tip.offsetWidth)}px`;
        tip.style.top = `${Math.max(0, u.valToPos(best[1], "y") - tip.offsetHeight - 12)}px`;
      },
    },
  };
}

function legendSwatch(entry) {
  const swatch = document.createElement("canvas");
  const scale = devicePixelRatio;
  [swatch.width, swatch.height] = [16 * scale, 16 * scale];
  swatch.style.cssText = "width:16px;height:16px;vertical-align:-3px;margin-right:4px";
  drawMarker(swatch.getContext("2d"), entry, 8 * scale, 8 * scale, scale * 0.85);
  return swatch;
}

/** A legend that hides and shows: a point goes with its value of any axis, and filled and hollow markers go together. */
function summaryLegend(u, figure, hidden) {
  const legend = document.createElement("div");
  for (const entries of figure.legend) {
    const list = document.createElement("ul");
    list.className = "legend";
    for (const entry of entries) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(!hidden.has(entry.part)));
      button.append(legendSwatch(entry), entry.name);
      button.addEventListener("click", () => {
        if (!hidden.delete(entry.part)) hidden.add(entry.part);
        button.setAttribute("aria-pressed", String(!hidden.has(entry.part)));
        u.redraw(false);
      });
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    }
    legend.append(list);
  }
  return legend;
}

/** @returns {uPlot} */
function drawSummary(host, figure, width) {
  figure.hidden ??= new Set();
  const points = figure.series.flatMap((entry) => entry.points);
  const xWhole = figure.log ?? figure.delays;
  const yWhole = figure.rates;
  // uPlot needs data to have scales; the points themselves are drawn by hand.
  const order = [...points].sort((a, b) => a[0] - b[0]);
  let zoomed = false;
  const keep = (whole) => (_, low, high) => (zoomed && low != null ? [low, high] : whole);
  const options = {
    width,
    height: Math.round(Math.min(520, Math.max(340, width * 0.6))),
    scales: {
      x: { time: false, dir: -1, range: keep(xWhole), ...(figure.log ? { distr: 3, log: 2 } : {}) },
      y: { range: keep(yWhole) },
    },
    axes: [
      axis("95th-percentile one-way delay (ms)", { values: (_, ticks) => ticks.map(plain), ...(figure.log ? { splits: delayTicks, filter: (_, ticks) => ticks } : {}) }),
      axis("Average throughput (Mbit/s)", { size: 58, values: (_, ticks) => ticks.map(plain) }),
    ],
    series: [{}, { show: true, paths: () => null, points: { show: false } }],
    cursor: { drag: { x: true, y: true, uni: 30 }, points: { show: false } },
    legend: { show: false },
    plugins: [tipPlugin(figure, figure.hidden)],
    hooks: {
      setSelect: [(u) => { zoomed = u.select.width > 0; }],
      draw: [(u) => drawPoints(u, figure, figure.hidden)],
    },
  };
  const u = new uPlot(options, [order.map((point) => point[0]), order.map((point) => point[1])], host);
  u.over.addEventListener("dblclick", () => {
    zoomed = false;
    u.setScale("x", { min: xWhole[0], max: xWhole[1] });
    u.setScale("y", { min: yWhole[0], max: yWhole[1] });
  });
  host.append(summaryLegend(u, figure, figure.hidden));
  return u;
}
