import { useSyncExternalStore } from "react";

/** How large quantities (tokens, rates) are written: with a metric prefix, or in full with thin spaces. */
export type NumberStyle = "si" | "full";

const KEY = "headrace-numbers";
const listeners = new Set<() => void>();

function stored(): NumberStyle {
  try {
    return localStorage.getItem(KEY) === "full" ? "full" : "si";
  } catch {
    // Storage may be forbidden; the choice then lasts as long as the page.
    return "si";
  }
}

let style: NumberStyle | null = null;

/** The reader's choice, kept in this browser; metric prefixes until they choose. */
export const numberStyle = (): NumberStyle => (style ??= stored());

/** Keeps the choice and tells whoever shows numbers. */
export function setNumberStyle(next: NumberStyle): void {
  style = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // As above.
  }
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The reader's choice; the component renders anew when it changes, and the formatters follow it. */
export const useNumberStyle = (): NumberStyle => useSyncExternalStore(subscribe, numberStyle);
