/** Tables of reports, as text. Ids of runs lead to their runs, commands are copied. */
import { useState } from "react";
import { Link } from "react-router";
import type { TableBlock } from "../api/types";
import { count, counted } from "../lib/format";
import { Address, CommandLine, CopyButton } from "./CopyButton";
import { Prose } from "./Prose";

const FIRST = 50;
const RUN_ID = /^\d{8}-\d{6,9}-[a-z0-9]{6,12}$/;
const COMMAND = /^(mayavi|python) /;

interface Props {
  table: TableBlock;
  label: string;
  /** Address of what the first cell of a row names. */
  rowLink?: (name: string) => string;
}

/** The rows of a table block. A long table shows its first rows, and says how many there are. */
export function StaticTable({ table, label, rowLink }: Props) {
  const [all, setAll] = useState(false);
  if (table.rows.length === 0) return <p className="state">{table.empty}</p>;
  const rows = all ? table.rows : table.rows.slice(0, FIRST);
  return (
    <>
      <div className={all ? "scroll tall" : "scroll"} tabIndex={0} role="group" aria-label={label}>
        <table>
          <thead>
            <tr>
              {table.columns.map((column, at) => (
                <th key={at} scope="col" className={column.align}>
                  {column.label}
                  {column.unit && <span className="muted">, {column.unit}</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, number) => (
              <tr key={number}>
                {row.map((text, at) => (
                  <TableCell key={at} text={text} first={at === 0} column={table.columns[at]} rowLink={rowLink} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length < table.rows.length ? (
        <p className="table-rest">
          <span className="muted num">
            The first {count(rows.length)} of {counted(table.rows.length, "row")}
          </span>
          <button type="button" onClick={() => setAll(true)}>
            Show all
          </button>
        </p>
      ) : (
        all && <p className="table-rest muted num">{counted(table.rows.length, "row")}</p>
      )}
    </>
  );
}

type Column = TableBlock["columns"][number];

interface CellProps {
  text: string;
  first: boolean;
  column?: Column;
  rowLink?: Props["rowLink"];
}

function TableCell({ text, first, column, rowLink }: CellProps) {
  const mono = column?.format === "code" || RUN_ID.test(text);
  const className = `${column?.align ?? "left"}${mono ? " mono" : ""}`;
  const shown = first && rowLink ? <Link to={rowLink(text)}>{text}</Link> : <CellText text={text} column={column} />;
  return first ? (
    <th scope="row" className={className}>
      {shown}
    </th>
  ) : (
    <td className={className}>{shown}</td>
  );
}

function CellText({ text, column }: { text: string; column?: Column }) {
  if (column?.format === "address") return <Address text={text} />;
  if (RUN_ID.test(text)) return <Link to={`/runs/${text}`}>{text}</Link>;
  if (COMMAND.test(text)) return <CopyButton text={text} label="Copy command" className="tiny" />;
  return text;
}

/** A table block with title, note and command. */
export function TableView({ table, rowLink }: Omit<Props, "label">) {
  return (
    <div className="table">
      {table.title && <h3>{table.title}</h3>}
      <StaticTable table={table} label={table.title || "Table"} rowLink={rowLink} />
      {table.note && (
        <p className="source">
          <Prose text={table.note} />
        </p>
      )}
      {table.command && <CommandLine text={table.command} label="Command for the complete table" />}
    </div>
  );
}
