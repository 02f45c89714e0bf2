import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useState } from "react";

import { makeQueryClient } from "./query-client";
import { makeRouter } from "./router";
import { colorSchemeManager, theme } from "./theme";

/** The whole dashboard: theme, query cache and pages. */
export function App() {
  const [client] = useState(makeQueryClient);
  const [router] = useState(() => makeRouter(client));
  return (
    <MantineProvider
      theme={theme}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
