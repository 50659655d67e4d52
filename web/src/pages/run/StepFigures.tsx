/** Market figures after a step, with their change in it; accounts as a table. */
import { useMemo } from "react";
import type { StepDetails } from "../../api/types";
import { type DataColumn, DataTable, EmptyState } from "../../components";
import { changed, type Figure, named, shown } from "./figure-text";

interface Subject {
  name: string;
  figures: Map<string, Figure>;
}

const FEW = 8;

export interface Grouped {
  markets: Subject[];
  accounts: Subject[];
}

/** Separate markets and groups from single accounts, which are many and share their figures. */
export function grouped(step: StepDetails): Grouped {
  const subjects = new Map<string, Subject>();
  for (const figure of step.figures) {
    const subject = subjects.get(figure.subject) ?? { name: figure.subject, figures: new Map() };
    subject.figures.set(figure.metric, figure);
    subjects.set(figure.subject, subject);
  }
  const all = [...subjects.values()];
  const isAccount = (subject: Subject) => /-\d+$/.test(subject.name) && subject.figures.has("debt");
  const accounts = all.filter(isAccount);
  return accounts.length > FEW
    ? { markets: all.filter((each) => !isAccount(each)), accounts }
    : { markets: all, accounts: [] };
}

export function MarketFigures({ subjects, before }: { subjects: Subject[]; before: StepDetails | undefined }) {
  const old = new Map(before?.figures.map((each) => [`${each.subject} ${each.metric}`, each.number]));
  if (subjects.length === 0) return <EmptyState title="No figures at this step" />;
  return (
    <section aria-label="Figures after the step" className="step-figures">
      {subjects.map(({ name, figures }) => (
        <div key={name} className="step-subject">
          <h2>{name}</h2>
          <dl>
            {[...figures.values()].map((figure) => (
              <div key={figure.metric}>
                <dt>{named(figure.metric)}</dt>
                <dd className="num" title={`${figure.value} ${figure.unit}`}>
                  <span className="small">{changed(figure, old.get(`${name} ${figure.metric}`))}</span> {shown(figure)}
                </dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
    </section>
  );
}

interface AccountsProps {
  runId: string;
  accounts: Subject[];
}

/** Accounts after the step, those in most danger first. */
export function StepAccounts({ runId, accounts }: AccountsProps) {
  const metrics = useMemo(() => [...new Set(accounts.flatMap((each) => [...each.figures.keys()]))], [accounts]);
  const key = metrics.join(" ");
  const columns = useMemo<DataColumn<Subject>[]>(
    () => [
      { id: "name", header: "Account", value: (each) => each.name, width: "minmax(110px, 2fr)" },
      ...key.split(" ").map(
        (metric): DataColumn<Subject> => ({
          id: metric,
          header: named(metric).replace(/^./, (letter) => letter.toUpperCase()),
          value: (each) => each.figures.get(metric)?.number,
          render: (each) => shown(each.figures.get(metric)),
          align: "right",
          width: "minmax(88px, 1fr)",
        }),
      ),
    ],
    [key],
  );
  return (
    <DataTable
      label="Accounts after the step"
      testId="step-accounts"
      rows={accounts}
      columns={columns}
      rowId={(each) => each.name}
      href={(each) => `/runs/${runId}/agents?agent=${encodeURIComponent(each.name)}`}
      sort={{ column: "health_factor", descending: false }}
      rowHeight={32}
      around={480}
    />
  );
}
