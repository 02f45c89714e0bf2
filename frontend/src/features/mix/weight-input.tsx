import { TextInput } from "@mantine/core";
import { useState } from "react";

import { percentText } from "@/lib/format";
import { percentToPpm, ppm, WHOLE, type Ppm } from "@/lib/units";

import classes from "./mix-editor.module.css";
import { weightAfterKey } from "./weight-keys";

interface Props {
  source: string;
  weight: Ppm;
  onWeight: (weight: Ppm) => void;
}

/** A percentage as typed, `12.5` or `12,5`, from 0 to 100; null for anything else. */
export function parsePercent(text: string): Ppm | null {
  const plain = text.trim().replace(",", ".").replace(/\s*%$/, "");
  if (!/^\d*\.?\d+$|^\d+\.$/.test(plain)) return null;
  const weight = percentToPpm(Number(plain));
  return weight <= WHOLE ? weight : null;
}

/** A weight in percent. While it is being typed in, the text is the reader's; on leaving, it is the weight. */
export function WeightInput({ source, weight, onWeight }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const wrong = typed !== null && parsePercent(typed) === null;
  return (
    <TextInput
      className={classes.weight}
      size="xs"
      inputMode="decimal"
      aria-label={`Weight of ${source}, percent`}
      error={wrong ? "0 to 100" : undefined}
      value={typed ?? percentText(weight, 2)}
      rightSection={<span aria-hidden="true">%</span>}
      rightSectionPointerEvents="none"
      onFocus={(event) => event.currentTarget.select()}
      onBlur={() => setTyped(null)}
      onKeyDown={(event) => {
        if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
        event.preventDefault();
        const next = weightAfterKey(weight, event);
        if (next !== null) onWeight(ppm(next));
        setTyped(null);
      }}
      onChange={(event) => {
        const text = event.currentTarget.value;
        const parsed = parsePercent(text);
        setTyped(text);
        if (parsed !== null) onWeight(parsed);
      }}
    />
  );
}
