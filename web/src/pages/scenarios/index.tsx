/** `/scenarios` and `/scenarios/NAME`: what can be run. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { queries } from "../../api/queries";
import type { ScenarioSummary } from "../../api/types";
import { CommandLine, CopyButton, ErrorState, Loading } from "../../components";
import { Crumbs } from "../../components/Crumbs";
import { SearchField } from "../../components/SearchField";
import { counted, sentence } from "../../lib/format";
import { useMayWrite } from "../../shell/session";
import { useTitle } from "../../shell/useTitle";
import "./scenarios.css";

export function Component() {
  const { name } = useParams();
  return name ? <ScenarioPage name={name} /> : <ScenarioList />;
}

function ScenarioList() {
  useTitle("Scenarios");
  const scenarios = useQuery({ ...queries.scenarios(), staleTime: 60_000 });
  const [search, setSearch] = useState("");
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = scenarios.data?.items.filter((each) => {
    const text = `${each.name} ${each.description} ${each.chains.join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <>
      <div className="page-head">
        <h1>Scenarios</h1>
        <SearchField
          label="Search scenarios"
          placeholder="Search name, meaning, chain  /"
          value={search}
          onChange={setSearch}
        />
      </div>
      {scenarios.error && !scenarios.data ? (
        <ErrorState error={scenarios.error} onRetry={() => void scenarios.refetch()} />
      ) : !shown ? (
        <Loading what="Loading scenarios …" />
      ) : shown.length === 0 ? (
        <p className="state">No scenario matches “{search}”.</p>
      ) : (
        <ul className="scenario-list" data-testid="scenarios">
          {shown.map((each) => (
            <li key={each.name}>
              <h2>
                <Link to={`/scenarios/${each.name}`}>{each.name}</Link>
              </h2>
              <p>{sentence(each.description)}</p>
              <p className="small">
                {counted(each.steps, "step")} ·{" "}
                {each.chains.length === 1 ? each.chain : `${each.chain} and ${each.chains.length - 1} more chains`}
              </p>
              <Start name={each.name} />
            </li>
          ))}
          <li className="dashed">
            <h2>Your own</h2>
            <p>Write YAML, or change any of these. The form knows every key.</p>
            <p className="small">An inline scenario may not read files.</p>
            <div className="row">
              <Begin to="/new?blank=1" label="Write YAML" name="a scenario of your own" />
            </div>
          </li>
        </ul>
      )}
    </>
  );
}

function Start({ name }: { name: string }) {
  return (
    <div className="row">
      <Begin to={`/new?scenario=${name}`} label="New run" name={name} />
      <Begin to={`/sweeps/new?scenario=${name}`} label="New sweep" name={name} />
    </div>
  );
}

/** A link where one may start something, else a button that says why not. */
function Begin({ to, label, name }: { to: string; label: string; name: string }) {
  const mayWrite = useMayWrite();
  if (mayWrite) {
    return (
      <Link to={to} className="button" aria-label={`${label} ${name}`}>
        {label}
      </Link>
    );
  }
  return (
    <button
      type="button"
      disabled
      title="This key is read-only: it cannot start anything"
      aria-label={`${label} ${name}: this key is read-only`}
    >
      {label}
    </button>
  );
}

function ScenarioPage({ name }: { name: string }) {
  useTitle(name);
  const scenario = useQuery({ ...queries.scenario(name), staleTime: 60_000 });
  if (scenario.error && !scenario.data)
    return <ErrorState error={scenario.error} onRetry={() => void scenario.refetch()} />;
  if (!scenario.data) return <Loading what="Loading the scenario …" />;
  const { description, chains, steps, yaml } = scenario.data;
  return (
    <>
      <Crumbs to="/scenarios" list="Scenarios" id={name}>
        <Start name={name} />
      </Crumbs>
      <div className="stack">
        <div>
          <h1>{name}</h1>
          <p className="lead">{sentence(description)}</p>
        </div>
        <Facts steps={steps} chains={chains} scenario={scenario.data} />
        <CommandLine text={`mayavi run ${name} --seed 7`} label="Command that runs it" />
        <section aria-labelledby="yaml-title" className="scenario-yaml-text">
          <div className="row far">
            <h2 id="yaml-title">YAML</h2>
            <CopyButton text={yaml} label="Copy YAML" />
          </div>
          <pre
            className="document"
            tabIndex={0}
            role="region"
            aria-label="YAML of the scenario"
            data-testid="scenario-yaml"
          >
            <code>{yaml}</code>
          </pre>
        </section>
        <p>
          <Link to={`/runs?scenario=${encodeURIComponent(name)}`}>Runs of this scenario</Link>
        </p>
      </div>
    </>
  );
}

function Facts({ steps, chains, scenario }: { steps: number; chains: string[]; scenario: ScenarioSummary }) {
  return (
    <dl className="facts">
      <dt>Steps</dt>
      <dd>{steps}</dd>
      <dt>Chains</dt>
      <dd>
        {chains.map((chain, at) => (
          <span key={chain}>
            {at > 0 && ", "}
            {chain}
            {chain === scenario.chain && <span className="muted"> (default)</span>}
          </span>
        ))}
      </dd>
    </dl>
  );
}
