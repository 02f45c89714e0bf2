import { http, HttpResponse } from "msw";
import { afterEach, expect, it, vi } from "vitest";

import { JOB_ID, mixVersion } from "@/testing/fixtures";
import { at, server } from "@/testing/server";

import { api, onUnauthorized, unwrap } from "./client";
import { connection } from "./connection";
import { setCsrfToken } from "./csrf-token";
import { ApiProblem, errorMessage } from "./problem";
import { proposeMix } from "./queries/mix";

afterEach(() => setCsrfToken(null));

it("sends the CSRF token and If-Match on a write, and no token on a read", async () => {
  const seen: (string | null)[] = [];
  server.use(
    http.get(at("/projects"), ({ request }) => {
      seen.push(request.headers.get("X-CSRF-Token"));
      return HttpResponse.json({ items: [] });
    }),
    http.put(at(`/jobs/${JOB_ID}/mix`), ({ request }) => {
      seen.push(request.headers.get("X-CSRF-Token"), request.headers.get("If-Match"));
      return HttpResponse.json(mixVersion({ version: 4 }));
    }),
  );
  setCsrfToken("token-1");
  await unwrap(api.GET("/api/v1/projects"));
  const made = await proposeMix(JOB_ID, 3, { weights: { code: 1 }, reason: "why", ramp_steps: 0 });
  expect(made.version).toBe(4);
  expect(seen).toEqual([null, "token-1", '"v3"']);
});

it("tells of a 401 from anything but the login", async () => {
  const asked = vi.fn();
  const stop = onUnauthorized(asked);
  const refused = () => HttpResponse.json({ detail: "no session", status: 401 }, { status: 401 });
  server.use(http.get(at("/projects"), refused), http.post(at("/session"), refused));
  await expect(
    unwrap(api.POST("/api/v1/session", { body: { username: "a", password: "b" } })),
  ).rejects.toThrow("no session");
  expect(asked).not.toHaveBeenCalled();
  await expect(unwrap(api.GET("/api/v1/projects"))).rejects.toThrow("no session");
  expect(asked).toHaveBeenCalledOnce();
  stop();
});

it("keeps the whole problem, the colliding version too", async () => {
  const current = mixVersion({ version: 5 });
  server.use(
    http.put(at(`/jobs/${JOB_ID}/mix`), () =>
      HttpResponse.json(
        { status: 412, detail: "v5 is newest", code: "stale", current },
        { status: 412 },
      ),
    ),
  );
  const error: unknown = await proposeMix(JOB_ID, 3, {
    weights: { code: 1 },
    reason: "why",
    ramp_steps: 0,
  }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ApiProblem);
  expect((error as ApiProblem).body.current).toEqual(current);
});

it("survives an error page that is not JSON, and says when there is no answer at all", async () => {
  server.use(
    http.get(at("/projects"), () => new HttpResponse("<h1>Bad gateway</h1>", { status: 502 })),
  );
  const error: unknown = await unwrap(api.GET("/api/v1/projects")).catch(
    (reason: unknown) => reason,
  );
  expect(errorMessage(error)).toBe("The server answered 502.");

  server.use(http.get(at("/projects"), () => HttpResponse.error()));
  const cut: unknown = await unwrap(api.GET("/api/v1/projects")).catch((reason: unknown) => reason);
  expect(errorMessage(cut)).toBe("The server can't be reached.");
  expect(connection.get().answering).toBe(false);
});
