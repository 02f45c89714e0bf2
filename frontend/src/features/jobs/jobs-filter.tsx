import { NativeSelect } from "@mantine/core";

import { SearchBox } from "@/components/search-box";

import classes from "./jobs-page.module.css";
import { JOB_STATES, jobsSearch, type JobsSearch } from "./jobs-search";

interface Props {
  search: JobsSearch;
  onSearch: (search: JobsSearch) => void;
}

/** Search by name and filter by state; both stand in the address, so that a view can be shared. */
export function JobsFilter({ search, onSearch }: Props) {
  return (
    <form className={classes.filter} role="search" onSubmit={(event) => event.preventDefault()}>
      <SearchBox
        label="Search jobs by name"
        placeholder="Search by name"
        value={search.q ?? ""}
        onSettle={(q) => onSearch(jobsSearch({ ...search, q }))}
      />
      <NativeSelect
        aria-label="State"
        value={search.state ?? ""}
        onChange={(event) => onSearch(jobsSearch({ ...search, state: event.currentTarget.value }))}
        data={[{ value: "", label: "All states" }, ...JOB_STATES]}
      />
    </form>
  );
}
