import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { Sparkline, sparkPaths } from "./sparkline";

it("draws a line from the least to the most, broken where nothing is known", () => {
  expect(sparkPaths([0, 10])).toEqual(["M1.5 18.5L86.5 1.5"]);
  expect(sparkPaths([1, 2, null, 3, 4])).toHaveLength(2);
  expect(sparkPaths([null, 5, null])).toEqual(["M44.0 10.0"]);
});

it("draws a steady rate as a level line in the middle", () => {
  expect(sparkPaths([7, 7, 7])).toEqual(["M1.5 10.0L44.0 10.0L86.5 10.0"]);
  expect(sparkPaths([0, 0])).toEqual(["M1.5 10.0L86.5 10.0"]);
});

it("says its range, and is not there where there is nothing to say", () => {
  const { rerender, container } = render(<Sparkline label="Tokens/s" values={[1e6, null, 2e6]} />);
  expect(screen.getByRole("img").getAttribute("aria-label")).toBe(
    "Tokens/s over the last 3 minutes of the run: 1.00 M to 2.00 M",
  );
  rerender(<Sparkline label="Tokens/s" values={[1e6]} />);
  expect(container.innerHTML).toBe("");
});
