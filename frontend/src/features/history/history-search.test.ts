import { expect, it } from "vitest";

import { historySearch } from "./history-search";

it("reads what is understood, and leaves the rest out", () => {
  expect(historySearch({ view: "audit", q: 123, from: "2026-12-01", to: "soon", x: 1 })).toEqual({
    view: "audit",
    q: "123",
    from: "2026-12-01",
  });
  expect(historySearch({ view: "else", actor: "" })).toEqual({});
});
