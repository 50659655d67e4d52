/** What a form begins with: a scenario of the library, a run or sweep to repeat with changes, a text of one's own. */

import { useQuery } from "@tanstack/react-query";
import { queries } from "../../api/queries";
import type { RunDetails, SweepDetails } from "../../api/types";
import { changes } from "../document/changes";
import { change, parse } from "../document/document";
import { type JsonSchema, SchemaReader, withoutValues } from "../document/schema";
import { sameValue, scalar, type Value } from "../document/values";
import type { Axis } from "../sweep/grid";
import { STARTER } from "./starter-text";

export interface Template {
  /** Name of the draft, and whether two templates are the same. */
  id: string;
  /** Text to begin with. */
  text: string;
  /** Library scenario to which changes can be told as overrides. */
  library?: { name: string; value: Value };
  reader: SchemaReader;
  chains: string[];
  run?: RunDetails;
  sweep?: SweepDetails;
  seeds: string;
  axes: Axis[];
}

export interface Wanted {
  scenario: string | null;
  from: string | null;
  sweep: string | null;
  blank: boolean;
}

const FALLBACK = "aave_borrower";
const SEEDS = "0:20";
const MOST_CHANGES = 60;

/** Load the template that the address names; `template` is undefined while it loads, or if nothing is chosen. */
export function useTemplate({ scenario, from, sweep: sweepId, blank }: Wanted) {
  const run = useQuery({ ...queries.run(from ?? ""), enabled: from !== null, staleTime: Number.POSITIVE_INFINITY });
  const sweep = useQuery({
    ...queries.sweep(sweepId ?? ""),
    enabled: sweepId !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const origin = from !== null ? run : sweepId !== null ? sweep : undefined;
  const list = useQuery(queries.scenarios());
  const known = new Set(list.data?.items.map((each) => each.name));
  const repeated = origin?.data?.scenario;
  const named = origin === undefined ? scenario : repeated !== undefined && known.has(repeated) ? repeated : null;
  const details = useQuery({
    ...queries.scenario(named ?? ""),
    enabled: named !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const schemaOf = named ?? list.data?.items[0]?.name ?? FALLBACK;
  const enabled = (origin ? origin.isSuccess && list.isSuccess : scenario !== null) || blank;
  const schema = useQuery({ ...queries.scenarioSchema(schemaOf), enabled, staleTime: Number.POSITIVE_INFINITY });
  const schemaText = useQuery({ ...queries.scenario(schemaOf), enabled, staleTime: Number.POSITIVE_INFINITY });
  const waits = (named !== null && !details.data) || (origin !== undefined && !origin.data);
  const ready = enabled && !waits && schema.data !== undefined && schemaText.data !== undefined;
  const key = ready ? [scenario, from, sweepId, blank].join("|") : null;
  const made = useQuery({
    queryKey: ["template", key, schema.dataUpdatedAt],
    enabled: ready,
    staleTime: Number.POSITIVE_INFINITY,
    // Everything is read again when a lost service is back: the form stays until its template is made anew.
    placeholderData: (known, query) => (query?.queryKey[1] === key ? known : undefined),
    queryFn: () => {
      const reader = readerOf(schema.data as JsonSchema, schemaText.data?.yaml ?? "");
      const library = details.data && { name: details.data.name, value: parse(details.data.yaml).value };
      const common = { library, reader, chains: details.data?.chains ?? [], seeds: SEEDS, axes: [] };
      if (run.data && from !== null) {
        const text = textOf(run.data.scenario_text, run.data.seed, details.data?.yaml);
        return { ...common, id: `from:${from}`, text, run: run.data } as Template;
      }
      if (sweep.data && sweepId !== null) {
        const text = textOf(sweep.data.scenario_text ?? "", undefined, details.data?.yaml);
        return { ...common, ...planOf(sweep.data), id: `sweep:${sweepId}`, text, sweep: sweep.data } as Template;
      }
      if (details.data) return { ...common, id: `scenario:${details.data.name}`, text: details.data.yaml } as Template;
      return { ...common, id: "blank", text: STARTER } as Template;
    },
  });
  const error = origin?.error ?? list.error ?? details.error ?? schema.error ?? schemaText.error ?? made.error;
  return { template: ready ? made.data : undefined, scenarios: list.data?.items, error };
}

function readerOf(schema: JsonSchema, text: string): SchemaReader {
  return new SchemaReader(withoutValues(schema, parse(text).value));
}

/** Seeds and grid of a sweep as the form writes them. */
function planOf({ plan = {} }: SweepDetails): { seeds: string; axes: Axis[] } {
  const seeds = typeof plan.seeds === "string" ? plan.seeds : SEEDS;
  const grid = typeof plan.grid === "object" && plan.grid !== null ? Object.entries(plan.grid) : [];
  const axes = grid.map(([key, values]) => ({
    key,
    values: Array.isArray(values) ? values.join(", ") : String(values),
  }));
  return { seeds, axes };
}

/** The scenario of a run or sweep: the library's text with what differs, so that comments stay. */
export function textOf(scenario: string, seed: string | undefined, library: string | undefined): string {
  const plain = seed === undefined ? scenario : change(parse(scenario), ["seed"], scalar(seed));
  if (library === undefined) return plain;
  const wanted = parse(plain).value;
  let parsed = parse(library);
  const found = changes(parsed.value, wanted).filter(({ path }) => path[0] !== "chains");
  if (found.length > MOST_CHANGES) return plain;
  for (const { path, next } of found) parsed = parse(change(parsed, path, next));
  const rest = changes(parsed.value, wanted).filter(({ path }) => path[0] !== "chains");
  return rest.length === 0 && !sameValue(parsed.value, { kind: "map", entries: [] }) ? parsed.text : plain;
}
