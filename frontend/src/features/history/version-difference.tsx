import type { MixVersion } from "@/api/types";
import { formatPpm, formatPpmDelta } from "@/lib/format";
import { mixDifference } from "@/lib/mix-difference";
import { ppm } from "@/lib/units";

import classes from "./history-page.module.css";

interface Props {
  version: MixVersion;
  parent: MixVersion | undefined;
}

/** What a version changed; all its weights where there is nothing to compare it with. */
export function VersionDifference({ version, parent }: Props) {
  if (parent === undefined) return <AllWeights version={version} />;
  const changes = mixDifference(parent.weights_ppm, version.weights_ppm);
  if (changes.length === 0)
    return <p className={classes.note}>The same weights as v{parent.version}.</p>;
  return (
    <ul className={classes.changes} aria-label={`Changes from v${parent.version}`}>
      {changes.map(({ source, before, after }) => (
        <li key={source}>
          {source} <span className={classes.before}>{formatPpm(ppm(before))}</span> →{" "}
          {formatPpm(ppm(after))}{" "}
          <span className={classes.delta}>({formatPpmDelta(after - before)})</span>
        </li>
      ))}
    </ul>
  );
}

function AllWeights({ version }: { version: MixVersion }) {
  return (
    <ul className={classes.changes} aria-label="Weights">
      {Object.entries(version.weights_ppm).map(([source, weight]) => (
        <li key={source}>
          {source} {formatPpm(ppm(weight))}
        </li>
      ))}
    </ul>
  );
}
