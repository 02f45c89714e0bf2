import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { FIGURES, type XAxis } from "@/api/queries/figure";
import { jobQuery } from "@/api/queries/job";
import { FigureCard } from "@/charts/figure-card";
import { LoadingState } from "@/components/page-states";

import classes from "./job-page.module.css";
import { SourcesTable } from "./sources-table";

interface Props {
  jobId: string;
  x: XAxis | undefined;
  onX: (x: XAxis | undefined) => void;
}

/** The job's sources and its charts, over steps or over time. */
export function JobPage({ jobId, x, onX }: Props) {
  const job = useQuery(jobQuery(jobId));
  if (job.data === undefined) return <LoadingState label="Loading the job" rows={2} height={260} />;
  return (
    <>
      <SourcesTable job={job.data} />
      <div className={classes.bar}>
        <h2>Charts</h2>
        <SegmentedControl
          aria-label="Charts run over"
          value={x ?? "step"}
          onChange={(next) => onX(next === "time" ? "time" : undefined)}
          data={[
            { value: "step", label: "By step" },
            { value: "time", label: "By time" },
          ]}
        />
      </div>
      <div className={classes.charts}>
        {FIGURES.map((name) => (
          <FigureCard
            key={name}
            jobId={jobId}
            jobName={job.data.name}
            name={name}
            x={x ?? "step"}
          />
        ))}
      </div>
    </>
  );
}
