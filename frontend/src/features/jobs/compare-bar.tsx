import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { plural } from "@/lib/format";

import classes from "./jobs-page.module.css";

/** So many jobs can be compared at once. */
export const MAX_COMPARED = 10;

interface Props {
  ids: readonly string[];
  onClear: () => void;
}

/** What is chosen to be compared, and the way there; nothing while nothing is chosen. */
export function CompareBar({ ids, onClear }: Props) {
  if (ids.length === 0) return null;
  return (
    <div className={classes.compare} role="region" aria-label="Chosen jobs">
      <span role="status">
        {plural(ids.length, "job")} chosen
        {ids.length === 1 && "; choose another one to compare"}
        {ids.length === MAX_COMPARED && "; no more than that are compared at once"}
      </span>
      {ids.length > 1 && (
        <Button
          size="xs"
          renderRoot={(props: object) => (
            <Link to="/compare" search={{ jobs: ids.join(",") }} {...props} />
          )}
        >
          Compare {ids.length} jobs
        </Button>
      )}
      <Button variant="default" size="xs" onClick={onClear}>
        Choose none
      </Button>
    </div>
  );
}
