import { Link } from "@tanstack/react-router";

import { EmptyState } from "@/components/page-states";

/** In place of a page whose address leads nowhere. */
export function NotFound() {
  return (
    <EmptyState title="There is no such page">
      <Link to="/jobs">All jobs</Link>
    </EmptyState>
  );
}
