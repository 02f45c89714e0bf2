import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useMay } from "@/api/permissions";
import { errorMessage } from "@/api/problem";
import { membersQuery, putMember, removeMember } from "@/api/queries/members";
import { sessionQuery } from "@/api/queries/session";
import type { Member, Role } from "@/api/types";
import { ActionForm } from "@/components/action-form";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { Panel } from "@/components/panel";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { Moment } from "@/components/time";

import { AdminsOnly, ROLES } from "./roles";
import classes from "./settings.module.css";

/** Who may do what in a project; admins add people, change roles and take people out. */
export function MembersPage({ project }: { project: string }) {
  const members = useQuery(membersQuery(project));
  const mayChange = useMay(project, "administer");
  return (
    <Panel
      title="Members"
      about="A role counts in this project only. Administrators of the server may do everything in all projects and are not listed for it."
    >
      {mayChange ? (
        <AddMember project={project} />
      ) : (
        <AdminsOnly project={project} what="change its members" />
      )}
      {members.isPending && <LoadingState label="Loading the members" rows={3} />}
      {members.isError && members.data === undefined && (
        <ErrorState error={members.error} onRetry={() => void members.refetch()} />
      )}
      {members.data?.length === 0 && (
        <EmptyState title="No member yet">
          Administrators of the server see the project all the same.
        </EmptyState>
      )}
      {members.data !== undefined && members.data.length > 0 && (
        <MemberTable project={project} members={members.data} mayChange={mayChange} />
      )}
    </Panel>
  );
}

function AddMember({ project }: { project: string }) {
  const client = useQueryClient();
  const [username, setUsername] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  return (
    <ActionForm
      inline
      label="Add a member"
      submit="Add"
      disabled={username.trim() === ""}
      onSubmit={() => putMember(project, username.trim(), role)}
      onDone={() => {
        setUsername("");
        void client.invalidateQueries({ queryKey: membersQuery(project).queryKey });
      }}
    >
      {() => (
        <>
          <TextInput
            label="User name"
            value={username}
            maxLength={200}
            autoCapitalize="none"
            spellCheck={false}
            onChange={(event) => setUsername(event.currentTarget.value)}
          />
          <NativeSelect
            label="Role"
            value={role}
            data={ROLES.map(({ value, label, about }) => ({ value, label: `${label}: ${about}` }))}
            onChange={(event) => setRole(event.currentTarget.value as Role)}
          />
        </>
      )}
    </ActionForm>
  );
}

interface TableProps {
  project: string;
  members: readonly Member[];
  mayChange: boolean;
}

function MemberTable({ project, members, mayChange }: TableProps) {
  const numAdmins = members.filter(({ role }) => role === "admin").length;
  return (
    <RecordTable
      label="Members"
      columns={mayChange ? ["User", "Role", "Added", ""] : ["User", "Role", "Added"]}
    >
      {members.map((member) => (
        <MemberRow
          key={member.username}
          project={project}
          member={member}
          mayChange={mayChange}
          isLastAdmin={member.role === "admin" && numAdmins === 1}
        />
      ))}
    </RecordTable>
  );
}

interface RowProps {
  project: string;
  member: Member;
  mayChange: boolean;
  isLastAdmin: boolean;
}

function MemberRow({ project, member, mayChange, isLastAdmin }: RowProps) {
  const client = useQueryClient();
  const { data: session } = useQuery(sessionQuery());
  const [removing, setRemoving] = useState(false);
  const refresh = () =>
    client.invalidateQueries({ queryKey: membersQuery(project).queryKey }).then(() =>
      // One's own role may have changed, and with it what the pages offer.
      client.invalidateQueries({ queryKey: sessionQuery().queryKey }),
    );
  const change = useMutation({
    mutationFn: (role: Role) => putMember(project, member.username, role),
    onSettled: refresh,
  });
  const fixed = !mayChange || isLastAdmin;
  const isReader = session?.user.username === member.username;
  return (
    <RecordRow
      name={
        <>
          {member.username} {isReader && <span className={classes.dim}>(you)</span>}
          {member.disabled && <span className={classes.small}>disabled: can’t sign in</span>}
        </>
      }
    >
      <RecordCell label="Role">
        {fixed ? (
          member.role
        ) : (
          <NativeSelect
            size="xs"
            aria-label={`Role of ${member.username}`}
            value={change.isPending ? change.variables : member.role}
            disabled={change.isPending}
            data={ROLES.map(({ value }) => value)}
            onChange={(event) => change.mutate(event.currentTarget.value as Role)}
          />
        )}
        {change.isError && (
          <p role="alert" className={classes.error}>
            {errorMessage(change.error)}
          </p>
        )}
      </RecordCell>
      <RecordCell label="Added">
        <Moment at={member.added_at} />
      </RecordCell>
      {mayChange && (
        <RecordCell label="">
          {isLastAdmin ? (
            <span className={classes.dim}>the last admin stays</span>
          ) : (
            <Button size="xs" variant="default" onClick={() => setRemoving(true)}>
              Remove<span className={classes.hidden}> {member.username}</span>
            </Button>
          )}
        </RecordCell>
      )}
      {removing && (
        <ConfirmDialog
          title={`Take ${member.username} out of ${project}?`}
          confirm="Remove"
          onConfirm={() => removeMember(project, member.username).then(refresh)}
          onClose={() => setRemoving(false)}
        >
          The project no longer exists for them. Keys they made go on working; revoke those under
          API keys.
        </ConfirmDialog>
      )}
    </RecordRow>
  );
}
