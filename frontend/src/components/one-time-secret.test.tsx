import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";

import { renderPage } from "@/testing/render";

import { OneTimeSecret } from "./one-time-secret";

it("shows the secret whole, warns, and copies it", async () => {
  const user = userEvent.setup();
  const done = vi.fn();
  renderPage(<OneTimeSecret label="API key" secret="hr_abc" onDone={done} />);
  expect((await screen.findByLabelText("API key")).textContent).toBe("hr_abc");
  expect(screen.getByText(/the only time that the API key is shown/)).toBeDefined();
  await user.click(screen.getByRole("button", { name: "Copy" }));
  expect(await screen.findByText("Copied.")).toBeDefined();
  expect(await navigator.clipboard.readText()).toBe("hr_abc");
  await user.click(screen.getByRole("button", { name: "I have kept it" }));
  expect(done).toHaveBeenCalledOnce();
});

it("selects it where the browser gives no clipboard", async () => {
  const user = userEvent.setup();
  vi.spyOn(navigator.clipboard, "writeText").mockRejectedValue(new Error("denied"));
  renderPage(<OneTimeSecret label="API key" secret="hr_abc" onDone={vi.fn()} />);
  await user.click(await screen.findByRole("button", { name: "Copy" }));
  expect(await screen.findByText(/doesn’t allow copying/)).toBeDefined();
  expect(window.getSelection()?.toString()).toBe("hr_abc");
});
