import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";

import type { MixChange, MixVersion, Session } from "@/api/types";

import { job, JOB_ID, mixVersion, session } from "./fixtures";
import { at, server } from "./server";

/** A PUT of the mix, as it came. */
export interface Put {
  ifMatch: string | null;
  body: Record<string, unknown>;
}

/** What was put, in order. */
export const puts: Put[] = [];
/** What somebody else made of version 3. */
export const theirs = mixVersion({
  version: 4,
  weights_ppm: { code: 400_000, prose: 400_000, legal: 200_000 },
  author: "bo",
  reason: "more prose",
});

/** The changes that the server has. */
export const changes: MixChange[] = [];

/** Has the server have these changes from now on. */
export const haveChanges = (...held: MixChange[]) => changes.splice(0, changes.length, ...held);

/** What was posted, in order. */
export const posts: { path: string; ifMatch: string | null; body: unknown }[] = [];

/** What is posted to `path` of the job, and `answer` to it. */
export const onPost = (path: string, answer: () => Response) =>
  http.post(at(`/jobs/${JOB_ID}/mix/${path}`), async ({ request }) => {
    posts.push({ path, ifMatch: request.headers.get("If-Match"), body: await request.json() });
    return answer();
  });

/** A server whose newest version is `newest`: a write on top of any other is refused with it. */
export function serve(newest: () => MixVersion, reader: Session = session("ada", "operator")) {
  puts.length = 0;
  posts.length = 0;
  server.use(
    http.get(at("/session"), () => HttpResponse.json(reader)),
    http.get(at("/projects/default/settings"), () =>
      HttpResponse.json({ requires_approval: false }),
    ),
    http.get(at(`/jobs/${JOB_ID}/mix/changes`), () =>
      HttpResponse.json({ items: changes, next_cursor: null }),
    ),
    http.get(at(`/jobs/${JOB_ID}`), () => HttpResponse.json(job())),
    http.get(at(`/jobs/${JOB_ID}/mix`), () => HttpResponse.json(mixVersion())),
    http.post(at(`/jobs/${JOB_ID}/mix/preview`), () =>
      HttpResponse.json({
        weights_ppm: { code: 700_000, prose: 180_000, legal: 120_000 },
        delta_ppm: { code: 200_000, prose: -120_000, legal: -80_000 },
        epochs_at_end: { code: 12.345, prose: 0.5, legal: null },
        warnings: [
          { code: "many_epochs", source: "code", message: "code would be read 12.3 times" },
        ],
      }),
    ),
    http.put(at(`/jobs/${JOB_ID}/mix`), async ({ request }) => {
      const body = (await request.json()) as Put["body"];
      puts.push({ ifMatch: request.headers.get("If-Match"), body });
      const current = newest();
      if (request.headers.get("If-Match") !== `"v${current.version}"`) {
        return HttpResponse.json({ status: 412, code: "stale", current }, { status: 412 });
      }
      return HttpResponse.json(
        mixVersion({
          version: current.version + 1,
          parent: current.version,
          reason: String(body.reason),
        }),
      );
    }),
  );
}

/** A text field by its name. */
export const field = (name: string) => screen.findByRole<HTMLInputElement>("textbox", { name });
/** Who clicks and types. */
export const user = userEvent.setup();

/** Types into a field, in place of what it holds. */
export async function type(name: string, text: string) {
  const input = await field(name);
  await user.clear(input);
  await user.type(input, text);
}

/** Presses the button that sends an edit. */
export async function send() {
  await user.click(screen.getByRole("button", { name: "Send the change" }));
}
