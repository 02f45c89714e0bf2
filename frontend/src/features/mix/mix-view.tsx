import type { Job, MixVersion } from "@/api/types";
import { MixBar } from "@/components/mix-bar";
import { SourceName } from "@/components/source-name";
import { formatPpm } from "@/lib/format";
import { ppm } from "@/lib/units";

import classes from "./mix-editor.module.css";

/** The weights of the newest version, for who may look and not change. */
export function MixView({ job, newest }: { job: Job; newest: MixVersion }) {
  const parts = job.mix.map(({ source }) => ({
    source,
    ppm: ppm(newest.weights_ppm[source] ?? 0),
  }));
  return (
    <div className={classes.form}>
      <p className={classes.note}>
        You may look at the mix of {job.project} and not change it: that takes an operator, an
        approver or an admin of the project.
      </p>
      <MixBar parts={parts} label={`Weights of v${newest.version}`} />
      <table className={classes.view}>
        <caption className={classes.caption}>Weights of v{newest.version}</caption>
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col" className={classes.number}>
              Weight
            </th>
          </tr>
        </thead>
        <tbody>
          {parts.map(({ source, ppm: weight }, index) => (
            <tr key={source} className={classes.row}>
              <th scope="row" className={classes.source}>
                <SourceName name={source} index={index} />
                {weight === 0 && <span className={classes.paused}>paused</span>}
              </th>
              <td className={classes.number}>{formatPpm(weight)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
