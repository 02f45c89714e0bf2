import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { expect, it, vi } from "vitest";

import { getCsrfToken } from "@/api/csrf-token";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { LoginPage } from "./login-page";

async function logIn(answer: () => Response) {
  server.use(http.post(at("/session"), answer));
  const onLogin = vi.fn();
  renderPage(<LoginPage next="/jobs?state=running" onLogin={onLogin} />);
  await userEvent.type(await screen.findByRole("textbox", { name: "Name" }), "ada");
  await userEvent.type(screen.getByLabelText("Password"), "secret{Enter}");
  return onLogin;
}

it("keeps the session's token and goes on", async () => {
  const session = { user: { username: "ada", is_admin: true, roles: {} }, csrf_token: "token-1" };
  const onLogin = await logIn(() => HttpResponse.json(session));
  await vi.waitFor(() => expect(onLogin.mock.calls[0]?.[0]).toEqual(session));
  expect(getCsrfToken()).toBe("token-1");
});

it("does not say which of the two was wrong", async () => {
  const onLogin = await logIn(() => HttpResponse.json({ detail: "no user ada" }, { status: 401 }));
  expect((await screen.findByRole("alert")).textContent).toBe("Wrong name or password.");
  expect(onLogin).not.toHaveBeenCalled();
});

it("passes on how long to wait after too many tries", async () => {
  await logIn(() => HttpResponse.json({ detail: "too many tries; wait 60 s" }, { status: 429 }));
  expect((await screen.findByRole("alert")).textContent).toBe("too many tries; wait 60 s");
});

it("offers the provider where one is set up", async () => {
  const provider = { name: "sso.example", url: "/api/v1/session/oidc/login" };
  server.use(http.get(at("/session/methods"), () => HttpResponse.json({ provider })));
  renderPage(<LoginPage next="/jobs?state=running" onLogin={vi.fn()} />);
  const link = await screen.findByRole("link", { name: "Log in with sso.example" });
  expect(link.getAttribute("href")).toBe(
    "/api/v1/session/oidc/login?next=%2Fjobs%3Fstate%3Drunning",
  );
});
