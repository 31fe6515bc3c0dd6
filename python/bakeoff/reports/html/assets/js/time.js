// Figures over time: throughput, delay, inner state of one run.

/** So few points are drawn larger. */
const FEW = 2000;

/** Draws a small square at each point: tens of thousands of packets stay quick. */
function dots(u, index, from, to) {
  const { ctx } = u;
  const size = Math.max(1, (to - from < FEW ? 3 : 1.6) * devicePixelRatio);
  const xs = u.data[0];
  const ys = u.data[index];
  const { left, top, width, height } = u.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.fillStyle = u.series[index].stroke(u, index);
  for (let i = from; i <= to; i++) {
    if (ys[i] == null) continue;
    const x = u.valToPos(xs[i], "x", true);
    const y = u.valToPos(ys[i], u.series[index].scale, true);
    ctx.fillRect(x - size / 2, y - size / 2, size, size);
  }
  ctx.restore();
  return null;
}

/** Fills what lies between the lower ends of an entry and its values: over the way to the next, or between them. */
function ranges(entry) {
  return (u, index, from, to) => {
    const { ctx } = u;
    const { left, top, width, height } = u.bbox;
    const [xs, highs] = [u.data[0], u.data[index]];
    const x = (i) => u.valToPos(xs[i], "x", true);
    const y = (value) => u.valToPos(value, u.series[index].scale, true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.globalAlpha = 0.22;
    ctx.fillStyle = u.series[index].stroke(u, index);
    ctx.beginPath();
    for (let i = from; i < to; i++) {
      const next = entry.is_stepped ? i : i + 1;
      if (highs[i] == null || highs[next] == null) continue;
      ctx.moveTo(x(i), y(entry.low[i]));
      ctx.lineTo(x(i), y(highs[i]));
      ctx.lineTo(x(i + 1), y(highs[next]));
      ctx.lineTo(x(i + 1), y(entry.low[next]));
    }
    ctx.fill();
    ctx.restore();
    return null;
  };
}

/** Rates of bins: each is that of the time up to the next. */
const steps = uPlot.paths.stepped({ align: 1 });

function timeSeries(entry) {
  const ink = inks();
  const scale = entry.right ? "right" : "y";
  const common = { label: entry.label, class: entry.style, scale, value: (_, value) => shown(value), points: { show: false } };
  if (entry.style === "area") {
    return { ...common, stroke: ink.grid, fill: ink.area, width: 1, paths: steps };
  }
  const stroke = colourOf(entry);
  if (entry.style === "dots") return { ...common, stroke, paths: dots };
  if (entry.style === "range") {
    const value = (_, high, __, index) => (high == null ? shown(high) : `${shown(entry.low[index])} to ${shown(high)}`);
    return { ...common, stroke, paths: ranges(entry), value };
  }
  const dash = { dashed: [5, 4], dotted: [1.5, 3] }[entry.style];
  const paths = entry.is_stepped ? steps : undefined;
  return { ...common, stroke, width: dash ? 1.2 : 1.8, dash, paths, spanGaps: entry.style === "dotted" };
}

/** @returns {uPlot} */
function drawTime(host, figure, width) {
  const many = figure.series.length > 8;
  const values = (_, ticks) => ticks.map(plain);
  const scales = { x: { time: false, range: (u, low, high) => (isWhole(u, low, high) ? figure.span : [low, high]) }, y: { range: (_, low, high) => within(figure.left, yRange(low, high)) } };
  const axes = [axis("Time (s)", { values }), axis(figure.left?.unit ?? figure.unit, { size: 58, values })];
  if (figure.right) {
    scales.right = { range: (_, low, high) => within(figure.right, [low ?? 0, high ?? 1]) };
    axes.push(axis(figure.right.unit, { size: 58, values, side: 1, scale: "right", grid: { show: false } }));
  }
  const options = {
    width,
    height: Math.round(Math.min(360, Math.max(260, width * 0.42))),
    scales,
    axes,
    series: [{ label: "Time (s)", value: (_, value) => shown(value) }, ...figure.series.map(timeSeries)],
    cursor: { drag: { x: true, y: true, uni: 40 }, hover: { prox: 30, skip: [null] }, points: { size: 5 } },
    legend: { live: !many, isolate: true, markers: { width: 2, dash: (_, index) => (index && ["dashed", "dotted"].find((style) => style === figure.series[index - 1].style)) || "solid" } },
  };
  return new uPlot(options, [figure.x, ...figure.series.map((entry) => entry.y)], host);
}

/** Whether nothing is zoomed in: the figures of a run then show the same time, whatever each knows of it. */
const isWhole = (u, low, high) => low === u.data[0][0] && high === u.data[0].at(-1);

/** The range of an axis that has one of its own, else what its data ask for. */
function within(side, range) {
  return side?.range.every((end) => end != null) ? side.range : range;
}

function yRange(low, high) {
  if (low == null || high == null) return [0, 1];
  // A zoomed-in range is kept; the whole one starts at 0.
  return [Math.min(0, low), high > 0 ? high * 1.04 : 1];
}
