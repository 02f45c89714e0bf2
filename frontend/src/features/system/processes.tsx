import type { System } from "@/api/types";
import { Panel } from "@/components/panel";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { Age } from "@/components/time";
import { formatCount } from "@/lib/format";

import classes from "./system.module.css";

interface Props {
  processes: System["processes"];
  maxStreams: number;
}

/** The serving processes on the database, on every machine, with what each has in hand. */
export function Processes({ processes, maxStreams }: Props) {
  const streams = processes.reduce((sum, { num_streams: num }) => sum + num, 0);
  return (
    <Panel
      title="Processes"
      about={`Every process that serves this database, on whichever machine; each tells the others of itself every 5 s. Together they hold ${formatCount(streams)} event streams; each holds ${formatCount(maxStreams)} at most.`}
    >
      <RecordTable
        label="Processes"
        columns={[
          "Process",
          "Version",
          "Up for",
          "Event streams",
          "Batches in work",
          "Exports under way",
        ]}
      >
        {processes.map((process) => (
          <RecordRow
            key={`${process.host} ${process.pid} ${process.started_at}`}
            name={
              <>
                {process.host}, {process.pid}
                {process.answered && <span className={classes.small}>answered this page</span>}
              </>
            }
          >
            <RecordCell label="Version">{process.version}</RecordCell>
            <RecordCell label="Up for">
              <Age at={process.started_at} suffix="" />
            </RecordCell>
            <RecordCell label="Event streams">{formatCount(process.num_streams)}</RecordCell>
            <RecordCell label="Batches in work">{formatCount(process.num_batches)}</RecordCell>
            <RecordCell label="Exports under way">{formatCount(process.num_exports)}</RecordCell>
          </RecordRow>
        ))}
      </RecordTable>
    </Panel>
  );
}
