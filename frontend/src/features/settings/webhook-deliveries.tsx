import { useQuery } from "@tanstack/react-query";

import { deliveriesQuery } from "@/api/queries/webhooks";
import type { WebhookDelivery } from "@/api/types";
import { ErrorState, LoadingState } from "@/components/page-states";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { Moment } from "@/components/time";
import { plural } from "@/lib/format";

import classes from "./settings.module.css";

interface Props {
  project: string;
  webhook: string;
}

/** What came of a delivery, in a sentence. */
export function outcome(delivery: WebhookDelivery): { tone: "ok" | "warn" | "bad"; text: string } {
  const tries = plural(delivery.tries, "try", "tries");
  if (delivery.state === "delivered") {
    return { tone: "ok", text: `delivered: answered ${delivery.status ?? "2xx"} after ${tries}` };
  }
  const why = delivery.error ?? "not tried yet";
  if (delivery.state === "given_up") return { tone: "bad", text: `given up: ${why}` };
  return delivery.tries === 0
    ? { tone: "warn", text: "on its way" }
    : { tone: "warn", text: `failed: ${why}; tried again later` };
}

/** What came of the test, as soon as the receiver has answered or failed to. */
export function TestResult({ project, webhook, delivery }: Props & { delivery: WebhookDelivery }) {
  const deliveries = useQuery(deliveriesQuery(project, webhook));
  const now = deliveries.data?.find(({ id }) => id === delivery.id) ?? delivery;
  const { tone, text } = outcome(now);
  return (
    <p role="status" className={classes[tone]} data-test-result={now.state}>
      Test {text}.
    </p>
  );
}

/** The newest deliveries and what came of each. */
export function Deliveries({ project, webhook }: Props) {
  const deliveries = useQuery(deliveriesQuery(project, webhook));
  if (deliveries.isPending) return <LoadingState label="Loading the deliveries" rows={2} />;
  if (deliveries.data === undefined) {
    return <ErrorState error={deliveries.error} onRetry={() => void deliveries.refetch()} />;
  }
  if (deliveries.data.length === 0) return <p className={classes.dim}>Nothing was sent yet.</p>;
  return (
    <RecordTable label="Deliveries" columns={["Event", "Made", "Outcome", "Next try"]}>
      {deliveries.data.map((delivery) => (
        <RecordRow
          key={delivery.id}
          name={
            <>
              {delivery.kind}
              <span className={classes.small}>{delivery.text}</span>
            </>
          }
        >
          <RecordCell label="Made">
            <Moment at={delivery.created_at} />
          </RecordCell>
          <RecordCell label="Outcome">
            <span className={classes[outcome(delivery).tone]}>{outcome(delivery).text}</span>
          </RecordCell>
          <RecordCell label="Next try">
            {delivery.next_at === null ? "–" : <Moment at={delivery.next_at} />}
          </RecordCell>
        </RecordRow>
      ))}
    </RecordTable>
  );
}
