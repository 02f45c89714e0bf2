import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { versionsQuery } from "@/api/queries/mix";
import type { Job, MixVersion } from "@/api/types";
import { Moment } from "@/components/time";
import { formatCount } from "@/lib/format";

import classes from "./job-header.module.css";

/** Which version is in force, since when and by whom; and the one on its way, if any. */
export function MixInForce({ job }: { job: Job }) {
  const versions = useInfiniteQuery(versionsQuery(job.id));
  const inForce = versions.data?.pages
    .flatMap((page) => page.items)
    .find(({ version }) => version === job.mix_version_in_force);
  return (
    <p className={classes.note}>
      {job.mix_version_in_force === null ? "none in force yet" : `v${job.mix_version_in_force}`}
      {inForce && <Since version={inForce} />}
      {job.pending_change && (
        <Link to="/jobs/$jobId/mix" params={{ jobId: job.id }} className={classes.pending}>
          v{job.pending_change.version} {job.pending_change.life.state}
        </Link>
      )}
    </p>
  );
}

function Since({ version }: { version: MixVersion }) {
  const { agreed_step: step, agreed_at: at } = version.life;
  return (
    <>
      {step !== null && ` since step ${formatCount(step)}`}
      {at !== null && (
        <>
          , <Moment at={at} />
        </>
      )}
      , by {version.author}
    </>
  );
}
