/** Groups of the form, in the order in which somebody thinks about a run. */

export interface Group {
  id: string;
  title: string;
  lead: string;
  keys: string[];
  /** Folded unless one of its keys is set. */
  advanced?: boolean;
}

export const GROUPS: Group[] = [
  {
    id: "run",
    title: "Run",
    lead: "Where, how long, and which random numbers.",
    keys: ["chain", "steps", "step_time", "step_blocks", "seed"],
  },
  {
    id: "prices",
    title: "Prices",
    lead: "Prices off chain; price feeds follow them.",
    keys: ["prices", "correlations"],
  },
  { id: "agents", title: "Agents", lead: "Who acts, with what and how.", keys: ["agents"] },
  {
    id: "parameters",
    title: "Protocol parameters",
    lead: "What if a protocol had other parameters.",
    keys: ["parameters"],
    advanced: true,
  },
  {
    id: "markets",
    title: "Tokens and pools",
    lead: "What the scenario creates, and how deep pools are.",
    keys: ["pool_depth", "tokens", "pools", "curve_pools", "aave_v2", "positions"],
    advanced: true,
  },
  {
    id: "execution",
    title: "Execution",
    lead: "Order and cost of transactions, and what is recorded.",
    keys: ["ordering", "gas", "blocks", "watch", "halt_on_exception"],
    advanced: true,
  },
  {
    id: "about",
    title: "Name and chains",
    lead: "What the scenario is called, and where it can run.",
    keys: ["name", "title", "chains"],
    advanced: true,
  },
];

/** The groups of a schema: keys that no group names come last. */
export function groupsFor(keys: string[]): Group[] {
  const named = new Set(GROUPS.flatMap((group) => group.keys));
  const others = keys.filter((key) => !named.has(key));
  const found = GROUPS.map((group) => ({ ...group, keys: group.keys.filter((key) => keys.includes(key)) }));
  if (others.length > 0) found.push({ id: "others", title: "Other settings", lead: "", keys: others, advanced: true });
  return found.filter((group) => group.keys.length > 0);
}
