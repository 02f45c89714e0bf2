import { TracedFileError, type TracedFile } from "./traced-file";

type Answer = { file: TracedFile } | { error: string };

/** Larger files (bytes) are refused before they are read. */
const MAX_BYTES = 512 * 1024 * 1024;

/** Reads a trace's JSON in a worker. Rejects with TracedFileError. */
export function readFile(blob: Blob): Promise<TracedFile> {
  if (blob.size > MAX_BYTES)
    return Promise.reject(new TracedFileError("The file is over 512 MiB; filter it first."));
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./traced-worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      worker.terminate();
      if ("file" in data) resolve(data.file);
      else reject(new TracedFileError(data.error));
    };
    worker.onerror = () => {
      worker.terminate();
      reject(new TracedFileError("The file could not be read."));
    };
    worker.postMessage(blob);
  });
}
