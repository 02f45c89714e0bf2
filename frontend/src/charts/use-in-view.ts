import { useEffect, useState, type RefObject } from "react";

/** Charts this close to the window are kept up to date too, in pixels. */
const MARGIN = "200px";

/** Whether the element is in the window or near it; true where a browser can't tell. */
export function useInView(ref: RefObject<HTMLElement | null>): boolean {
  const [inView, setInView] = useState(true);
  useEffect(() => {
    if (ref.current === null || !("IntersectionObserver" in window)) return;
    const observer = new IntersectionObserver(
      (entries) => setInView(entries.at(-1)?.isIntersecting ?? true),
      { rootMargin: MARGIN },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [ref]);
  return inView;
}
