import { TextInput } from "@mantine/core";
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";

import { ApiProblem } from "@/api/problem";
import { renderPage } from "@/testing/render";

import { ActionForm } from "./action-form";

it("shows a refusal beside its field, and can be sent again", async () => {
  let tries = 0;
  const send = () => {
    tries += 1;
    const errors = [{ loc: ["body", "name"], msg: "the name is too long", value: "x" }];
    return tries === 1
      ? Promise.reject(new ApiProblem(422, { detail: "1 value refused", errors }))
      : Promise.resolve("made");
  };
  const made: string[] = [];
  renderPage(
    <ActionForm submit="Make" fields={["name"]} onSubmit={send} onDone={(it) => made.push(it)}>
      {(errors) => <TextInput label="Name" error={errors.of("name")} />}
    </ActionForm>,
  );
  const field = await screen.findByRole("textbox", { name: "Name" });
  await userEvent.type(field, "x{Enter}");
  expect(await screen.findByText("the name is too long")).toBeDefined();
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(screen.queryByRole("alert")).toBeNull();
  await userEvent.type(field, "{Enter}");
  await screen.findByRole("button", { name: "Make" });
  expect(made).toEqual(["made"]);
});
