import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it, vi } from "vitest";

import { renderPage } from "@/testing/render";

import { ConfirmDialog } from "./confirm-dialog";

function Page({ onConfirm, typed }: { onConfirm: () => Promise<unknown>; typed?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button onClick={() => setOpen(true)}>Delete…</button>
      {open && (
        <ConfirmDialog
          title="Delete it?"
          confirm="Delete"
          onConfirm={onConfirm}
          onClose={() => setOpen(false)}
          {...(typed !== undefined && { typed })}
        >
          It is gone then.
        </ConfirmDialog>
      )}
    </>
  );
}

async function open(onConfirm: () => Promise<unknown>, typed?: string) {
  renderPage(<Page onConfirm={onConfirm} {...(typed !== undefined && { typed })} />);
  const opener = await screen.findByRole("button", { name: "Delete…" });
  await userEvent.click(opener);
  return opener;
}

it("has the focus on the safe answer, and gives it back", async () => {
  const confirm = vi.fn(() => Promise.resolve());
  const opener = await open(confirm);
  expect(screen.getByRole("dialog", { name: "Delete it?" })).toBeDefined();
  const cancel = screen.getByRole("button", { name: "Cancel" });
  expect(document.activeElement).toBe(cancel);
  await userEvent.click(cancel);
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(document.activeElement).toBe(opener);
  expect(confirm).not.toHaveBeenCalled();
});

it("closes by Escape, which browsers tell as cancel", async () => {
  await open(() => Promise.resolve());
  fireEvent(screen.getByRole("dialog"), new Event("cancel", { cancelable: true }));
  expect(screen.queryByRole("dialog")).toBeNull();
});

it("does it once, and closes when it is done", async () => {
  let finish = () => undefined as unknown;
  const confirm = vi.fn(() => new Promise((resolve) => (finish = () => resolve(null))));
  await open(confirm);
  const button = screen.getByRole("button", { name: "Delete" });
  await userEvent.click(button);
  fireEvent.click(button);
  expect(screen.getByRole("dialog")).toBeDefined();
  finish();
  await vi.waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(confirm).toHaveBeenCalledOnce();
});

it("stays and says why when it was refused", async () => {
  await open(() => Promise.reject(new Error("it is in use")));
  await userEvent.click(screen.getByRole("button", { name: "Delete" }));
  expect((await screen.findByRole("alert")).textContent).toBe("it is in use");
  expect(screen.getByRole("dialog")).toBeDefined();
});

it("waits for the name to be typed, by Enter too", async () => {
  const confirm = vi.fn(() => Promise.resolve());
  await open(confirm, "vision");
  const field = screen.getByRole("textbox", { name: /Type “vision”/ });
  expect(document.activeElement).toBe(field);
  await userEvent.type(field, "visio{Enter}");
  expect(confirm).not.toHaveBeenCalled();
  await userEvent.type(field, "n{Enter}");
  await vi.waitFor(() => expect(confirm).toHaveBeenCalledOnce());
});
