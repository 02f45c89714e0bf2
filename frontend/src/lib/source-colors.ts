/** The colours of the sources by job order: the same in both themes and in the server's figures. */
const COLORS = [
  "#3b7dd8",
  "#c96a12",
  "#2f8f5b",
  "#8b5cc7",
  "#cf4a5a",
  "#0f8b99",
  "#94703d",
  "#c2559d",
  "#7d8420",
  "#667a91",
] as const;

/** The colour of the `index`-th source of a job; they repeat after the last. */
export const sourceColor = (index: number): string => COLORS[index % COLORS.length] ?? COLORS[0];
