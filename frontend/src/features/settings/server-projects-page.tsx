import { TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { archivedProjectsQuery, createProject, projectsQuery } from "@/api/queries/projects";
import { sessionQuery } from "@/api/queries/session";
import { ActionForm } from "@/components/action-form";
import { ErrorState, LoadingState } from "@/components/page-states";
import { NotAllowed, Panel } from "@/components/panel";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { Moment } from "@/components/time";

/** Every project of the server; administrators make them. */
export function ServerProjectsPage() {
  const isAdmin = useQuery(sessionQuery()).data?.user.is_admin ?? false;
  return (
    <Panel
      title="Projects"
      about="A project owns jobs and keys and has members. Its name stays, as paths and scripts hold it."
    >
      {isAdmin ? (
        <>
          <NewProject />
          <ProjectTable />
        </>
      ) : (
        <NotAllowed>Only administrators of the server make projects.</NotAllowed>
      )}
    </Panel>
  );
}

function NewProject() {
  const client = useQueryClient();
  const [name, setName] = useState("");
  return (
    <ActionForm
      inline
      label="New project"
      submit="Make project"
      fields={["name"]}
      disabled={name.trim() === ""}
      onSubmit={() => createProject(name.trim())}
      onDone={() => {
        setName("");
        void client.invalidateQueries({ queryKey: projectsQuery().queryKey });
      }}
    >
      {(errors) => (
        <TextInput
          label="Name"
          value={name}
          maxLength={200}
          error={errors.of("name")}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      )}
    </ActionForm>
  );
}

function ProjectTable() {
  const active = useQuery(projectsQuery());
  const archived = useQuery(archivedProjectsQuery());
  if (active.isPending || archived.isPending) return <LoadingState label="Loading the projects" />;
  if (active.data === undefined) {
    return <ErrorState error={active.error} onRetry={() => void active.refetch()} />;
  }
  return (
    <RecordTable label="Projects" columns={["Project", "Made", "State"]}>
      {[...active.data, ...(archived.data ?? [])].map((project) => (
        <RecordRow
          key={project.name}
          name={
            <Link to="/settings/$project/members" params={{ project: project.name }}>
              {project.name}
            </Link>
          }
        >
          <RecordCell label="Made">
            <Moment at={project.created_at} />
          </RecordCell>
          <RecordCell label="State">
            {project.archived_at ? (
              <>
                archived <Moment at={project.archived_at} />
              </>
            ) : (
              "in use"
            )}
          </RecordCell>
        </RecordRow>
      ))}
    </RecordTable>
  );
}
