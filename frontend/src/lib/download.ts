/** Offers `text` to the reader as a file; nothing leaves the page. */
export function downloadText(filename: string, mediaType: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${mediaType};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = url;
  link.download = filename;
  link.click();
  // The download has its own reference once the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 0);
}

/** A file name that every system takes: letters, digits, dot, dash and underscore. */
export const safeFilename = (name: string) => name.replaceAll(/[^\w.-]+/g, "-").slice(0, 80);
