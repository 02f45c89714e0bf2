import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";

import { CopyableId } from "./copyable-id";

const ID = "0b7c1a4e-9d57-4a3f-8f33-6d2f0f1f5a10";

it("shows the head of the id and copies it whole", async () => {
  const user = userEvent.setup();
  render(<CopyableId id={ID} label="job id" />);
  const button = screen.getByRole("button", { name: `Copy job id ${ID}` });
  expect(button.textContent).toBe("0b7c1a4e");
  await user.click(button);
  expect((await screen.findByRole("status")).textContent).toBe("copied");
  expect(await navigator.clipboard.readText()).toBe(ID);
});

it("shows it whole, to be marked by hand, where there is no clipboard", async () => {
  userEvent.setup({ writeToClipboard: false });
  Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
  render(<CopyableId id={ID} label="job id" />);
  await userEvent.click(screen.getByRole("button"));
  expect((await screen.findByText(ID)).tagName).toBe("CODE");
});
