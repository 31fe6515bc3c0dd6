// The paper that figures are drawn on: light or dark, always light in print.

const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");
let printing = false;

const isDark = () => darkQuery.matches && !printing;
const colourOf = (look) => (isDark() ? look.dark : look.light);
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function inks() {
  return printing
    ? { text: "#222", grid: "#e2e2e2", area: "rgba(214, 152, 76, 0.2)", paper: "#fff" }
    : { text: token("--muted"), grid: token("--line"), area: token("--area"), paper: token("--paper") };
}

/** An axis in the page's type; `extra` overrides. */
function axis(label, extra = {}) {
  const ink = inks();
  return {
    label,
    size: 34,
    labelSize: 20,
    labelFont: "12px system-ui, sans-serif",
    font: "11.5px system-ui, sans-serif",
    stroke: ink.text,
    grid: { stroke: ink.grid, width: 1 },
    ticks: { stroke: ink.grid, width: 1, size: 5 },
    ...extra,
  };
}

const withMinus = (text) => text.replace(/^-/, "\u2212");
const plain = (value) => (value == null ? "" : withMinus(String(Number(value.toPrecision(6)))));
const shown = (value) => (value == null ? "" : withMinus(String(Number(value.toPrecision(4)))));
