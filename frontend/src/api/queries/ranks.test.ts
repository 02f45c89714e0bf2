import { QueryClient } from "@tanstack/react-query";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { JOB_ID, rankState } from "@/testing/fixtures";
import { at, server } from "@/testing/server";

import { heldRanksPaceMs, ranksPaceMs, ranksQuery } from "./ranks";

const ask = (client = new QueryClient()) => client.query({ ...ranksQuery(JOB_ID), retry: 0 });

it("fetches every page", async () => {
  const asked: string[] = [];
  server.use(
    http.get(at(`/jobs/${JOB_ID}/ranks`), ({ request }) => {
      const cursor = new URL(request.url).searchParams.get("cursor") ?? "";
      asked.push(cursor);
      const page = Number(cursor || 0);
      return HttpResponse.json({
        items: [rankState({ rank: 2 * page }), rankState({ rank: 2 * page + 1 })],
        attempt: 1,
        next_cursor: page < 2 ? String(page + 1) : null,
      });
    }),
  );
  const client = new QueryClient();
  const { items, attempt } = await ask(client);
  expect(asked).toEqual(["", "1", "2"]);
  expect(items.map(({ rank }) => rank)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(attempt).toBe(1);
  expect(heldRanksPaceMs(client, JOB_ID)).toBe(2000);
});

it("never mixes two attempts: begins anew when another one starts between two pages", async () => {
  let answers = 0;
  server.use(
    http.get(at(`/jobs/${JOB_ID}/ranks`), ({ request }) => {
      answers += 1;
      const second = new URL(request.url).searchParams.has("cursor");
      const attempt = answers === 1 ? 1 : 2;
      return HttpResponse.json({
        items: [rankState({ rank: second ? 1 : 0, step: attempt * 100 })],
        attempt,
        next_cursor: second ? null : "more",
      });
    }),
  );
  const { items, attempt } = await ask();
  expect(attempt).toBe(2);
  expect(items.map(({ step }) => step)).toEqual([200, 200]);
});

it("fetches thousands of ranks as seldom as they report", () => {
  expect(ranksPaceMs(0)).toBe(2000);
  expect(ranksPaceMs(4000)).toBe(2000);
  expect(ranksPaceMs(10_240)).toBe(5120);
});
