import { Alert, Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type SyntheticEvent } from "react";

import { errorMessage, hasStatus } from "@/api/problem";
import { logIn, signInMethodsQuery } from "@/api/queries/session";
import type { Session } from "@/api/types";

import classes from "./login-page.module.css";

function loginError(error: unknown): string {
  return hasStatus(error, 401) ? "Wrong name or password." : errorMessage(error);
}

interface Props {
  /** The page that was asked for, which signing in with a provider comes back to. */
  next: string;
  onLogin: (session: Session) => void;
}

/** Asks for name and password; `onLogin` gets the session. */
export function LoginPage({ next, onLogin }: Props) {
  const nameRef = useRef<HTMLInputElement>(null);
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  useEffect(() => nameRef.current?.focus(), []);
  const provider = useQuery(signInMethodsQuery()).data?.provider;
  const login = useMutation({
    mutationFn: (typed: { name: string; password: string }) => logIn(typed.name, typed.password),
    onSuccess: onLogin,
  });

  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    login.mutate({ name, password });
  };
  return (
    <main className={classes.page}>
      <form className={classes.form} onSubmit={submit}>
        <h1 className={classes.title}>
          <img src="/favicon.svg" alt="" width="28" height="28" />
          Headrace
        </h1>
        {login.isError && (
          <Alert color="red" role="alert">
            {loginError(login.error)}
          </Alert>
        )}
        <TextInput
          ref={nameRef}
          name="username"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          label="Name"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          withAsterisk={false}
        />
        <PasswordInput
          name="password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          label="Password"
          autoComplete="current-password"
          required
          withAsterisk={false}
        />
        <Button type="submit" loading={login.isPending} fullWidth>
          Log in
        </Button>
        {provider && (
          <Button
            component="a"
            href={`${provider.url}?${new URLSearchParams({ next }).toString()}`}
            variant="default"
            fullWidth
          >
            Log in with {provider.name}
          </Button>
        )}
        <p className={classes.hint}>
          The first start of the server printed a name and a password;{" "}
          <code>headrace-server user</code> makes more.
        </p>
      </form>
    </main>
  );
}
