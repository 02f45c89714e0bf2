import { readTraced, TracedFileError } from "./traced-file";

/** Reads a file beside the page, which stays free for its reader; nothing leaves the browser. */
self.onmessage = (event: MessageEvent<Blob>) => {
  void event.data
    .text()
    .then(readTraced)
    .then((file) => {
      const columns = [file.slot, file.source, file.path, file.row, file.start, file.end];
      self.postMessage({ file }, { transfer: columns.map(({ buffer }) => buffer) });
    })
    .catch((error: unknown) => {
      const why =
        error instanceof TracedFileError ? error.message : "The file can't be read by the browser.";
      self.postMessage({ error: why });
    });
};
