import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** `HEADRACE_URL` is the server that `npm run dev` talks to. */
const server = process.env.HEADRACE_URL ?? "http://127.0.0.1:8400";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": path("./src") } },
  build: {
    outDir: path("../backend/headrace_server/static"),
    emptyOutDir: true,
    target: "es2022",
    manifest: true,
    // A data: URL would need an exception in the content security policy.
    assetsInlineLimit: 0,
    // Plotly's basic bundle is one file of 1.2 MB, loaded only where a chart is shown.
    chunkSizeWarningLimit: 1300,
    modulePreload: { polyfill: false },
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
  server: { proxy: { "/api": { target: server } } },
  test: {
    environment: "jsdom",
    setupFiles: ["./src/testing/setup.ts"],
    css: false,
    restoreMocks: true,
    // Typing into forms is slow on a busy machine of two cores.
    testTimeout: 60_000,
    environmentOptions: { jsdom: { url: "http://headrace.test/" } },
  },
});
