import { beforeEach, expect, it } from "vitest";

import { keep, readKept } from "./kept";

const isText = (value: unknown): value is string => typeof value === "string";

beforeEach(() => sessionStorage.clear());

it("gives back what the same person kept, and nothing to anybody else", () => {
  keep("ada", "draft", "half an edit");
  expect(readKept("ada", "draft", isText)).toBe("half an edit");
  expect(readKept("bo", "draft", isText)).toBeNull();
  expect(readKept("ada", "other", isText)).toBeNull();
  keep("ada", "draft", null);
  expect(readKept("ada", "draft", isText)).toBeNull();
});

it("gives back nothing that has another form, or is no JSON", () => {
  keep("ada", "draft", { weights: 1 });
  expect(readKept("ada", "draft", isText)).toBeNull();
  sessionStorage.setItem("headrace:draft:ada", "{broken");
  expect(readKept("ada", "draft", isText)).toBeNull();
});
