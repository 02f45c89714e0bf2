import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { jobQuery } from "@/api/queries/job";
import { projectsQuery } from "@/api/queries/projects";

import { alertsSearch, KINDS, STATES, type AlertsSearch } from "./alerts-search";
import classes from "./alerts.module.css";

interface Props {
  search: AlertsSearch;
  onSearch: (search: AlertsSearch) => void;
}

/** Which alerts are shown; it stands in the address, so that a view can be shared. */
export function AlertsFilter({ search, onSearch }: Props) {
  const projects = useQuery(projectsQuery()).data ?? [];
  const set = (change: Partial<Record<keyof AlertsSearch, string>>) =>
    onSearch(alertsSearch({ ...search, ...change }));
  return (
    <div className={classes.filter} role="group" aria-label="Filter alerts">
      <NativeSelect
        aria-label="Project"
        value={search.project ?? ""}
        onChange={(event) => set({ project: event.currentTarget.value })}
        data={[{ value: "", label: "All projects" }, ...projects.map(({ name }) => name)]}
      />
      <NativeSelect
        aria-label="State"
        value={search.state ?? ""}
        onChange={(event) => set({ state: event.currentTarget.value })}
        data={[{ value: "", label: "All states" }, ...STATES]}
      />
      <NativeSelect
        aria-label="Kind"
        value={search.kind ?? ""}
        onChange={(event) => set({ kind: event.currentTarget.value })}
        data={[{ value: "", label: "All kinds" }, ...KINDS]}
      />
      {search.job !== undefined && <JobChip jobId={search.job} onClear={() => set({ job: "" })} />}
    </div>
  );
}

function JobChip({ jobId, onClear }: { jobId: string; onClear: () => void }) {
  const job = useQuery(jobQuery(jobId));
  const name = job.data?.name ?? jobId.slice(0, 8);
  return (
    <button type="button" className={classes.chip} onClick={onClear}>
      Job {name} <span aria-hidden="true">×</span>
      <span className={classes.hidden}>: show all jobs</span>
    </button>
  );
}
