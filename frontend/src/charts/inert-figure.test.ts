import { expect, it } from "vitest";

import { inertFigure } from "./inert-figure";

it.each([
  ['<a href="https://evil.example">x</a>', '&lt;a href="https://evil.example">x&lt;/a>'],
  ["<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)>"],
  ['<b style="color:red">x</b>', '&lt;b style="color:red">x</b>'],
  ["a < b", "a &lt; b"],
  ["<b>total</b><br>%{y}<extra></extra>", "<b>total</b><br>%{y}<extra></extra>"],
])("makes %s text", (text, inert) => expect(inertFigure(text)).toBe(inert));

it("reaches every text of a figure and keeps its numbers", () => {
  const x = [1, 2, 3];
  const figure = {
    data: [{ name: "<a>", x, text: ["<script>", 2], visible: true, y: null }],
    layout: { annotations: [{ text: "<svg>" }] },
  };
  const inert = inertFigure(figure);
  expect(inert).toEqual({
    data: [{ name: "&lt;a>", x, text: ["&lt;script>", 2], visible: true, y: null }],
    layout: { annotations: [{ text: "&lt;svg>" }] },
  });
  expect(inert.data[0]?.x).toBe(x);
});
