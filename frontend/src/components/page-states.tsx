import { Alert, Button, Skeleton } from "@mantine/core";
import type { ReactNode } from "react";

import { errorMessage, hasStatus } from "@/api/problem";

import { Icon } from "./icons";
import classes from "./page-states.module.css";

/** Nothing to show yet, and what would change that. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <h2>{title}</h2>
      <div className={classes.hint}>{children}</div>
    </div>
  );
}

/** Grey bars in the place of what is being fetched. */
export function LoadingState({
  label,
  rows = 4,
  height = 28,
}: {
  label: string;
  rows?: number;
  height?: number;
}) {
  return (
    <div className={classes.loading} role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, index) => (
        <Skeleton key={index} height={height} radius="sm" />
      ))}
    </div>
  );
}

/** A failed request: what happened, in the server's words, and a way to try again. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, color } = classify(error);
  const requestId = hasRequestId(error);
  return (
    <Alert color={color} title={title} icon={<Icon name="warning" />} role="alert">
      <p>{errorMessage(error)}</p>
      {requestId !== null && <p className={classes.request}>Request {requestId}</p>}
      {onRetry && (
        <Button variant="default" size="xs" mt="xs" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

function classify(error: unknown): { title: string; color: string } {
  if (hasStatus(error, 403)) return { title: "You may not see or do this", color: "yellow" };
  if (hasStatus(error, 404)) return { title: "Not found", color: "yellow" };
  return { title: "That didn't work", color: "red" };
}

function hasRequestId(error: unknown): string | null {
  if (typeof error !== "object" || error === null || !("body" in error)) return null;
  return (error as { body: { request_id?: string } }).body.request_id ?? null;
}
