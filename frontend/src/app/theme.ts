import {
  Alert,
  Button,
  createTheme,
  localStorageColorSchemeManager,
  PasswordInput,
  SegmentedControl,
  Textarea,
  TextInput,
} from "@mantine/core";

/** The reader's choice is kept here; public/color-scheme.js reads the same key before the first paint. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: "headrace-color-scheme" });

/** Colours, radii and sizes are CSS variables in theme.css: the content security policy allows no inline style. */
export const theme = createTheme({
  primaryColor: "cyan",
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Alert: Alert.extend({ defaultProps: { variant: "light" } }),
    Button: Button.extend({ defaultProps: { size: "sm" } }),
    PasswordInput: PasswordInput.extend({ defaultProps: { size: "sm" } }),
    SegmentedControl: SegmentedControl.extend({
      defaultProps: { size: "xs", withItemsBorders: false },
    }),
    TextInput: TextInput.extend({ defaultProps: { size: "sm" } }),
    Textarea: Textarea.extend({ defaultProps: { size: "sm" } }),
  },
});
