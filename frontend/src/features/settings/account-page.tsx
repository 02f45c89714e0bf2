import { Button, PasswordInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { sessionQuery } from "@/api/queries/session";
import { changePassword, signOutOthers } from "@/api/queries/users";
import { ActionForm } from "@/components/action-form";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { Fact, Facts, Panel } from "@/components/panel";
import { useDocumentTitle } from "@/lib/use-document-title";

import classes from "./settings.module.css";

/** The reader's own: what they may do where, their password, their sessions. */
export function AccountPage() {
  useDocumentTitle("Account");
  const user = useQuery(sessionQuery()).data?.user;
  const roles = Object.entries(user?.roles ?? {});
  return (
    <>
      <Panel title="Account">
        <Facts>
          <Fact name="User name">{user?.username}</Fact>
          {user?.is_admin && (
            <Fact name="On the server" about="may do everything in every project">
              administrator
            </Fact>
          )}
          {roles.map(([project, role]) => (
            <Fact key={project} name={`In ${project}`}>
              {role}
            </Fact>
          ))}
          {roles.length === 0 && !user?.is_admin && (
            <Fact name="Projects" about="an admin of a project can add you">
              none
            </Fact>
          )}
        </Facts>
      </Panel>
      <Panel title="Password" about="A new password ends your sessions on other devices.">
        <PasswordForm />
      </Panel>
      <Panel title="Sessions" about="Where you left a browser signed in, or lost a device.">
        <OtherSessions />
      </Panel>
    </>
  );
}

/** As the server has it; it checks again. */
const MIN_CHARS = 12;

function PasswordForm() {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [done, setDone] = useState(false);
  const short = next !== "" && next.length < MIN_CHARS;
  return (
    <div className={classes.narrow}>
      <ActionForm
        label="Change password"
        submit="Change password"
        fields={["password"]}
        disabled={current === "" || next === "" || short}
        onSubmit={() => changePassword(current, next)}
        onDone={() => {
          setCurrent("");
          setNext("");
          setDone(true);
        }}
      >
        {(errors) => (
          <>
            <PasswordInput
              label="Current password"
              autoComplete="current-password"
              value={current}
              onChange={(event) => setCurrent(event.currentTarget.value)}
            />
            <PasswordInput
              label="New password"
              description={`At least ${MIN_CHARS} characters`}
              autoComplete="new-password"
              value={next}
              error={
                short ? `${next.length} of at least ${MIN_CHARS} characters` : errors.of("password")
              }
              onChange={(event) => {
                setDone(false);
                setNext(event.currentTarget.value);
              }}
            />
            <p role="status" className={classes.ok}>
              {done && "The password is changed; your other sessions have ended."}
            </p>
          </>
        )}
      </ActionForm>
    </div>
  );
}

function OtherSessions() {
  const [asking, setAsking] = useState(false);
  const [done, setDone] = useState(false);
  return (
    <div className={classes.buttons}>
      <Button variant="default" onClick={() => setAsking(true)}>
        Sign out everywhere else…
      </Button>
      <span role="status" className={classes.ok}>
        {done && "All other sessions have ended."}
      </span>
      {asking && (
        <ConfirmDialog
          title="Sign out everywhere else?"
          confirm="Sign out"
          onConfirm={() => signOutOthers().then(() => setDone(true))}
          onClose={() => setAsking(false)}
        >
          Every other browser that is signed in as you has to sign in again. This one stays.
        </ConfirmDialog>
      )}
    </div>
  );
}
