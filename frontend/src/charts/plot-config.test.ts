import { expect, it } from "vitest";

import { plotConfig } from "./plot-config";

it("keeps the share-to-cloud button off and gives it nowhere to send, whatever the figure says", () => {
  const config = plotConfig({
    displayModeBar: true,
    showSendToCloud: true,
    plotlyServerURL: "https://cloud.example",
    modeBarButtonsToAdd: ["sendChartToCloud"],
    locale: "en",
  });
  expect(config).toMatchObject({
    showSendToCloud: false,
    plotlyServerURL: "",
    displayModeBar: false,
  });
  expect(config).not.toHaveProperty("modeBarButtonsToAdd", ["sendChartToCloud"]);
  expect(config).toHaveProperty("locale", "en");
});
