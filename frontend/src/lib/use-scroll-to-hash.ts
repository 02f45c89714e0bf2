import { useEffect, type RefObject } from "react";

/** Brings the element into sight if the address names it: it may come long after the page, with its data. */
export function useScrollToHash(ref: RefObject<HTMLElement | null>, id: string): void {
  useEffect(() => {
    const show = () => {
      if (window.location.hash === `#${id}`) ref.current?.scrollIntoView({ block: "center" });
    };
    show();
    // The router changes the address without an event of the browser's own, and then scrolls itself.
    window.addEventListener("hashchange", show);
    return () => window.removeEventListener("hashchange", show);
  }, [ref, id]);
}
