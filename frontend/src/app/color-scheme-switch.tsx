import { useMantineColorScheme, type MantineColorScheme } from "@mantine/core";

import { Icon, type IconName } from "@/components/icons";

import classes from "./app-tools.module.css";

const NEXT: Record<MantineColorScheme, MantineColorScheme> = {
  auto: "light",
  light: "dark",
  dark: "auto",
};
const LABELS: Record<MantineColorScheme, string> = { auto: "system", light: "light", dark: "dark" };
const ICONS: Record<MantineColorScheme, IconName> = { auto: "screen", light: "sun", dark: "moon" };

/** Goes from the system's theme to light to dark; the choice is kept in this browser. */
export function ColorSchemeSwitch() {
  // Else Mantine stops transitions by a <style> element, which the content security policy forbids.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const next = NEXT[colorScheme];
  return (
    <button
      type="button"
      className={classes.tool}
      onClick={() => setColorScheme(next)}
      aria-label={`Theme: ${LABELS[colorScheme]}. Switch to ${LABELS[next]}`}
      title={`Theme: ${LABELS[colorScheme]}`}
    >
      <Icon name={ICONS[colorScheme]} />
    </button>
  );
}
