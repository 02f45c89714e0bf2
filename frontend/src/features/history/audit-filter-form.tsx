import { Button, TextInput } from "@mantine/core";
import { useState, type SyntheticEvent } from "react";

import classes from "./history-page.module.css";
import type { HistorySearch } from "./history-search";

interface Props {
  search: HistorySearch;
  onSearch: (search: HistorySearch) => void;
}

const FIELDS = [
  { name: "q", label: "Text", type: "search", hint: "in reasons, before and after" },
  { name: "actor", label: "By", type: "search", hint: "exactly: ada, key:ci" },
  { name: "action", label: "What", type: "search", hint: "mix.edit, or all of mix" },
  { name: "from", label: "From", type: "date", hint: "" },
  { name: "to", label: "To", type: "date", hint: "" },
] as const;

/** What to look for; searched when it is asked for, and kept in the address. */
export function AuditFilterForm({ search, onSearch }: Props) {
  const [typed, setTyped] = useState<HistorySearch>(search);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const filled = FIELDS.map(({ name }) => [name, typed[name]?.trim() ?? ""] as const);
    const given = Object.fromEntries(filled.filter(([, value]) => value !== ""));
    onSearch({ view: "audit", ...given });
  };
  return (
    <form className={classes.filter} onSubmit={submit} role="search" aria-label="Audit log">
      {FIELDS.map(({ name, label, type, hint }) => (
        <TextInput
          key={name}
          size="xs"
          type={type}
          label={label}
          placeholder={hint}
          maxLength={name === "action" ? 64 : 200}
          value={typed[name] ?? ""}
          onChange={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })}
        />
      ))}
      <Button type="submit" size="xs">
        Search
      </Button>
      <Button
        size="xs"
        variant="default"
        onClick={() => {
          setTyped({});
          onSearch({ view: "audit" });
        }}
      >
        Clear
      </Button>
    </form>
  );
}
