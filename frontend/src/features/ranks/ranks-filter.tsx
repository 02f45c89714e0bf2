import { Button, NativeSelect } from "@mantine/core";

import type { RankState } from "@/api/types";
import { SearchBox } from "@/components/search-box";
import { formatCount } from "@/lib/format";

import { countStates, RANK_STATES } from "./rank-states";
import classes from "./ranks-page.module.css";
import { ranksSearch, type RanksSearch } from "./ranks-search";

interface Props {
  ranks: readonly RankState[];
  search: RanksSearch;
  onSearch: (search: RanksSearch) => void;
}

/** Which ranks the table has, and in which order; all of it stands in the address. */
export function RanksFilter({ ranks, search, onSearch }: Props) {
  const counts = countStates(ranks);
  const change = (part: { [key in keyof RanksSearch]?: unknown }) =>
    onSearch(ranksSearch({ ...search, ...part }));
  const filtered = Boolean(search.q ?? search.state ?? search.host);
  return (
    <div className={classes.tools}>
      {search.sort !== undefined && (
        <Button variant="default" onClick={() => change({ sort: "slowest", up: false })}>
          Slowest first
        </Button>
      )}
      {filtered && (
        <Button variant="default" onClick={() => change({ q: "", state: "", host: "" })}>
          Show all
        </Button>
      )}
      <NativeSelect
        aria-label="State of the ranks"
        value={search.state ?? ""}
        onChange={(event) => change({ state: event.currentTarget.value })}
        data={[
          { value: "", label: "All states" },
          ...RANK_STATES.map((state) => ({
            value: state,
            label: `${state === "stuck" ? "not advancing" : state} (${formatCount(counts[state])})`,
          })),
        ]}
      />
      <SearchBox
        // A press on a host in the table, or on "Show all", sets the text from outside.
        key={`host:${search.host ?? ""}`}
        label="Filter by host"
        placeholder="Host"
        value={search.host ?? ""}
        onSettle={(host) => change({ host })}
      />
      <SearchBox
        key={search.q === undefined ? "no text" : "text"}
        label="Filter by rank, state or host"
        placeholder="Rank, state or host"
        value={search.q ?? ""}
        onSettle={(q) => change({ q })}
      />
    </div>
  );
}
