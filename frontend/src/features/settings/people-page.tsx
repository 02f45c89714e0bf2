import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { sessionQuery } from "@/api/queries/session";
import { changeUser, usersQuery } from "@/api/queries/users";
import type { User } from "@/api/types";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { ErrorState, LoadingState } from "@/components/page-states";
import { NotAllowed, Panel } from "@/components/panel";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { Moment } from "@/components/time";

import { NewPersonDialog, PasswordDialog } from "./person-dialogs";
import classes from "./settings.module.css";

/** Everybody who can sign in; administrators of the server add people, and keep them out. */
export function PeoplePage() {
  const isAdmin = useQuery(sessionQuery()).data?.user.is_admin ?? false;
  const [adding, setAdding] = useState(false);
  return (
    <Panel
      title="People"
      about="Everybody who can sign in. Without a role in a project, or being an administrator, a person sees nothing."
      actions={isAdmin && <Button onClick={() => setAdding(true)}>New person…</Button>}
    >
      {isAdmin ? (
        <PeopleTable />
      ) : (
        <NotAllowed>Only administrators of the server see and add people.</NotAllowed>
      )}
      {adding && <NewPersonDialog onClose={() => setAdding(false)} />}
    </Panel>
  );
}

function PeopleTable() {
  const users = useQuery(usersQuery());
  if (users.isPending) return <LoadingState label="Loading the people" rows={4} />;
  if (users.data === undefined) {
    return <ErrorState error={users.error} onRetry={() => void users.refetch()} />;
  }
  const able = users.data.filter((user) => user.is_admin && user.disabled_at === null);
  return (
    <RecordTable label="People" columns={["User", "On the server", "Signs in", "Added", ""]}>
      {users.data.map((user) => (
        <PersonRow
          key={user.username}
          user={user}
          isLastAdministrator={able.length === 1 && able[0]?.username === user.username}
        />
      ))}
    </RecordTable>
  );
}

type Asked = "password" | "disable" | "enable" | "promote" | "demote" | null;

interface RowProps {
  user: User;
  isLastAdministrator: boolean;
}

function PersonRow({ user, isLastAdministrator }: RowProps) {
  const [asked, setAsked] = useState<Asked>(null);
  const isReader = useQuery(sessionQuery()).data?.user.username === user.username;
  const disabled = user.disabled_at !== null;
  return (
    <RecordRow
      name={
        <>
          {user.username} {isReader && <span className={classes.dim}>(you)</span>}
        </>
      }
    >
      <RecordCell label="On the server">{user.is_admin ? "administrator" : "–"}</RecordCell>
      <RecordCell label="Signs in">
        {user.disabled_at !== null ? (
          <span className={classes.bad}>
            disabled <Moment at={user.disabled_at} />
          </span>
        ) : user.has_password ? (
          "with a password"
        ) : (
          "with the provider"
        )}
      </RecordCell>
      <RecordCell label="Added">
        <Moment at={user.created_at} />
      </RecordCell>
      <RecordCell label="">
        <span className={classes.buttons} role="group" aria-label={`Change ${user.username}`}>
          <Button size="xs" variant="default" onClick={() => setAsked("password")}>
            Set password…
          </Button>
          {isLastAdministrator ? (
            <span className={classes.dim}>the last administrator stays</span>
          ) : (
            <>
              <Button
                size="xs"
                variant="default"
                onClick={() => setAsked(user.is_admin ? "demote" : "promote")}
              >
                {user.is_admin ? "Unmake administrator…" : "Make administrator…"}
              </Button>
              <Button
                size="xs"
                variant="default"
                onClick={() => setAsked(disabled ? "enable" : "disable")}
              >
                {disabled ? "Enable…" : "Disable…"}
              </Button>
            </>
          )}
        </span>
      </RecordCell>
      {asked === "password" && (
        <PasswordDialog username={user.username} onClose={() => setAsked(null)} />
      )}
      {asked !== null && asked !== "password" && (
        <PowerDialog username={user.username} asked={asked} onClose={() => setAsked(null)} />
      )}
    </RecordRow>
  );
}

const POWERS = {
  disable: {
    title: (name: string) => `Disable ${name}?`,
    confirm: "Disable",
    patch: { disabled: true },
    about: "Their sessions end at once, and they can’t sign in. Keys they made go on working.",
  },
  enable: {
    title: (name: string) => `Enable ${name}?`,
    confirm: "Enable",
    patch: { disabled: false },
    about: "They can sign in again, with the roles they have.",
  },
  promote: {
    title: (name: string) => `Make ${name} an administrator of the server?`,
    confirm: "Make administrator",
    patch: { is_admin: true },
    about: "They may do everything in every project, and add people.",
  },
  demote: {
    title: (name: string) => `Is ${name} no longer an administrator of the server?`,
    confirm: "Unmake administrator",
    patch: { is_admin: false },
    about: "They keep the roles they have in projects.",
  },
} as const;

interface PowerProps {
  username: string;
  asked: keyof typeof POWERS;
  onClose: () => void;
}

function PowerDialog({ username, asked, onClose }: PowerProps) {
  const client = useQueryClient();
  const { title, confirm, patch, about } = POWERS[asked];
  const save = () =>
    changeUser(username, patch).then(() =>
      Promise.all([
        client.invalidateQueries({ queryKey: usersQuery().queryKey }),
        client.invalidateQueries({ queryKey: sessionQuery().queryKey }),
      ]),
    );
  return (
    <ConfirmDialog
      title={title(username)}
      confirm={confirm}
      danger={asked === "disable"}
      onConfirm={save}
      onClose={onClose}
    >
      {about}
    </ConfirmDialog>
  );
}
