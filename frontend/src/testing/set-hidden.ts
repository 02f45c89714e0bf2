import { vi } from "vitest";

/** Hides the page, as a tab in the background is, or shows it. */
export function setHidden(hidden: boolean) {
  vi.spyOn(document, "hidden", "get").mockReturnValue(hidden);
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(hidden ? "hidden" : "visible");
  document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
}
