import { screen } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { RankDetail } from "@/features/ranks/rank-facts";
import { job, JOB_ID, rankState } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { RankPage } from "./rank-page";

function show(change: Partial<RankDetail> = {}) {
  const asked: string[] = [];
  const detail: RankDetail = {
    ...rankState({ rank: 4, host: "node-1" }),
    attempt: 2,
    previous_rank: 3,
    next_rank: null,
    slowest_rank: 7,
    ...change,
  };
  server.use(
    http.get(at(`/jobs/${JOB_ID}`), () => HttpResponse.json(job())),
    http.get(at(`/jobs/${JOB_ID}/ranks/4`), () => HttpResponse.json(detail)),
    http.get(at(`/jobs/${JOB_ID}/figures/:name`), ({ request, params }) => {
      asked.push(`${String(params.name)} ${new URL(request.url).searchParams.get("rank")}`);
      return HttpResponse.json({
        name: params.name,
        title: `${String(params.name)}, rank 4`,
        description: "Nothing reported yet.",
        figure: { data: [], layout: {}, config: {} },
        table: { columns: [], rows: [] },
      });
    }),
  );
  renderPage(<RankPage jobId={JOB_ID} rank={4} x={undefined} onX={() => undefined} />);
  return asked;
}

it("shows the rank's own figures and the ways to others", async () => {
  const asked = show();
  expect(await screen.findByRole("heading", { name: "memory, rank 4" })).toBeDefined();
  expect([...new Set(asked)].sort()).toEqual(["memory 4", "queue 4", "throughput 4", "wait 4"]);
  const ways = screen.getByRole("navigation", { name: "Ranks" });
  expect(ways.textContent).toBe("All ranks← Rank 3Slowest: rank 7");
});

it("says where it reads and what was masked", async () => {
  show({
    masked_tokens: 70,
    masked_at: { source: "code", file: "/data/code/0003.arrow", row: null },
    sources: [{ name: "code", ordinal: 488, epoch: 0, file: "/data/code/0001.arrow", row: 17 }],
  });
  expect(await screen.findByText(/last in code: code\/0003.arrow, the whole block/)).toBeDefined();
  const row = screen.getByRole("row", { name: /^code/ });
  expect(row.textContent).toBe("code/data/code/0001.arrow17050.0 %488");
});

it("says which ranks there are when this one has not reported", async () => {
  show();
  server.use(
    http.get(at(`/jobs/${JOB_ID}/ranks/4`), () =>
      HttpResponse.json(
        { title: "Not found", status: 404, code: "not_found", detail: "rank 4 has not reported" },
        { status: 404 },
      ),
    ),
  );
  expect((await screen.findByRole("alert")).textContent).toContain("rank 4 has not reported");
  expect(screen.getByRole("link", { name: "All ranks" })).toBeDefined();
});
