import type { Answer } from "../../../shared/kube/client.ts";

export function answer(code: number, facts?: unknown, message = ""): Answer {
  return { code, request: "the request", message, facts: () => facts };
}
