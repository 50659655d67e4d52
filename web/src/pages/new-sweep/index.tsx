/** `/sweeps/new?scenario=NAME`, `?from=RUN_ID`, `?blank=1`: start a sweep. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { submitSweep } from "../../api/commands";
import { EditorPage } from "../../scenario/editor/EditorPage";

export function Component() {
  const navigate = useNavigate();
  const client = useQueryClient();
  return (
    <EditorPage
      mode="sweep"
      title="New sweep"
      base="/sweeps/new"
      other={{ base: "/new", label: "Single run instead" }}
      send={async (body, key) => {
        const sweep = await submitSweep(body, key);
        void client.invalidateQueries({ queryKey: ["sweeps"] });
        await navigate(`/sweeps/${sweep.sweep_id}`);
      }}
    />
  );
}
