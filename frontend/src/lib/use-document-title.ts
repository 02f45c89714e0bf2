import { useEffect } from "react";

/** Names the browser's tab `title · Headrace` while the component is shown. */
export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Headrace`;
  }, [title]);
}
