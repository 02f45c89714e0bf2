import { Button } from "@mantine/core";

import type { MixVersion } from "@/api/types";
import { Icon } from "@/components/icons";
import { SourceName } from "@/components/source-name";
import { Moment } from "@/components/time";
import { formatPpm } from "@/lib/format";
import { ppm } from "@/lib/units";

import classes from "./conflict-panel.module.css";
import type { MixDraft } from "./mix-draft";

interface Props {
  draft: MixDraft;
  theirs: MixVersion;
  onKeepMine: () => void;
  onTakeTheirs: () => void;
}

/** Someone else changed the mix meanwhile: what it was, what they made of it, and what this edit makes of it. */
export function ConflictPanel({ draft, theirs, onKeepMine, onTakeTheirs }: Props) {
  return (
    <section className={classes.panel} role="alert" aria-labelledby="conflict-title">
      <h2 id="conflict-title" className={classes.title}>
        <Icon name="warning" /> {theirs.author} made v{theirs.version} while you edited v
        {draft.basis}
      </h2>
      <p className={classes.why}>
        <Moment at={theirs.created_at} />: “{theirs.reason}”. Nothing of yours was sent, and your
        edit is kept below.
      </p>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col">Before, v{draft.basis}</th>
            <th scope="col">Theirs, v{theirs.version}</th>
            <th scope="col">Yours</th>
          </tr>
        </thead>
        <tbody>
          {draft.rows.map(({ source, weight }, index) => {
            const before = draft.before[source] ?? ppm(0);
            const other = ppm(theirs.weights_ppm[source] ?? 0);
            return (
              <tr key={source}>
                <th scope="row">
                  <SourceName name={source} index={index} />
                </th>
                <td>{formatPpm(before)}</td>
                <td data-changed={other !== before}>{formatPpm(other)}</td>
                <td data-changed={weight !== before}>{formatPpm(weight)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <div className={classes.choice}>
        <Button onClick={onKeepMine}>Keep my weights, on top of v{theirs.version}</Button>
        <Button variant="default" onClick={onTakeTheirs}>
          Take v{theirs.version}, drop my edit
        </Button>
      </div>
    </section>
  );
}
