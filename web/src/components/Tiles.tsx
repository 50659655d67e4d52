import type { PageTile } from "../api/types";

/** One key figure: value, interval, unit and change; the exact value on hover. */
export function Tile({ tile }: { tile: PageTile }) {
  const below = [tile.unit, tile.change].filter(Boolean).join(" · ");
  return (
    <div className={`tile ${tile.tone}`} title={tile.exact || undefined}>
      <dt>{tile.label}</dt>
      <dd className="value">{tile.value}</dd>
      {tile.interval && <dd className="num small">{tile.interval}</dd>}
      {below && <dd className="num small">{below}</dd>}
    </div>
  );
}

export function Tiles({ tiles }: { tiles: PageTile[] }) {
  if (tiles.length === 0) return null;
  return (
    <dl className={`tiles of-${tiles.length}`} data-testid="tiles">
      {tiles.map((tile, at) => (
        <Tile key={at} tile={tile} />
      ))}
    </dl>
  );
}

/** A tile of own figures. */
export function plainTile(label: string, value: string, more: Partial<PageTile> = {}): PageTile {
  return { label, value, unit: "", interval: "", change: "", exact: "", tone: "plain", ...more };
}
