import { Button } from "@mantine/core";

import type { MixVersion } from "@/api/types";
import { Icon } from "@/components/icons";
import { ThreeWayTable } from "@/components/three-way-table";
import { Moment } from "@/components/time";
import { ppm } from "@/lib/units";

import classes from "./conflict-panel.module.css";
import { canMerge, draftWeights, mergeDraft, type MixDraft } from "./mix-draft";

interface Props {
  draft: MixDraft;
  theirs: MixVersion;
  onKeepMine: () => void;
  onMerge: () => void;
  onTakeTheirs: () => void;
}

/** Someone else changed the mix meanwhile: what it was, what they made of it, and what this edit makes of it. */
export function ConflictPanel({ draft, theirs, onKeepMine, onMerge, onTakeTheirs }: Props) {
  const merged = canMerge(draft) ? draftWeights(mergeDraft(draft, theirs)) : null;
  const touched = draft.rows.filter((row) => row.touched).map(({ source }) => source);
  const rows = draft.rows
    .map(({ source, weight }, index) => ({
      source,
      index,
      before: draft.before[source] ?? ppm(0),
      theirs: ppm(theirs.weights_ppm[source] ?? 0),
      mine: weight,
      ...(merged && { merged: ppm(merged[source] ?? 0) }),
    }))
    .filter((row) => row.before !== row.theirs || row.before !== row.mine);
  return (
    <section className={classes.panel} role="alert" aria-labelledby="conflict-title">
      <h2 id="conflict-title" className={classes.title}>
        <Icon name="warning" /> {theirs.author} made v{theirs.version} while you edited v
        {draft.basis}
      </h2>
      <p className={classes.why}>
        <Moment at={theirs.created_at} />: “{theirs.reason}”. Nothing of yours was sent, and your
        edit, its reason and its schedule are kept below.
      </p>
      <ThreeWayTable
        rows={rows}
        before={`Before, v${draft.basis}`}
        theirs={`Theirs, v${theirs.version}`}
        mine="Yours"
        {...(merged && { merged: "Both" })}
      />
      {merged && (
        <p className={classes.why}>
          Both: {touched.join(", ")} as you gave {touched.length === 1 ? "it" : "them"}, the others
          as v{theirs.version} has them, in what is left.
        </p>
      )}
      <div className={classes.choice}>
        <Button onClick={onKeepMine}>Keep my weights, on top of v{theirs.version}</Button>
        {merged && (
          <Button variant="default" onClick={onMerge}>
            Take both
          </Button>
        )}
        <Button variant="default" onClick={onTakeTheirs}>
          Take v{theirs.version}, drop my edit
        </Button>
      </div>
    </section>
  );
}
