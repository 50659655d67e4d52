/** A page that starts something: a run or a sweep. The address says what it begins with. */
import { Link, useNavigate, useSearchParams } from "react-router";
import type { ScenarioSummary, SweepSubmission } from "../../api/types";
import { ErrorState, Loading, Prose } from "../../components";
import { sentence } from "../../lib/format";
import { useTitle } from "../../shell/useTitle";
import { TemplateChooser } from "../template/TemplateChooser";
import { type Template, useTemplate, type Wanted } from "../template/template";
import { ScenarioEditor } from "./ScenarioEditor";

interface Props {
  mode: "run" | "sweep";
  title: string;
  /** Address of this page, and of the page for the other thing one could start. */
  base: string;
  other: { base: string; label: string };
  send: (body: SweepSubmission, key: string) => Promise<void>;
}

export function EditorPage({ mode, title, base, other, send }: Props) {
  const [query] = useSearchParams();
  const wanted = {
    scenario: query.get("scenario"),
    from: query.get("from"),
    sweep: query.get("sweep"),
    blank: query.has("blank"),
  };
  const chosen = wanted.scenario !== null || wanted.from !== null || wanted.sweep !== null || wanted.blank;
  const { template, scenarios, error } = useTemplate(wanted);
  useTitle(template?.library ? `${title}: ${template.library.name}` : title);
  return (
    <>
      <div className="page-head">
        <h1>{title}</h1>
        {chosen && <Choice scenarios={scenarios} template={template} wanted={wanted} base={base} />}
        <Link to={chosen ? `${other.base}?${query}` : other.base} className="button quiet">
          {other.label}
        </Link>
      </div>
      {error ? (
        <ErrorState error={error} />
      ) : !chosen ? (
        <TemplateChooser scenarios={scenarios} base={base} />
      ) : template ? (
        <>
          <Origin template={template} scenarios={scenarios} />
          <ScenarioEditor key={template.id} template={template} mode={mode} send={send} />
        </>
      ) : (
        <Loading what="Loading the scenario …" />
      )}
    </>
  );
}

interface ChoiceProps {
  scenarios: ScenarioSummary[] | undefined;
  template: Template | undefined;
  wanted: Wanted;
  base: string;
}

function Choice({ scenarios, wanted, base }: ChoiceProps) {
  const navigate = useNavigate();
  const named = (["from", "sweep", "scenario"] as const).find((each) => wanted[each] !== null);
  const current = named ? `${named}=${wanted[named]}` : "blank=1";
  return (
    <label className="row">
      <span className="muted">begins with</span>
      <select
        value={current}
        onChange={(event) => void navigate(`${base}?${event.target.value}`)}
        data-testid="choose-scenario"
      >
        {wanted.from !== null && <option value={current}>run {wanted.from}</option>}
        {wanted.sweep !== null && <option value={current}>{wanted.sweep}</option>}
        {scenarios?.map(({ name }) => (
          <option key={name} value={`scenario=${name}`}>
            {name}
          </option>
        ))}
        <option value="blank=1">YAML of your own</option>
      </select>
    </label>
  );
}

function Origin({ template, scenarios }: { template: Template; scenarios: ScenarioSummary[] | undefined }) {
  const { run, sweep, library } = template;
  if (sweep) {
    return (
      <p className="lead">
        Repeats <Link to={`/sweeps/${sweep.sweep_id}`}>{sweep.sweep_id}</Link> of <code>{sweep.scenario}</code> with
        your changes. Values that the grid varies are those of its first point.
      </p>
    );
  }
  if (run) {
    return (
      <p className="lead">
        Repeats the run <Link to={`/runs/${run.run_id}`}>{run.run_id}</Link> of <code>{run.scenario}</code> with your
        changes; values that differ from it are marked.
      </p>
    );
  }
  const description = scenarios?.find((each) => each.name === library?.name)?.description;
  return (
    <p className="lead">
      <Prose
        text={
          description
            ? sentence(description)
            : "A scenario of your own. It may not read files: give tables and prices as text in `data`."
        }
      />
    </p>
  );
}
