import { NativeSelect, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { SearchBox } from "@/components/search-box";

import classes from "./jobs-filter.module.css";
import { isFiltered, JOB_STATES, jobsSearch, type JobsSearch } from "./jobs-search";

interface Props {
  search: JobsSearch;
  onSearch: (search: JobsSearch) => void;
  projects: readonly string[];
  project: string | undefined;
}

/** What narrows the list; all of it stands in the address, so that a view can be shared. */
export function JobsFilter({ search, onSearch, projects, project }: Props) {
  const set = (change: { [key in keyof JobsSearch]?: unknown }) =>
    onSearch(jobsSearch({ ...search, ...change }));
  const tags = search.tag ?? [];
  return (
    <form
      className={classes.filter}
      role="search"
      aria-label="Jobs"
      onSubmit={(event) => event.preventDefault()}
    >
      {projects.length > 1 && (
        <NativeSelect
          label="Project"
          value={project}
          onChange={(event) => set({ project: event.currentTarget.value })}
          data={[...projects]}
        />
      )}
      <Labelled label="Name">
        <SearchBox
          label="Search jobs by name"
          placeholder="any"
          value={search.q ?? ""}
          onSettle={(q) => set({ q })}
        />
      </Labelled>
      <NativeSelect
        label="State"
        value={search.state ?? ""}
        onChange={(event) => set({ state: event.currentTarget.value })}
        data={[{ value: "", label: "any" }, ...JOB_STATES]}
      />
      <Labelled label="Owner">
        <SearchBox
          key={search.owner}
          label="Owner, as shown"
          placeholder="any"
          value={search.owner ?? ""}
          onSettle={(owner) => set({ owner })}
        />
      </Labelled>
      <Labelled label="Tags">
        <SearchBox
          key={tags.join(",")}
          label="Tags, as name=value or name"
          placeholder="any"
          value={tags.join(", ")}
          onSettle={(text) => set({ tag: text.split(",").map((tag) => tag.trim()) })}
        />
      </Labelled>
      <Day label="Created from" value={search.from} onChange={(from) => set({ from })} />
      <Day label="to" value={search.to} onChange={(to) => set({ to })} />
      <NativeSelect
        label="Show"
        value={search.archived ? "archived" : ""}
        onChange={(event) => set({ archived: event.currentTarget.value === "archived" })}
        data={[
          { value: "", label: "current" },
          { value: "archived", label: "archived" },
        ]}
      />
      {isFiltered(search) && (
        <Link
          to="/jobs"
          search={search.project === undefined ? {} : { project: search.project }}
          className={classes.clear}
        >
          Clear the filter
        </Link>
      )}
    </form>
  );
}

function Labelled({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div>
      <span className={classes.label} aria-hidden="true">
        {label}
      </span>
      {children}
    </div>
  );
}

interface DayProps {
  label: string;
  value: string | undefined;
  onChange: (day: string) => void;
}

function Day({ label, value, onChange }: DayProps) {
  return (
    <TextInput
      type="date"
      label={label}
      aria-label={label === "to" ? "Created to" : undefined}
      value={value ?? ""}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
