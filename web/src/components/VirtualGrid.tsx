/** Rows of a table of any length, of which only the visible ones exist; moved through by keyboard. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useShortcuts } from "../lib/keys";

export interface GridColumn {
  id: string;
  head: ReactNode;
  /** A track of the CSS grid: `96px`, `minmax(120px, 2fr)`. */
  width: string;
  align?: "left" | "right";
  /** Hidden while the table is narrower than this many pixels. */
  hideBelow?: number;
  /** Breaks its text into two lines instead of cutting it off after one. */
  wraps?: boolean;
  /** Direction, on the sorted column. */
  sorted?: "ascending" | "descending";
}

interface Props {
  label: string;
  columns: GridColumn[];
  count: number;
  /** Total that a screen reader is told, where more rows exist than are loaded. */
  total?: number;
  rowHeight?: number;
  /** In a table narrower than `below` pixels, the cell `id` stands under the others, in rows of another height. */
  under?: { id: string; below: number; rowHeight: number };
  /** Height of everything else on the page, in pixels. */
  around?: number;
  cell: (row: number, column: string) => ReactNode;
  rowKey?: (row: number) => string;
  rowClass?: (row: number) => string;
  /** Called with a pressed row: Enter, or a click outside of links and buttons. */
  onOpen?: (row: number) => void;
  current: number;
  onCurrent: (row: number) => void;
  /** Called with the first and last visible row. */
  onRange?: (first: number, last: number) => void;
  /** Keys of the page (`j`, `k`) move the current row of this table. */
  shortcuts?: boolean;
  footer?: ReactNode;
  testId?: string;
}

export function VirtualGrid(props: Props) {
  const { label, columns, count, around = 260, current, onCurrent, onOpen, onRange } = props;
  const view = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(1280);
  const wantsFocus = useRef(false);
  const under = props.under && width < props.under.below ? props.under : undefined;
  const rowHeight = under?.rowHeight ?? props.rowHeight ?? 40;
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => view.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    useFlushSync: false,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? -1;

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 1280)));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    void rowHeight;
    virtual.measure();
  }, [virtual, rowHeight]);

  useEffect(() => {
    if (last >= 0) onRange?.(first, last);
  }, [first, last, onRange]);

  useEffect(() => {
    if (!wantsFocus.current || current < first || current > last) return;
    const row = view.current?.querySelector<HTMLElement>(`[data-row="${current}"]`);
    (row?.querySelector<HTMLElement>("[data-row-link]") ?? row)?.focus({ preventScroll: true });
    if (row) wantsFocus.current = false;
  });

  function firstSeen(): number {
    return Math.ceil((view.current?.scrollTop ?? 0) / rowHeight);
  }

  function move(to: number) {
    if (count === 0) return;
    const row = Math.max(0, Math.min(count - 1, to));
    wantsFocus.current = true;
    virtual.scrollToIndex(row, { align: "auto" });
    onCurrent(row);
  }

  function press(event: KeyboardEvent) {
    if ((event.target as Element).closest("input:not([type=checkbox]), select, textarea")) return;
    const page = Math.max(1, Math.floor((view.current?.clientHeight ?? 400) / rowHeight) - 1);
    const moves: Record<string, number> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: count - 1,
    };
    const to = moves[event.key];
    const pressed = (event.target as Element).closest("a, button, summary") !== null;
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && onOpen && current >= 0 && !pressed) onOpen(current);
    else return;
    event.preventDefault();
  }

  const shown = columns.filter((column) => column.id !== under?.id && (!column.hideBelow || width >= column.hideBelow));
  const template = { gridTemplateColumns: shown.map((column) => column.width).join(" ") };
  const whole = virtual.getTotalSize();
  return (
    <div
      className={`grid ${virtual.scrollRect && whole > virtual.scrollRect.height + 1 ? "scrolls" : ""}`}
      role="table"
      aria-label={label}
      aria-rowcount={(props.total ?? count) + 1}
      ref={box}
      data-testid={props.testId}
    >
      {props.shortcuts && <RowKeys onMove={(by) => move(current < 0 ? firstSeen() : current + by)} />}
      <div className="grid-head" role="rowgroup">
        <div className="grid-line" role="row" aria-rowindex={1} style={template}>
          {shown.map((column) => (
            <div
              key={column.id}
              role="columnheader"
              aria-sort={column.sorted}
              className={`grid-cell ${column.align ?? "left"}`}
            >
              {column.head}
            </div>
          ))}
        </div>
      </div>
      <div
        className="grid-view"
        role="rowgroup"
        tabIndex={0}
        ref={view}
        onKeyDown={press}
        style={{ height: `min(${whole}px, max(320px, calc(100vh - ${around}px)))` }}
      >
        <div className="grid-space" role="presentation" style={{ height: whole }}>
          {items.map((item) => (
            <div
              key={props.rowKey?.(item.index) ?? item.index}
              role="row"
              tabIndex={-1}
              aria-rowindex={item.index + 2}
              data-row={item.index}
              className={`grid-line grid-row ${onOpen ? "opens" : ""} ${item.index === current ? "current" : ""} ${props.rowClass?.(item.index) ?? ""}`}
              style={{ ...template, height: rowHeight, transform: `translateY(${item.start}px)` }}
              onClick={(event) => {
                if ((event.target as Element).closest("a, button, input, label")) return;
                if (window.getSelection()?.toString()) return; // text is being selected
                onCurrent(item.index);
                onOpen?.(item.index);
              }}
              onFocus={() => item.index !== current && onCurrent(item.index)}
            >
              {shown.map((column) => (
                <div
                  key={column.id}
                  role="cell"
                  className={`grid-cell ${column.align ?? "left"}${column.wraps ? " wraps" : ""}`}
                >
                  {props.cell(item.index, column.id)}
                </div>
              ))}
              {under && (
                <div role="cell" className="grid-cell grid-under wraps">
                  {props.cell(item.index, under.id)}
                </div>
              )}
            </div>
          ))}
        </div>
      </div>
      {props.footer}
    </div>
  );
}

function RowKeys({ onMove }: { onMove: (by: number) => void }) {
  useShortcuts([
    { keys: "j", text: "next row", run: () => onMove(1) },
    { keys: "k", text: "previous row", run: () => onMove(-1) },
  ]);
  return null;
}
