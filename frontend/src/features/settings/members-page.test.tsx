import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import type { Member, Role } from "@/api/types";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { MembersPage } from "./members-page";

const member = (username: string, role: Role): Member => ({
  username,
  role,
  added_at: "2026-11-30T09:00:00Z",
  disabled: false,
});

function serve(role: Role, members: Member[]) {
  const user = { username: "ada", is_admin: false, roles: { default: role } };
  server.use(
    http.get(at("/session"), () => HttpResponse.json({ user, csrf_token: "t" })),
    http.get(at("/projects/default/members"), () =>
      HttpResponse.json({ items: members, next_cursor: null }),
    ),
  );
}

it("keeps the last admin from being taken out, and says so", async () => {
  serve("admin", [member("ada", "admin"), member("bo", "viewer")]);
  renderPage(<MembersPage project="default" />);
  const ada = await screen.findByRole("row", { name: /ada/ });
  expect(await within(ada).findByText("the last admin stays")).toBeDefined();
  expect(within(ada).queryByRole("button")).toBeNull();
  const bo = screen.getByRole("row", { name: /bo/ });
  expect(within(bo).getByRole("button", { name: /Remove/ })).toBeDefined();
});

it("says beside the role why it could not be changed", async () => {
  serve("admin", [member("ada", "admin"), member("eve", "admin")]);
  server.use(
    http.put(at("/projects/default/members/eve"), () =>
      HttpResponse.json(
        { detail: "'eve' is the last admin of project 'default'" },
        { status: 409 },
      ),
    ),
  );
  renderPage(<MembersPage project="default" />);
  const role = await screen.findByRole("combobox", { name: "Role of eve" });
  await userEvent.selectOptions(role, "viewer");
  expect((await screen.findByRole("alert")).textContent).toContain("last admin");
  expect((role as HTMLSelectElement).value).toBe("admin");
});

it("shows a viewer who is who, with the reason there is nothing to change", async () => {
  serve("viewer", [member("ada", "viewer"), member("bo", "admin")]);
  renderPage(<MembersPage project="default" />);
  expect(await screen.findByText(/You are a viewer of default/)).toBeDefined();
  await screen.findByRole("row", { name: /bo/ });
  expect(screen.queryByRole("button")).toBeNull();
  expect(screen.queryByRole("combobox")).toBeNull();
});
