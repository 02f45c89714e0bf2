import { ApiProblem, errorMessage } from "./problem";

/** What the server refused, by the name of the field, and in `rest` what belongs to none of them; null for nothing. */
export interface FieldErrors {
  of: (field: string) => string | undefined;
  rest: string | null;
}

/** Sorts the refusal of a form to its fields; what concerns none of `fields` is kept to be shown above the form. */
export function fieldErrors(error: unknown, fields: readonly string[]): FieldErrors {
  if (error === null || error === undefined) return { of: () => undefined, rest: null };
  const items = error instanceof ApiProblem ? (error.body.errors ?? []) : [];
  const byField = new Map<string, string>();
  let strays = false;
  for (const { loc, msg } of items) {
    const field = loc[0] === "body" ? loc[1] : undefined;
    if (typeof field === "string" && fields.includes(field)) byField.set(field, msg);
    else strays = true;
  }
  return {
    of: (field) => byField.get(field),
    rest: byField.size === 0 || strays ? errorMessage(error) : null,
  };
}
