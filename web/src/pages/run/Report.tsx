import { useState } from "react";
import { saveFile } from "../../api/client";
import type { RunDetails, TableName } from "../../api/types";
import { toastError } from "../../components";
import { hasResults, Unfinished } from "./Unfinished";

const TABLES: [TableName, string][] = [
  ["actions", "every action with its exact fields"],
  ["market_snapshots", "market figures after each step"],
  ["kpis", "key figures of the run"],
  ["accounts", "accounts at the end"],
];

/** Files of the run: report, PDF, bundle, tables. */
export function Report({ run }: { run: RunDetails }) {
  if (!hasResults(run)) return <Unfinished run={run} what="Files" />;
  const where = `/runs/${encodeURIComponent(run.run_id)}`;
  return (
    <div className="stack files">
      <section>
        <h2>Report</h2>
        <p className="lead">One file for a risk committee, complete in itself.</p>
        <p className="row">
          <a className="button primary" href={`${where}/report`} target="_blank" rel="noreferrer">
            Open the report
          </a>
          <SaveButton path={`${where}/report`} name={`${run.run_id}.html`} label="HTML" />
          <SaveButton path={`${where}/report.pdf`} name={`${run.run_id}.pdf`} label="PDF" />
        </p>
      </section>
      <section>
        <h2>Bundle</h2>
        <p className="lead">
          Scenario, tables and digests in one archive, which <code>mayavi artifact verify</code> checks.
        </p>
        <p className="row">
          <SaveButton path={`${where}/artifact`} name={`${run.run_id}.zip`} label="Download the bundle" />
        </p>
      </section>
      <section>
        <h2>Tables</h2>
        <table className="exports">
          <tbody>
            {TABLES.map(([table, what]) => (
              <tr key={table}>
                <th scope="row">
                  <code>{table}</code>
                </th>
                <td className="left muted">{what}</td>
                <td>
                  <span className="row">
                    <SaveButton
                      path={`${where}/rows/${table}?format=csv&limit=100000`}
                      name={`${run.run_id}-${table}.csv`}
                      label="CSV"
                    />
                    <SaveButton
                      path={`${where}/rows/${table}?format=arrow&limit=100000`}
                      name={`${run.run_id}-${table}.arrow`}
                      label="Arrow"
                    />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <p className="small">Files hold the first 100,000 rows; the API pages through more.</p>
      </section>
    </div>
  );
}

function SaveButton({ path, name, label }: { path: string; name: string; label: string }) {
  const [busy, setBusy] = useState(false);
  async function save() {
    setBusy(true);
    try {
      await saveFile(path, name);
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  }
  return (
    <button type="button" disabled={busy} onClick={() => void save()}>
      {busy ? "Preparing …" : label}
      <span className="sr">: download {name}</span>
    </button>
  );
}
