import { expect, it } from "vitest";

import { figureCsv } from "./figure-export";

it("writes the table with units in the header and formulas made inert", () => {
  const csv = figureCsv({
    name: "loss",
    title: "Loss by source",
    description: "",
    figure: { data: [], layout: {}, config: {} },
    table: {
      columns: [
        { key: "step", label: "Step", unit: "" },
        { key: "a", label: "=cmd()", unit: "nats" },
      ],
      rows: [
        [1, 2.5],
        [2, null],
      ],
    },
    extent: { low: 1, high: 2 },
    marks: [],
  });
  expect(csv).toBe("Step,'=cmd() (nats)\r\n1,2.5\r\n2,\r\n");
});
