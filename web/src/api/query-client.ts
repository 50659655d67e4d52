/** The query cache: refused requests fail at once, unanswered ones are asked again until the service is back. */
import { QueryClient } from "@tanstack/react-query";
import { Unreachable } from "./failure";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: "always",
      staleTime: 2_000,
      retry: (_, error) => error instanceof Unreachable,
      retryDelay: (attempt) => Math.min(1_000 * 1.6 ** attempt, 8_000),
    },
    mutations: { networkMode: "always", retry: false },
  },
});
