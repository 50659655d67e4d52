/** `/new?scenario=NAME`, `/new?from=RUN_ID`, `/new?blank=1`: start a run. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { submitRun } from "../../api/commands";
import { EditorPage } from "../../scenario/editor/EditorPage";

export function Component() {
  const navigate = useNavigate();
  const client = useQueryClient();
  return (
    <EditorPage
      mode="run"
      title="New run"
      base="/new"
      other={{ base: "/sweeps/new", label: "Sweep instead" }}
      send={async (body, key) => {
        const run = await submitRun(body, key);
        void client.invalidateQueries({ queryKey: ["runs"] });
        await navigate(`/runs/${run.run_id}`);
      }}
    />
  );
}
