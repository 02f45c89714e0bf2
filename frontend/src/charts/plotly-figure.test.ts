import { expect, it } from "vitest";

import { zoomOf } from "./plotly-figure";

it.each([
  [{ "xaxis.range[0]": 1, "xaxis.range[1]": 2 }, true],
  [{ "yaxis2.range[0]": 1 }, true],
  [{ "xaxis.autorange": true, "yaxis.range": [0, 1] }, false],
  [{ autosize: true }, undefined],
  [{ width: 300 }, undefined],
])("reads the change %j as zoom %j", (change, zoom) => expect(zoomOf(change)).toBe(zoom));
