import { defineConfig } from "@playwright/test";

/** The browser is handed in; test_dashboard.py finds it, starts what is looked at and gives its address. */
export default defineConfig({
  // Each project has a stage of its own: test_dashboard.py, test_incidents.py, screenshots.py.
  projects: [
    { name: "pages", testDir: "specs" },
    { name: "incidents", testDir: "incidents" },
    { name: "screenshots", testDir: "screenshots", timeout: 300_000 },
  ],
  outputDir: process.env.E2E_RESULTS ?? "test-results",
  // One server and one training job, whose mix the specs change in turn.
  workers: 1,
  fullyParallel: false,
  forbidOnly: true,
  // What passes the second time is told as flaky, and to be mended.
  retries: 1,
  maxFailures: 5,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  reporter: [["list"]],
  use: {
    baseURL: process.env.E2E_URL,
    viewport: { width: 1280, height: 900 },
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: process.env.CHROME,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
