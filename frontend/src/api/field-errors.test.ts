import { expect, it } from "vitest";

import { fieldErrors } from "./field-errors";
import { ApiProblem } from "./problem";

const problem = (errors: { loc: (string | number)[]; msg: string }[]) =>
  new ApiProblem(422, {
    detail: "1 value refused",
    errors: errors.map((error) => ({ ...error, value: null })),
  });

it("has nothing to say of what was not refused", () => {
  expect(fieldErrors(null, ["name"]).rest).toBeNull();
  expect(fieldErrors(null, ["name"]).of("name")).toBeUndefined();
});

it("puts each refusal beside its field, nested ones too", () => {
  const errors = fieldErrors(
    problem([
      { loc: ["body", "name"], msg: "too long" },
      { loc: ["body", "scopes", 0], msg: "unknown" },
    ]),
    ["name", "scopes"],
  );
  expect(errors.of("name")).toBe("too long");
  expect(errors.of("scopes")).toBe("unknown");
  expect(errors.rest).toBeNull();
});

it("loses nothing: what no field shows stands above the form", () => {
  expect(fieldErrors(problem([{ loc: ["body"], msg: "name either" }]), ["rule"]).rest).toContain(
    "name either",
  );
  const conflict = new ApiProblem(409, { detail: "there is already a project 'a'" });
  expect(fieldErrors(conflict, ["name"]).rest).toBe("there is already a project 'a'");
  expect(fieldErrors(new TypeError("failed"), ["name"]).rest).toBe("The server can't be reached.");
});
