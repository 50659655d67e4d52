/** The page of one stored result: where it stands, its report, or why there is none. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { PageData } from "../api/types";
import { Crumbs } from "./Crumbs";
import { PageView } from "./PageView";
import { ReportLinks } from "./ReportLinks";
import { ErrorState, Loading } from "./states";

interface Props {
  /** The list it belongs to: address and heading. */
  list: { to: string; title: string };
  /** What it is: `Training`. */
  kind: string;
  id: string;
  page: UseQueryResult<PageData>;
  /** An error of another request that the page needs. */
  error?: unknown;
  /** Badges and links beside the id. */
  children?: ReactNode;
  /** Shown above an error. */
  problem?: ReactNode;
}

export function ResultPage({ list, kind, id, page, error, children, problem }: Props) {
  const failure = error ?? page.error;
  return (
    <>
      <Crumbs to={list.to} list={list.title} id={id}>
        {children}
        {page.data && <ReportLinks html={`${list.to}/${encodeURIComponent(id)}/report`} />}
      </Crumbs>
      {page.data ? (
        <PageView page={page.data} />
      ) : (
        <>
          <h1 className="sr">
            {kind} {id}
          </h1>
          {failure ? (
            <>
              {problem}
              <ErrorState error={failure} onRetry={() => void page.refetch()} />
            </>
          ) : (
            <Loading what="Building the report …" />
          )}
        </>
      )}
    </>
  );
}
