import { expect, it } from "vitest";

import { filtered, readTraced, sequencesOf } from "./traced-file";

const document = (change: object = {}) => ({
  slot: 0,
  source: "web",
  path: "a/0.arrow",
  row: 3,
  start: 0,
  end: 64,
  ...change,
});
const file = (...documents: object[]) => JSON.stringify({ step: 7, documents });

it("reads what headrace trace --json prints, and counts sequences by source", () => {
  const read = readTraced(
    file(document(), document({ row: 4 }), document({ slot: 1, source: "code", path: "b.arrow" })),
  );
  expect([read.step, read.sources, read.paths, read.texts]).toEqual([
    7,
    ["web", "code"],
    ["a/0.arrow", "b.arrow"],
    null,
  ]);
  expect([...read.row]).toEqual([3, 4, 3]);
  expect([...sequencesOf(read)]).toEqual([
    ["web", 1],
    ["code", 1],
  ]);
});

it.each([
  ["", /is empty/],
  ["headrace trace: no such job", /not JSON.*--json/],
  ["[1]", /not an object/],
  ['{"path": "x", "deliveries": []}', /--document.*--step/],
  ['{"a": 1}', /must have "step" and "documents"/],
  [file(document({ row: -1 })), /documents\[0\]\.row is -1; it must be a whole number/],
  [file(document(), document({ source: 3 })), /documents\[1\]\.source is 3; it must be text/],
  [file(document({ text: "x" }), document()), /Some documents have a text/],
  ['{"step": 1, "documents": [null]}', /documents\[0\] is not an object/],
])("refuses %s in words", (text, why) => {
  expect(() => readTraced(text)).toThrow(why);
});

it("filters by source, path, row and text", () => {
  const read = readTraced(
    file(
      document({ text: "Hello there" }),
      document({ path: "b.arrow", source: "code", row: 17, text: "x" }),
    ),
  );
  expect([...filtered(read, null, "")]).toEqual([0, 1]);
  expect([...filtered(read, "code", "")]).toEqual([1]);
  expect([...filtered(read, null, "B.ARROW")]).toEqual([1]);
  expect([...filtered(read, null, "17")]).toEqual([1]);
  expect([...filtered(read, null, "hello")]).toEqual([0]);
  expect([...filtered(read, "code", "hello")]).toEqual([]);
});
