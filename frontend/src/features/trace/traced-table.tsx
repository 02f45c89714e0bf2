import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";

import { SourceName } from "@/components/source-name";
import { formatCount } from "@/lib/format";

import classes from "./trace-page.module.css";
import type { TracedFile } from "./traced-file";

const ROW_PX = 30;
const COLUMNS = ["Slot", "Source", "Row", "Tokens", "Shard", "Text"] as const;

interface Props {
  file: TracedFile;
  rows: Uint32Array;
  /** The job's sources in order: a source keeps its colour. */
  sources: readonly string[];
}

/** The documents of a file; only the rows in sight are in the page. */
export function TracedTable({ file, rows, sources }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  // The rows in sight change with every scroll, which the compiler must not memoise away.
  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const columns = COLUMNS.filter((column) => column !== "Text" || file.texts !== null);
  return (
    <div
      ref={scroller}
      className={classes.scroller}
      role="region"
      aria-label="Documents, scrolls both ways"
      // A scrolling region must be reachable by keyboard.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <div role="table" aria-label="Documents" aria-rowcount={rows.length + 1}>
        <div role="rowgroup" className={classes.tracedHead}>
          <div role="row" className={classes.tracedRow} data-texts={file.texts !== null}>
            {columns.map((column) => (
              <div key={column} role="columnheader" className={classes.cell}>
                {column}
              </div>
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          className={classes.tracedBody}
          style={{ height: virtual.getTotalSize() }}
        >
          {virtual.getVirtualItems().map(({ index, start }) => (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              className={classes.tracedRow}
              data-texts={file.texts !== null}
              data-placed
              style={{ transform: `translateY(${start}px)`, height: ROW_PX }}
            >
              <Cells file={file} at={rows[index] ?? 0} sources={sources} />
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function Cells({
  file,
  at,
  sources,
}: {
  file: TracedFile;
  at: number;
  sources: readonly string[];
}) {
  const source = file.sources[file.source[at] ?? 0] ?? "";
  const path = file.paths[file.path[at] ?? 0] ?? "";
  const place = sources.indexOf(source);
  return (
    <>
      <Cell>{formatCount(file.slot[at] ?? 0)}</Cell>
      <Cell>
        <SourceName name={source} index={place === -1 ? sources.length : place} />
      </Cell>
      <Cell>{formatCount(file.row[at] ?? 0)}</Cell>
      <Cell>
        {formatCount(file.start[at] ?? 0)}–{formatCount(file.end[at] ?? 0)}
      </Cell>
      <Cell title={path}>{path}</Cell>
      {file.texts !== null && <Cell title={file.texts[at]}>{file.texts[at]?.slice(0, 300)}</Cell>}
    </>
  );
}

function Cell({ children, title }: { children: React.ReactNode; title?: string | undefined }) {
  return (
    <div role="cell" className={classes.cell} title={title}>
      {children}
    </div>
  );
}
