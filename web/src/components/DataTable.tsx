/** A table of rows in memory: virtual, sortable, with links, selection and keys. */
import {
  type ColumnDef,
  getCoreRowModel,
  getSortedRowModel,
  type SortingState,
  useReactTable,
} from "@tanstack/react-table";
import { type ReactNode, useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";
import { useShortcuts } from "../lib/keys";
import { type GridColumn, VirtualGrid } from "./VirtualGrid";

export interface DataColumn<T> {
  id: string;
  header: string;
  unit?: string;
  /** What the column sorts by, and shows unless `render` is given. */
  value: (row: T) => string | number | null | undefined;
  render?: (row: T) => ReactNode;
  width: string;
  align?: "left" | "right";
  hideBelow?: number;
  /** Breaks its text into two lines instead of cutting it off after one. */
  wraps?: boolean;
  sortable?: boolean;
}

export interface Sort {
  column: string;
  descending: boolean;
}

export interface DataTableProps<T> {
  label: string;
  rows: T[];
  columns: DataColumn<T>[];
  rowId: (row: T) => string;
  /** Address of a row: the first column links to it, Enter and a click open it. */
  href?: (row: T) => string;
  /** Sorting by the service; without `onSort` the table sorts its rows itself. */
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  selection?: ReadonlySet<string>;
  onSelection?: (next: Set<string>) => void;
  total?: number;
  rowHeight?: number;
  /** A line below the cells of a row, in a table narrower than `below` pixels. */
  under?: { below: number; rowHeight: number; render: (row: T) => ReactNode };
  around?: number;
  onRange?: (first: number, last: number) => void;
  shortcuts?: boolean;
  footer?: ReactNode;
  testId?: string;
}

const NONE: never[] = [];
const UNDER = "under";

export function DataTable<T>(props: DataTableProps<T>) {
  const { rows, columns, rowId, href, selection, onSelection, onSort } = props;
  const bySelf = onSort === undefined;
  const navigate = useNavigate();
  const [own, setOwn] = useState<SortingState>(
    props.sort ? [{ id: props.sort.column, desc: props.sort.descending }] : [],
  );
  const [currentId, setCurrentId] = useState<string | null>(null);
  const sorting = onSort && props.sort ? [{ id: props.sort.column, desc: props.sort.descending }] : own;
  const defined = useMemo<ColumnDef<T>[]>(
    () =>
      columns.map((column) => ({
        id: column.id,
        accessorFn: (row) => column.value(row) ?? undefined,
        sortUndefined: "last",
        sortDescFirst: column.align === "right",
      })),
    [columns],
  );
  // Rows that the service has sorted stay as they are: a row model of many thousands would take too long.
  const table = useReactTable({
    data: bySelf ? rows : NONE,
    columns: defined,
    state: { sorting },
    manualSorting: onSort !== undefined,
    getRowId: rowId,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const sorted = table.getRowModel().rows;
  const shown = useMemo(() => (bySelf ? sorted.map((row) => row.original) : rows), [bySelf, rows, sorted]);
  const current = currentId === null ? -1 : shown.findIndex((row) => rowId(row) === currentId);

  function idAt(at: number): string {
    const row = shown[at];
    return row === undefined ? String(at) : rowId(row);
  }

  function sortBy(column: DataColumn<T>) {
    const now = sorting[0];
    const descending = now?.id === column.id ? !now.desc : column.align === "right";
    if (onSort) onSort({ column: column.id, descending });
    else setOwn([{ id: column.id, desc: descending }]);
  }

  function toggle(id: string) {
    if (!selection || !onSelection) return;
    const next = new Set(selection);
    if (!next.delete(id)) next.add(id);
    onSelection(next);
  }

  const byId = new Map(columns.map((column) => [column.id, column]));
  const heads: GridColumn[] = columns.map((column) => {
    const direction = sorting[0]?.id === column.id ? (sorting[0].desc ? "descending" : "ascending") : undefined;
    return {
      id: column.id,
      width: column.width,
      align: column.align,
      hideBelow: column.hideBelow,
      wraps: column.wraps,
      sorted: direction,
      head: (
        <Head
          column={column}
          direction={direction}
          onSort={column.sortable === false ? undefined : () => sortBy(column)}
        />
      ),
    };
  });
  if (selection) heads.unshift({ id: "select", width: "20px", head: <span className="sr">Selected</span> });
  const linked = columns[0]?.id;

  function cell(at: number, id: string): ReactNode {
    const row = shown[at];
    if (row === undefined) return null;
    if (id === "select")
      return (
        <input
          type="checkbox"
          checked={selection?.has(rowId(row)) ?? false}
          onChange={() => toggle(rowId(row))}
          aria-label={`Select ${rowId(row)}`}
        />
      );
    if (id === UNDER) return props.under?.render(row);
    const column = byId.get(id);
    if (!column) return null;
    const value = column.render ? column.render(row) : (column.value(row) ?? <span className="muted">–</span>);
    if (id !== linked || !href) return value;
    return (
      <Link to={href(row)} data-row-link="" tabIndex={at === Math.max(current, 0) ? 0 : -1}>
        {value}
      </Link>
    );
  }

  return (
    <>
      {props.shortcuts && selection && <SelectKey onToggle={() => current >= 0 && toggle(idAt(current))} />}
      <VirtualGrid
        label={props.label}
        columns={heads}
        count={shown.length}
        total={props.total}
        rowHeight={props.rowHeight}
        under={props.under && { ...props.under, id: UNDER }}
        around={props.around}
        cell={cell}
        rowKey={idAt}
        rowClass={(at) => (selection?.has(idAt(at)) ? "chosen" : "")}
        onOpen={href && ((at) => shown[at] !== undefined && void navigate(href(shown[at])))}
        current={current}
        onCurrent={(at) => setCurrentId(idAt(at))}
        onRange={props.onRange}
        shortcuts={props.shortcuts}
        footer={props.footer}
        testId={props.testId}
      />
    </>
  );
}

interface HeadProps {
  column: { header: string; unit?: string };
  direction?: "ascending" | "descending";
  onSort?: () => void;
}

function Head({ column, direction, onSort }: HeadProps) {
  const text = (
    <span className="cut">
      {column.header}
      {column.unit && <span className="muted">, {column.unit}</span>}
    </span>
  );
  if (!onSort) return text;
  return (
    <button type="button" className="grid-sort" onClick={onSort}>
      {text}
      {direction && (
        <span className="arrow" aria-hidden="true">
          {direction === "ascending" ? "↑" : "↓"}
        </span>
      )}
    </button>
  );
}

function SelectKey({ onToggle }: { onToggle: () => void }) {
  useShortcuts([{ keys: "x", text: "select the row", run: onToggle }]);
  return null;
}
