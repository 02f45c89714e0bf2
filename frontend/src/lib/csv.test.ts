import { expect, it } from "vitest";

import { toCsv } from "./csv";

it("quotes what needs it and ends each line with CRLF", () => {
  expect(
    toCsv([
      ["a", 'say "x"', "1,5"],
      [1, null, true],
    ]),
  ).toBe('a,"say ""x""","1,5"\r\n1,,true\r\n');
});

it.each(["=cmd()", "+1", "-1", "@SUM(A1)", "\tx"])("makes the formula %j a text", (text) => {
  expect(toCsv([[text]]).startsWith("'")).toBe(true);
});

it("leaves negative numbers alone", () => expect(toCsv([[-1.5]])).toBe("-1.5\r\n"));

it("keeps an injected line inside its cell", () => {
  expect(toCsv([["=1\r\n=2"]])).toBe('"\'=1\r\n=2"\r\n');
});
