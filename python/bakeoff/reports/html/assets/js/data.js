"use strict";
// Data inside the page: JSON beside base64 of deflated, byte-planed 32-bit floats (see encode.py).

const readJson = (element) => JSON.parse(element.textContent);

/** @param {string} base64 @returns {Promise<Float32Array>} */
async function decodeFloats(base64) {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / 4;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < 4; plane++) {
    for (let index = 0; index < count; index++) bytes[4 * index + plane] = planes[plane * count + index];
  }
  return new Float32Array(bytes.buffer);
}

/** A stored array as uPlot wants it: null where there is no value. */
function column(floats, [first, length]) {
  const values = new Array(length);
  for (let index = 0; index < length; index++) {
    const value = floats[first + index];
    values[index] = Number.isNaN(value) ? null : value;
  }
  return values;
}

/** The figures of each run, decoded once: run id to a promise of {kind: figure}. */
const runs = new Map();

function loadRun(id) {
  if (!runs.has(id)) {
    const figures = readJson(document.getElementById(`${id}-data`));
    const arrays = document.getElementById(`${id}-arrays`);
    runs.set(id, decodeFloats(arrays.textContent.trim()).then((floats) => {
      arrays.remove();
      for (const figure of Object.values(figures)) {
        for (const part of figure.choices ?? [figure]) {
          part.x = column(floats, part.x);
          for (const series of part.series) {
            series.y = column(floats, series.y);
            if (series.low) series.low = column(floats, series.low);
          }
        }
      }
      return figures;
    }));
  }
  return runs.get(id);
}
