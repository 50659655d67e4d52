/** Choose what to begin with: a scenario of the library, or a text of one's own. */
import { Link } from "react-router";
import type { ScenarioSummary } from "../../api/types";
import { Loading } from "../../components";
import { sentence } from "../../lib/format";

export function TemplateChooser({ scenarios, base }: { scenarios: ScenarioSummary[] | undefined; base: string }) {
  if (!scenarios) return <Loading what="Loading scenarios …" />;
  return (
    <div className="stack" data-testid="templates">
      <p className="lead">Choose what to begin with. Everything can be changed in the next step.</p>
      <ul className="cards">
        {scenarios.map((each) => (
          <li key={each.name}>
            <Link to={`${base}?scenario=${encodeURIComponent(each.name)}`} className="card">
              <strong>{each.name}</strong>
              <span>{sentence(each.description)}</span>
              <span className="small">
                {each.steps} steps · {each.chains.join(", ")}
              </span>
            </Link>
          </li>
        ))}
        <li>
          <Link to={`${base}?blank=1`} className="card dashed">
            <strong>Write YAML</strong>
            <span>Begin with a small scenario of your own, or paste one.</span>
            <span className="small">An inline scenario may not read files.</span>
          </Link>
        </li>
      </ul>
    </div>
  );
}
