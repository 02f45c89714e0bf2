import type { RankColumn } from "./rank-columns";
import { ranksSearch, type RanksSearch } from "./ranks-search";
import classes from "./ranks-table.module.css";

interface Props {
  columns: readonly RankColumn[];
  template: string;
  search: RanksSearch;
  onSearch: (search: RanksSearch) => void;
}

/** Column heads; a press sorts by the column, largest first, and another turns it round. */
export function RanksTableHead({ columns, template, search, onSearch }: Props) {
  const sortBy = (sort: NonNullable<RankColumn["sort"]>) => {
    const turn = search.sort === sort && !search.up;
    onSearch(ranksSearch({ ...search, sort, up: turn }));
  };
  return (
    <div role="rowgroup" className={classes.head}>
      <div
        role="row"
        aria-rowindex={1}
        className={classes.headRow}
        style={{ gridTemplateColumns: template }}
      >
        {columns.map(({ key, label, number, sort }) => (
          <div
            key={key}
            role="columnheader"
            className={classes.cell}
            data-number={number}
            aria-sort={
              sort && search.sort === sort ? (search.up ? "ascending" : "descending") : undefined
            }
          >
            {sort === undefined ? (
              label
            ) : (
              <button type="button" className={classes.sort} onClick={() => sortBy(sort)}>
                {label}
                <span aria-hidden="true">
                  {search.sort !== sort ? "" : search.up ? " ↑" : " ↓"}
                </span>
              </button>
            )}
          </div>
        ))}
      </div>
    </div>
  );
}
