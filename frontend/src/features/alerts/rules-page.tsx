import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useMay } from "@/api/permissions";
import { rulesQuery } from "@/api/queries/alerts";
import { projectsQuery } from "@/api/queries/projects";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { NotAllowed, Panel } from "@/components/panel";
import { RecordTable } from "@/components/record-table";

import { AlertsFrame } from "./alerts-frame";
import { RuleDialog } from "./rule-dialog";
import { RuleRow } from "./rule-row";

interface Props {
  project: string | undefined;
  onProject: (project: string) => void;
}

/** What a project is told of: its rules, which admins make, change and delete. */
export function RulesPage({ project, onProject }: Props) {
  const projects = useQuery(projectsQuery());
  const shown = project ?? projects.data?.[0]?.name;
  return (
    <AlertsFrame
      project={project}
      filter={
        <NativeSelect
          aria-label="Project"
          value={shown ?? ""}
          data={projects.data?.map(({ name }) => name) ?? []}
          onChange={(event) => onProject(event.currentTarget.value)}
        />
      }
    >
      {projects.isPending && <LoadingState label="Loading the projects" rows={3} />}
      {projects.isError && (
        <ErrorState error={projects.error} onRetry={() => void projects.refetch()} />
      )}
      {projects.isSuccess && shown === undefined && (
        <EmptyState title="You are a member of no project">Ask its owner to add you.</EmptyState>
      )}
      {shown !== undefined && <RuleList key={shown} project={shown} />}
    </AlertsFrame>
  );
}

function RuleList({ project }: { project: string }) {
  const rules = useQuery(rulesQuery(project));
  const mayChange = useMay(project, "administer");
  const [making, setMaking] = useState(false);
  return (
    <Panel
      title={`Rules of ${project}`}
      about="A rule fires once its figure was seen beyond its threshold for a while, and resolves once it was seen to be well again for a while. Between the two nothing changes."
      actions={mayChange && <Button onClick={() => setMaking(true)}>New rule…</Button>}
    >
      {!mayChange && (
        <NotAllowed>Only admins of {project} make, change and delete its rules.</NotAllowed>
      )}
      {rules.isPending && <LoadingState label="Loading the rules" rows={5} />}
      {rules.isError && rules.data === undefined && (
        <ErrorState error={rules.error} onRetry={() => void rules.refetch()} />
      )}
      {rules.data?.length === 0 && (
        <EmptyState title="No rule">
          Nothing fires here. A new project gets its first rules within ten seconds.
        </EmptyState>
      )}
      {rules.data !== undefined && rules.data.length > 0 && (
        <RecordTable label="Rules" columns={["Rule", "Fires", "Resolves", "Jobs", "On", ""]}>
          {rules.data.map((rule) => (
            <RuleRow key={rule.id} project={project} rule={rule} mayChange={mayChange} />
          ))}
        </RecordTable>
      )}
      {making && <RuleDialog project={project} onClose={() => setMaking(false)} />}
    </Panel>
  );
}
