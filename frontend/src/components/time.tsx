import { formatAge, formatLocal, formatUtc } from "@/lib/time";
import { useNow } from "@/lib/use-now";

/** A moment in the reader's zone, with UTC on hover. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatUtc(at)}>
      {formatLocal(at, new Date())}
    </time>
  );
}

/** How long ago a moment was, counting up, with UTC on hover. */
export function Age({ at, suffix = " ago" }: { at: string; suffix?: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={formatUtc(at)}>
      {formatAge(Date.parse(at), now)}
      {suffix}
    </time>
  );
}
