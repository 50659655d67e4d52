/** `/worlds`: the offline replicas of chains and of single markets, built or not. */
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../api/queries";
import type { WorldSummary } from "../../api/types";
import { Address, Badge, CommandLine, ErrorState, Loading } from "../../components";
import { count } from "../../lib/format";
import { useTitle } from "../../shell/useTitle";
import "./worlds.css";

export function Component() {
  useTitle("Worlds");
  const worlds = useQuery({ ...queries.worlds(), refetchInterval: 15_000 });
  return (
    <>
      <div className="page-head">
        <h1>Worlds</h1>
      </div>
      <p className="lead">
        A world is the state that a run begins with: an offline replica of a chain, or of one market of Aave V3.6, with
        the protocols' own contracts. A replica is built once and has the same digest everywhere.
      </p>
      {worlds.error && !worlds.data ? (
        <ErrorState error={worlds.error} onRetry={() => void worlds.refetch()} />
      ) : !worlds.data ? (
        <Loading what="Loading worlds …" />
      ) : (
        <ul className="worlds" data-testid="worlds">
          {worlds.data.items.map((world) => (
            <li key={`${world.world}-${world.block_number}`}>
              <World world={world} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function World({ world }: { world: WorldSummary }) {
  const { protocols = [], tokens = [] } = world;
  const heading = `world-${world.world}-${world.block_number}`;
  const market = world.world !== world.chain;
  const named = world.default || market ? world.world : `${world.chain} --block ${world.block_number}`;
  return (
    <article aria-labelledby={heading}>
      <div className="row far">
        <h2 id={heading}>{world.title}</h2>
        <Badge tone={world.built ? "good" : "plain"}>{world.built ? "built" : "not built"}</Badge>
      </div>
      <dl className="facts">
        <dt>Chain</dt>
        <dd>
          {world.chain}, id {world.chain_id}
        </dd>
        {world.block_number != null && (
          <>
            <dt>Block</dt>
            <dd>
              {count(world.block_number)}
              {!world.default && (
                <>
                  , with <code>{market ? `world: ${world.world}` : `block: ${world.block_number}`}</code> in the
                  scenario
                </>
              )}
            </dd>
          </>
        )}
        <dt>Aave</dt>
        <dd>V{world.aave}</dd>
        {world.digest && (
          <>
            <dt>Digest</dt>
            <dd>
              <Address text={world.digest} />
            </dd>
          </>
        )}
        {world.bytes != null && (
          <>
            <dt>Size</dt>
            <dd title={`${world.bytes} bytes`}>{size(world.bytes)}</dd>
          </>
        )}
        {protocols.length > 0 && (
          <>
            <dt>Protocols</dt>
            <dd>{protocols.join(", ")}</dd>
          </>
        )}
        {tokens.length > 0 && (
          <>
            <dt>Tokens</dt>
            <dd>
              <details className="fold">
                <summary>{tokens.length} tokens</summary>
                {tokens.join(", ")}
              </details>
            </dd>
          </>
        )}
      </dl>
      {!world.built && <p className="small">The first run on it builds it, in some seconds. Or build it now:</p>}
      <CommandLine
        text={`mayavi world ${world.built ? "info" : "build"} ${named}`}
        label={world.built ? `Command that describes ${world.title}` : `Command that builds ${world.title}`}
      />
    </article>
  );
}

function size(bytes: number): string {
  if (bytes < 1e3) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
