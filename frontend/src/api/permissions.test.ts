import { expect, it } from "vitest";

import { may } from "./permissions";
import type { Session } from "./types";

const session = (roles: Session["user"]["roles"], isAdmin = false): Session => ({
  user: { username: "someone", is_admin: isAdmin, roles },
  csrf_token: "token",
});

it("lets each role do what the server lets it, in its own project only", () => {
  const roles = { a: "viewer", b: "operator", c: "approver", d: "admin" } as const;
  const allowed = Object.keys(roles).map((project) =>
    (["read", "operate", "approve", "administer"] as const).filter((permission) =>
      may(session(roles), project, permission),
    ),
  );
  expect(allowed).toEqual([
    ["read"],
    ["read", "operate"],
    ["read", "operate", "approve"],
    ["read", "operate", "approve", "administer"],
  ]);
  expect(may(session(roles), "elsewhere", "read")).toBe(false);
});

it("lets an administrator of the server do everything everywhere", () => {
  expect(may(session({}, true), "anything", "administer")).toBe(true);
});
