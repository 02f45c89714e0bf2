import type { MixVersion } from "@/api/types";

/** A revert that was begun and not sent: to which version, on top of which, and why. */
export interface KeptRevert {
  version: number;
  basis: Pick<MixVersion, "version" | "weights_ppm">;
  reason: string;
}

/** The name under which a tab keeps it. */
export const revertName = (jobId: string) => `revert:${jobId}`;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Whether what a tab kept is a revert as this page has it. */
export const isKeptRevert = (value: unknown): value is KeptRevert =>
  isRecord(value) &&
  typeof value.version === "number" &&
  typeof value.reason === "string" &&
  isRecord(value.basis) &&
  typeof value.basis.version === "number" &&
  isRecord(value.basis.weights_ppm) &&
  Object.values(value.basis.weights_ppm).every((weight) => typeof weight === "number");
