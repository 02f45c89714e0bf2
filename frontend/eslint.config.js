import js from "@eslint/js";
import { importX } from "eslint-plugin-import-x";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import tseslint from "typescript-eslint";

const features = [
  "login",
  "jobs",
  "compare",
  "job",
  "ranks",
  "mix",
  "history",
  "trace",
  "alerts",
  "settings",
  "system",
];
const shared = ["api", "charts", "components", "lib"];

/** shared → features → app, and no feature knows another; only tests may use src/testing. */
const zonesFor = (testing) => [
  ...shared.map((folder) => ({
    target: `./src/${folder}`,
    from: ["./src/features", "./src/app", ...testing],
    message: `src/${folder} is shared: it may not import features, app or testing.`,
  })),
  {
    target: "./src/features",
    from: ["./src/app", ...testing],
    message: "A feature may import shared folders only; the app puts features together.",
  },
  ...features.map((feature) => ({
    target: `./src/features/${feature}`,
    from: "./src/features",
    except: [`./${feature}`],
    message: "Features meet in src/app; move what two of them need to a shared folder.",
  })),
  {
    target: "./src/lib",
    from: ["./src/api", "./src/charts", "./src/components"],
    message: "src/lib is plain TypeScript; it knows neither the API nor React components.",
  },
  {
    target: "./src/api",
    from: ["./src/charts", "./src/components"],
    message: "src/api knows nothing of what is drawn.",
  },
];
const restricted = (testing) => [
  "error",
  { basePath: import.meta.dirname, zones: zonesFor(testing) },
];

export default tseslint.config(
  { ignores: ["node_modules", "src/api/schema.d.ts"] },
  js.configs.recommended,
  {
    files: ["scripts/**/*.mjs", "*.js", "public/**/*.js"],
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
  },
  {
    files: ["**/*.{ts,tsx}"],
    extends: [
      ...tseslint.configs.strictTypeChecked,
      importX.flatConfigs.typescript,
      jsxA11y.flatConfigs.strict,
      reactHooks.configs.flat.recommended,
    ],
    plugins: { "import-x": importX },
    languageOptions: {
      globals: globals.browser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      // The router's redirects are thrown, and are no errors.
      "@typescript-eslint/only-throw-error": "off",
      "import-x/no-restricted-paths": restricted(["./src/testing"]),
      "import-x/no-default-export": "error",
      "import-x/no-cycle": "error",
      "import-x/order": [
        "error",
        {
          alphabetize: { order: "asc" },
          "newlines-between": "always",
          groups: ["builtin", "external", "internal", "parent", "sibling", "index"],
          pathGroupsExcludedImportTypes: ["builtin"],
          pathGroups: [{ pattern: "@/**", group: "internal" }],
        },
      ],
      // Narrow screens lay table rows out as cards; only explicit roles keep them a table to a screen reader then.
      "jsx-a11y/no-redundant-roles": "off",
      "jsx-a11y/no-interactive-element-to-noninteractive-role": "off",
      "max-lines": ["error", { max: 250, skipBlankLines: false, skipComments: false }],
      "no-restricted-syntax": [
        "error",
        {
          selector: "ExportAllDeclaration",
          message: "No barrels: import the file that defines the name.",
        },
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "Text from the server is rendered as text only.",
        },
      ],
    },
    settings: { "import-x/resolver": { typescript: true } },
  },
  {
    files: ["src/**/*.test.{ts,tsx}"],
    rules: { "import-x/no-restricted-paths": restricted([]) },
  },
  { files: ["vite.config.ts"], rules: { "import-x/no-default-export": "off" } },
);
