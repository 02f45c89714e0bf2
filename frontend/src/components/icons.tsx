/** Paths of line icons of 16 px. */

const PATHS = {
  lock: "M4.5 7.5h7v6h-7zM5.75 7.5V5a2.25 2.25 0 0 1 4.5 0v2.5",
  unlock: "M4.5 7.5h7v6h-7zM5.75 7.5V4.75a2.25 2.25 0 0 1 4.4-.7",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.5v9l7.5-4.5z",
  copy: "M6 6h7.5v7.5H6zM10 6V2.5H2.5V10H6",
  check: "M3 8.5l3.2 3.2L13 5",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6z",
  screen: "M2 3.5h12v7.5H2zM6 13.5h4",
  warning: "M8 2.5l6 11H2zM8 6.5v3.2M8 11.4v.6",
  down: "M4 9.5l4 4 4-4M8 2.5v11",
  right: "M3 8h10M9 4l4 4-4 4",
} as const;

/** The icons there are. */
export type IconName = keyof typeof PATHS;

/** A line icon in the text's colour, for beside a text or inside a labelled control: it says nothing itself. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
