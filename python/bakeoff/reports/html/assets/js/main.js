// Figures are drawn when they come into sight, again when the paper or its width changes, and all before printing.

const PRINT_WIDTH = 680;
const drawn = new Map();

async function figureOf(host) {
  if (host.dataset.figure === "summary") {
    host.figure ??= readJson(document.querySelector(`script[data-for="${host.id}"]`));
    return host.figure;
  }
  return (await loadRun(host.dataset.run))[host.dataset.kind];
}

/** A menu of what the figure can show, above it. */
function chooser(host, figure) {
  const label = document.createElement("label");
  label.className = "choice";
  const select = document.createElement("select");
  for (const [index, choice] of figure.choices.entries()) select.add(new Option(choice.unit, index));
  select.value = figure.chosen ?? 0;
  select.addEventListener("change", () => {
    figure.chosen = Number(select.value);
    paint(host, figure);
  });
  label.append(figure.label ?? "Shown:", select);
  return label;
}

function paint(host, figure) {
  drawn.get(host)?.destroy();
  host.replaceChildren();
  host.classList.remove("waiting");
  const width = printing ? PRINT_WIDTH : host.clientWidth;
  let part = figure;
  if (figure.kind === "choice") {
    host.append(chooser(host, figure));
    part = figure.choices[figure.chosen ?? 0];
  }
  drawn.set(host, (figure.kind === "summary" ? drawSummary : drawTime)(host, part, width));
}

async function draw(host) {
  try {
    paint(host, await figureOf(host));
  } catch (error) {
    host.textContent = `This figure could not be drawn: ${error.message}`;
  }
}

const repaint = async () => {
  for (const host of drawn.keys()) paint(host, await figureOf(host));
};

const hosts = [...document.querySelectorAll(".plot")];
const sight = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      sight.unobserve(entry.target);
      draw(entry.target);
    }
  },
  { rootMargin: "800px 0px" },
);
for (const host of hosts) {
  host.classList.add("waiting");
  if (host.getBoundingClientRect().top < window.innerHeight) draw(host);
  else sight.observe(host);
}

darkQuery.addEventListener("change", repaint);

let lastWidth = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
  const width = document.documentElement.clientWidth;
  if (width === lastWidth || printing) return;
  lastWidth = width;
  for (const [host, u] of drawn) u.setSize({ width: host.clientWidth, height: u.height });
});

// Printing cannot wait for decoding, so everything is decoded when the page is idle, or soon: to a browser without a window
// no idle moment may come.
const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200));
const decoded = new Map();
idle(async () => {
  for (const host of hosts) decoded.set(host, await figureOf(host));
}, { timeout: 500 });

window.addEventListener("beforeprint", () => {
  printing = true;
  for (const [host, figure] of decoded) paint(host, figure);
});
window.addEventListener("afterprint", () => {
  printing = false;
  repaint();
});

// The contents mark the section in sight.
const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
const spy = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  },
  { rootMargin: "-10% 0px -80% 0px" },
);
for (const id of links.keys()) {
  const target = document.getElementById(id);
  if (target) spy.observe(target);
}
if (window.matchMedia("(max-width: 70rem)").matches) document.querySelector(".contents details").open = false;
