import { screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { renderPage } from "@/testing/render";

import { bars, ReportsByMinute } from "./reports-by-minute";

const minutes = (...nums: number[]) =>
  nums.map((num, index) => ({
    minute: new Date(Date.UTC(2026, 10, 30, 10, index)).toISOString(),
    num_reports: num,
  }));

it("ends with the last minute, shows the smallest, and leaves the empty empty", () => {
  const drawn = bars(minutes(1, 0, 1000));
  expect(drawn.map(({ height }) => height)).toEqual([1, 0, 64]);
  expect(drawn.at(-1)).toEqual({ x: 590, y: 0, height: 64 });
  expect(bars(minutes(...Array.from({ length: 61 }, () => 2)))).toHaveLength(60);
  expect(bars(minutes(0)).map(({ height }) => height)).toEqual([0]);
});

it("says in words what it draws", async () => {
  renderPage(<ReportsByMinute minutes={minutes(3, 0, 2)} />);
  expect((await screen.findByRole("img")).getAttribute("aria-label")).toBe(
    "Reports a minute: 2 in the last one, 3 in the busiest of 3",
  );
});
