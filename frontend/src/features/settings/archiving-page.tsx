import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useMay } from "@/api/permissions";
import { archivedProjectsQuery, archiveProject, projectsQuery } from "@/api/queries/projects";
import card from "@/components/card.module.css";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { LoadingState } from "@/components/page-states";
import { Panel } from "@/components/panel";
import { Moment } from "@/components/time";

import { AdminsOnly } from "./roles";
import classes from "./settings.module.css";

/** Puts a project away, or takes it back; nothing in it is deleted. */
export function ArchivingPage({ project }: { project: string }) {
  const client = useQueryClient();
  const mayChange = useMay(project, "administer");
  const active = useQuery(projectsQuery());
  const archived = useQuery(archivedProjectsQuery());
  const [asking, setAsking] = useState(false);
  const found = [...(active.data ?? []), ...(archived.data ?? [])].find(
    ({ name }) => name === project,
  );
  if (active.isPending || archived.isPending)
    return <LoadingState label="Loading the project" rows={2} />;
  const archivedAt = found?.archived_at ?? null;
  const set = (to: boolean) =>
    archiveProject(project, to).then(() => client.invalidateQueries({ queryKey: ["projects"] }));
  return (
    <Panel
      title="Archiving"
      about="An archived project is left out of lists, can be read, and takes no changes and no reports. Nothing in it is deleted."
    >
      {!mayChange && <AdminsOnly project={project} what="archive or restore it" />}
      <div className={`${card.card} ${classes.row}`}>
        <p>
          {found !== undefined && (
            <>
              Made <Moment at={found.created_at} />.{" "}
            </>
          )}
          {archivedAt === null ? (
            "In use."
          ) : (
            <>
              Archived <Moment at={archivedAt} />.
            </>
          )}
        </p>
        {mayChange && (
          <Button variant="default" onClick={() => setAsking(true)}>
            {archivedAt === null ? "Archive…" : "Restore…"}
          </Button>
        )}
      </div>
      {asking && archivedAt === null && (
        <ConfirmDialog
          title={`Archive ${project}?`}
          confirm="Archive"
          typed={project}
          onConfirm={() => set(true)}
          onClose={() => setAsking(false)}
        >
          Runs that report to it go on training, and their reports wait on their nodes. An admin of
          the project can restore it here.
        </ConfirmDialog>
      )}
      {asking && archivedAt !== null && (
        <ConfirmDialog
          title={`Restore ${project}?`}
          confirm="Restore"
          danger={false}
          typed={project}
          onConfirm={() => set(false)}
          onClose={() => setAsking(false)}
        >
          It is listed again and takes reports and changes.
        </ConfirmDialog>
      )}
    </Panel>
  );
}
