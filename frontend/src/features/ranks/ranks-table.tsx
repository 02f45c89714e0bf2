import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";

import type { RankState } from "@/api/types";

import type { RankColumn } from "./rank-columns";
import type { RanksSearch } from "./ranks-search";
import { RanksTableHead } from "./ranks-table-head";
import classes from "./ranks-table.module.css";

interface Props {
  ranks: readonly RankState[];
  columns: readonly RankColumn[];
  search: RanksSearch;
  onSearch: (search: RanksSearch) => void;
}

const ROW_PX = 34;

/** Thousands of ranks: only the rows in sight are in the page, and the roles tell how many there are. */
export function RanksTable({ ranks, columns, search, onSearch }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  // The rows in sight change with every scroll, which the compiler must not memoise away.
  // eslint-disable-next-line react-hooks/incompatible-library
  const rows = useVirtualizer({
    count: ranks.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 6,
  });
  const template = columns.map(({ width }) => `${width / 14}em`).join(" ");
  return (
    <div
      ref={scroller}
      className={classes.scroller}
      role="region"
      aria-label="Ranks, scrolls both ways"
      // A scrolling region must be reachable by keyboard.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <div
        role="table"
        aria-label="Ranks"
        aria-rowcount={ranks.length + 1}
        className={classes.table}
      >
        <RanksTableHead columns={columns} template={template} search={search} onSearch={onSearch} />
        <div role="rowgroup" className={classes.body} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const rank = ranks[index];
            if (rank === undefined) return null;
            return (
              <div
                key={rank.rank}
                role="row"
                aria-rowindex={index + 2}
                className={classes.row}
                style={{
                  transform: `translateY(${start}px)`,
                  gridTemplateColumns: template,
                  height: ROW_PX,
                }}
              >
                {columns.map((column) => (
                  <div
                    key={column.key}
                    role="cell"
                    className={classes.cell}
                    data-number={column.number}
                  >
                    {column.cell(rank)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
