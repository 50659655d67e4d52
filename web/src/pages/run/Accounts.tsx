/** Accounts at the end of the run: collateral, debt, health factor, what was liquidated. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { queries } from "../../api/queries";
import type { RowsPage, RunDetails } from "../../api/types";
import { type DataColumn, DataTable, EmptyState, ErrorState, Loading } from "../../components";
import { SearchField } from "../../components/SearchField";
import { count, counted, DASH, formatCell, healthFactor } from "../../lib/format";
import { useUrlState } from "../../lib/url-state";
import { hasResults, Unfinished } from "./Unfinished";

const MOST = 100_000;
type Value = string | number | null;
type Account = Record<string, Value>;

export function Accounts({ run }: { run: RunDetails }) {
  if (!hasResults(run)) return <Unfinished run={run} what="Accounts" />;
  return <AccountTable run={run} />;
}

function AccountTable({ run }: { run: RunDetails }) {
  const [params, change] = useUrlState();
  const rows = useQuery({
    ...queries.rows(run.run_id, "accounts", { limit: MOST, format: "json" }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const all = useMemo(() => (rows.data ? accountsOf(rows.data as RowsPage) : []), [rows.data]);
  const sought = (params.get("q") ?? "").toLowerCase();
  const shown = useMemo(
    () => (sought ? all.filter((each) => `${each.account} ${each.agent}`.toLowerCase().includes(sought)) : all),
    [all, sought],
  );
  const columns = useMemo(() => COLUMNS, []);
  if (rows.error) return <ErrorState error={rows.error} onRetry={() => void rows.refetch()} />;
  if (!rows.data) return <Loading what="Loading accounts …" />;
  if (all.length === 0)
    return (
      <EmptyState title="No account of this run borrows">
        <p>
          This page lists the collateral, debt and health factor of borrowers. The tab Actions has what the agents did.
        </p>
      </EmptyState>
    );
  return (
    <section aria-label="Accounts">
      <search className="filters" aria-label="Filter the accounts">
        <SearchField
          label="Search accounts"
          placeholder="Account or agent  /"
          value={params.get("q") ?? ""}
          onChange={(q) => change({ q })}
        />
        <span className="muted num" role="status">
          {sought ? `${count(shown.length)} of ${counted(all.length, "account")}` : counted(all.length, "account")}
        </span>
      </search>
      {shown.length === 0 ? (
        <EmptyState title="No account matches" />
      ) : (
        <DataTable
          label="Accounts"
          testId="accounts"
          rows={shown}
          columns={columns}
          rowId={(each) => String(each.seq)}
          href={(each) => `/runs/${run.run_id}/agents?agent=${encodeURIComponent(String(each.account))}`}
          rowHeight={32}
          around={336}
          sort={{ column: "bad_debt", descending: true }}
          shortcuts
        />
      )}
    </section>
  );
}

function accountsOf(page: RowsPage): Account[] {
  return page.rows.map((row) => Object.fromEntries(page.columns.map((name, at) => [name, (row[at] ?? null) as Value])));
}

function money(id: string, header: string, hideBelow?: number): DataColumn<Account> {
  const number = (each: Account) => each[`${id}_number`] as number | null;
  return {
    id,
    header,
    value: number,
    render: (each) => <span title={`${each[id]} ${each.unit}`}>{formatCell(number(each), "usd")}</span>,
    align: "right",
    width: "minmax(80px, 112px)",
    hideBelow,
  };
}

function factorOf(each: Account): number | null {
  const text = each.health_factor;
  if (text === null || text === undefined || text === "") return null;
  const value = Number(text);
  return value > 1e9 ? value / 1e18 : value;
}

const COLUMNS: DataColumn<Account>[] = [
  {
    id: "account",
    header: "Account",
    value: (each) => each.account,
    width: "minmax(110px, 2fr)",
  },
  { id: "agent", header: "Agent", value: (each) => each.agent, width: "minmax(80px, 1fr)", hideBelow: 760 },
  { id: "market", header: "Market", value: (each) => each.market, width: "minmax(80px, 1fr)", hideBelow: 980 },
  money("collateral", "Collateral", 640),
  money("debt", "Debt"),
  {
    id: "health_factor",
    header: "Health factor",
    value: factorOf,
    render: (each) => {
      return healthFactor(factorOf(each));
    },
    align: "right",
    width: "120px",
    hideBelow: 520,
  },
  money("liquidated", "Liquidated", 860),
  money("bad_debt", "Bad debt"),
  {
    id: "reason",
    header: "Why it is still there",
    value: (each) => each.reason,
    render: (each) => <span title={String(each.reason ?? "")}>{each.reason || DASH}</span>,
    width: "minmax(0, 2fr)",
    hideBelow: 1120,
  },
];
