import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";

import type { MixVersion } from "@/api/types";
import { mixVersion } from "@/testing/fixtures";

import { LifeTrack } from "./life-track";

const lifeOf = (change: Partial<MixVersion["life"]>) =>
  mixVersion({ life: { ...mixVersion().life, ...change } });
const stages = () => screen.getAllByRole("listitem").map((stage) => stage.textContent);

it("shows every stage with its time and how long it took", () => {
  render(<LifeTrack version={mixVersion()} />);
  const [proposed, seen, agreed, applied] = stages();
  expect(proposed).toMatch(/^Proposed/);
  expect(seen).toMatch(/^Seen.* \+0\.4 s$/);
  expect(agreed).toMatch(/^Agreed at step 1\s204.* \+1\.0 s$/);
  expect(applied).toMatch(/^Applied on 2 of 2 ranks.* \+2\.0 s$/);
});

it("says what an unfinished one waits for", () => {
  const none = {
    seen_at: null,
    agreed_step: null,
    agreed_at: null,
    applied_at: null,
    applied_ranks: 0,
  };
  render(<LifeTrack version={lifeOf({ ...none, state: "proposed" })} />);
  expect(stages().slice(1)).toEqual([
    "Seennot yet",
    "Agreednot yet",
    "Applied on 0 of 2 ranksnot yet",
  ]);
  expect(screen.getByRole("status").textContent).toContain("leading rank");
});

it("counts the ranks that have it", () => {
  render(<LifeTrack version={lifeOf({ applied_ranks: 1, applied_at: null, state: "agreed" })} />);
  expect(stages()[3]).toBe("Applied on 1 of 2 ranksnot yet");
});
