import { TextInput } from "@mantine/core";
import { useEffect, useEffectEvent, useState } from "react";

import { useDebounced } from "@/lib/use-debounced";

interface Props {
  label: string;
  placeholder: string;
  value: string;
  /** Called with the trimmed text once typing rests. */
  onSettle: (text: string) => void;
}

/** A search field whose text may live in the address: typing never waits for the address to follow. */
export function SearchBox({ label, placeholder, value, onSettle }: Props) {
  const [text, setText] = useState(value);
  const settled = useDebounced(text.trim(), 200);
  const settle = useEffectEvent((next: string) => {
    if (next !== value) onSettle(next);
  });
  useEffect(() => settle(settled), [settled]);
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}
