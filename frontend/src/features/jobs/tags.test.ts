import { expect, it } from "vitest";

import { readTags, tagsText } from "./tags";

it("reads what it writes", () => {
  const tags = { team: "x", size: "7b", keep: "", "odd name": "a=b" };
  expect(readTags(tagsText(tags))).toEqual({ tags });
  expect(readTags("")).toEqual({ tags: {} });
  expect(readTags(" team = x ,, ")).toEqual({ tags: { team: "x" } });
});

it("says what it can't take", () => {
  expect(readTags("=x")).toEqual({ error: '"=x" has no name; write name=value' });
  expect(readTags("a=1, a=2")).toEqual({ error: '"a" is there twice; a tag has one value' });
  expect(readTags("n".repeat(201))).toEqual({
    error: "A name is 201 characters long; 200 at most",
  });
  expect(readTags(`a=${"v".repeat(256)}`)).toEqual({
    error: 'The value of "a" is 256 characters long; 255 at most',
  });
  const many = Array.from({ length: 51 }, (_, index) => `t${index}`).join(",");
  expect(readTags(many)).toEqual({ error: "51 tags; 50 at most" });
});
