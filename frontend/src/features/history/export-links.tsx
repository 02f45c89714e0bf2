import classes from "./history-page.module.css";

const LABELS = { mix: "Versions", activations: "Activations", audit: "Audit log" } as const;

interface Props {
  jobId: string;
  kinds: readonly (keyof typeof LABELS)[];
}

/** The whole of what a page shows, as files: the server makes them. */
export function ExportLinks({ jobId, kinds }: Props) {
  return (
    <p className={classes.exports}>
      {kinds.map((kind) => (
        <a key={kind} href={`/api/v1/jobs/${jobId}/export?what=${kind}&format=csv`} download>
          {LABELS[kind]} as CSV
        </a>
      ))}
    </p>
  );
}
