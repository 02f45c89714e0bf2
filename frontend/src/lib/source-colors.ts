/** The colours of the sources by job order: the same in both themes and in the server's figures. */
const COLORS = [
  "#2569a8",
  "#e9622e",
  "#4d9d61",
  "#8d4dde",
  "#816020",
  "#bf1c7f",
  "#4b8efe",
  "#b27ead",
] as const;
const OTHER_COLOR = "#7f8894";

/** The colour of the source at this place in the job's order; grey from the ninth on. */
export const sourceColor = (position: number): string => COLORS[position] ?? OTHER_COLOR;
