import type { MixPreview } from "@/api/types";
import { Icon } from "@/components/icons";
import { ErrorState } from "@/components/page-states";

import classes from "./mix-editor.module.css";

interface Props {
  preview: MixPreview | undefined;
  error: unknown;
  /** The preview is of weights typed before these. */
  stale: boolean;
}

/** What the server warns of, before anything is sent. */
export function PreviewNotes({ preview, error, stale }: Props) {
  if (error) return <ErrorState error={error} />;
  return (
    <ul className={classes.warnings} aria-label="Warnings" aria-live="polite" aria-busy={stale}>
      {preview?.warnings.map(({ code, source, message }) => (
        <li key={`${code}:${source}`}>
          <Icon name="warning" /> {message}
        </li>
      ))}
    </ul>
  );
}
