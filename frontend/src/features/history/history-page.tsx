import { SegmentedControl } from "@mantine/core";

import { AuditLog } from "./audit-log";
import classes from "./history-page.module.css";
import type { HistorySearch } from "./history-search";
import { VersionList } from "./version-list";

interface Props {
  jobId: string;
  search: HistorySearch;
  onSearch: (search: HistorySearch) => void;
}

/** What became of a job's mix: its versions, each of which can be made again, and everything that was done with it. */
export function HistoryPage({ jobId, search, onSearch }: Props) {
  return (
    <div className={classes.page}>
      <SegmentedControl
        className={classes.views}
        aria-label="What to show"
        value={search.view ?? "versions"}
        onChange={(view) => onSearch(view === "audit" ? { ...search, view } : {})}
        data={[
          { value: "versions", label: "Versions" },
          { value: "audit", label: "Audit log" },
        ]}
      />
      {search.view === "audit" ? (
        <AuditLog jobId={jobId} search={search} onSearch={onSearch} />
      ) : (
        <VersionList jobId={jobId} />
      )}
    </div>
  );
}
