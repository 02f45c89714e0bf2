/**
 * What this page adds to the configuration of every figure. The mode bar is off, since the card has its own
 * buttons; the "share to cloud" button, which plotly.js 4 shows by default, is off whatever the figure says and
 * has no address to send to, so that no press can take a figure off this origin.
 */
export const plotConfig = (config: Record<string, unknown>) => ({
  ...config,
  displayModeBar: false,
  displaylogo: false,
  showSendToCloud: false,
  modeBarButtons: false,
  modeBarButtonsToAdd: [],
  plotlyServerURL: "",
  topojsonURL: "",
  scrollZoom: false,
  // The page shows all again, in every chart.
  doubleClick: false,
  responsive: false,
  showLink: false,
  linkText: "",
});
