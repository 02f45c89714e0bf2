import { Checkbox, PasswordInput, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { changeUser, createUser, usersQuery } from "@/api/queries/users";
import { ActionForm } from "@/components/action-form";
import { Dialog } from "@/components/dialog";

const HINT = "At least 12 characters. They can change it under Account.";

/** Adds somebody with a first password. */
export function NewPersonDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [isAdmin, setIsAdmin] = useState(false);
  return (
    <Dialog title="New person" onClose={onClose}>
      <ActionForm
        submit="Add"
        fields={["username", "password"]}
        disabled={username.trim() === "" || password === ""}
        onCancel={onClose}
        onSubmit={() => createUser({ username: username.trim(), password, is_admin: isAdmin })}
        onDone={() => {
          void client.invalidateQueries({ queryKey: usersQuery().queryKey });
          onClose();
        }}
      >
        {(errors) => (
          <>
            <TextInput
              label="User name"
              value={username}
              maxLength={200}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              error={errors.of("username")}
              onChange={(event) => setUsername(event.currentTarget.value)}
            />
            <PasswordInput
              label="First password"
              description={HINT}
              autoComplete="new-password"
              value={password}
              error={errors.of("password")}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            <Checkbox
              size="sm"
              label="Administrator of the server"
              description="May do everything in every project, and add people"
              checked={isAdmin}
              onChange={(event) => setIsAdmin(event.currentTarget.checked)}
            />
          </>
        )}
      </ActionForm>
    </Dialog>
  );
}

/** Sets somebody's password, for who forgot theirs. */
export function PasswordDialog({ username, onClose }: { username: string; onClose: () => void }) {
  const client = useQueryClient();
  const [password, setPassword] = useState("");
  return (
    <Dialog title={`New password for ${username}`} onClose={onClose}>
      <ActionForm
        submit="Set password"
        fields={["password"]}
        disabled={password === ""}
        onCancel={onClose}
        onSubmit={() => changeUser(username, { password })}
        onDone={() => {
          void client.invalidateQueries({ queryKey: usersQuery().queryKey });
          onClose();
        }}
      >
        {(errors) => (
          <PasswordInput
            label="New password"
            description={`${HINT} Their sessions end.`}
            autoComplete="new-password"
            value={password}
            error={errors.of("password")}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        )}
      </ActionForm>
    </Dialog>
  );
}
