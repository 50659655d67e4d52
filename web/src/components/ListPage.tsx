/** A page that lists everything of one kind: heading, number, table, and what to do while there is nothing. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { counted } from "../lib/format";
import { type DataColumn, DataTable, type DataTableProps } from "./DataTable";
import { EmptyState, ErrorState, Loading } from "./states";

interface Props<T> {
  title: string;
  /** One of the listed things: `training`. */
  one: string;
  query: UseQueryResult<{ items: T[]; total: number }>;
  columns: DataColumn<T>[];
  rowId: (row: T) => string;
  href: (row: T) => string;
  /** A line below the cells of a row, in a narrow window. */
  under?: DataTableProps<T>["under"];
  /** What starts another one, beside the heading. */
  action?: ReactNode;
  /** What to read and do while the list is empty. */
  empty: ReactNode;
  /** Below the table. */
  more?: ReactNode;
}

export function ListPage<T>({ title, one, query, columns, rowId, href, under, action, empty, more }: Props<T>) {
  const many = title.toLowerCase();
  const { data } = query;
  return (
    <>
      <div className="page-head">
        <h1>{title}</h1>
        {action}
      </div>
      {query.error && !data ? (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      ) : !data ? (
        <Loading what={`Loading ${many} …`} />
      ) : data.items.length === 0 ? (
        <EmptyState title={`No ${many} yet`}>{empty}</EmptyState>
      ) : (
        <>
          <div className="list-line">
            <span className="muted num" role="status">
              {counted(data.total, one)}
            </span>
          </div>
          <DataTable
            label={title}
            testId={many}
            rows={data.items}
            columns={columns}
            rowId={rowId}
            href={href}
            under={under}
            total={data.total}
            around={236}
            shortcuts
          />
          {more}
        </>
      )}
    </>
  );
}
