/** The reviews of the admission benchmark: what an API server sends, and what has to come back. */
import * as z from "zod";

export const KINDS = ["ordinary", "first", "repeat"] as const;
export type Kind = (typeof KINDS)[number];

export const TITLE = {
  ordinary: "ordinary pod",
  first: "first eviction",
  repeat: "repeated eviction",
} as const satisfies Record<Kind, string>;

export function reviewOf(pod: { readonly namespace: string; readonly name: string }): string {
  return JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: crypto.randomUUID(),
      kind: { group: "policy", version: "v1", kind: "Eviction" },
      resource: { group: "", version: "v1", resource: "pods" },
      subResource: "eviction",
      requestKind: { group: "policy", version: "v1", kind: "Eviction" },
      requestResource: { group: "", version: "v1", resource: "pods" },
      requestSubResource: "eviction",
      ...pod,
      operation: "CREATE",
      userInfo: { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] },
      object: { apiVersion: "policy/v1", kind: "Eviction", metadata: pod },
      oldObject: null,
      dryRun: false,
      options: { apiVersion: "meta.k8s.io/v1", kind: "CreateOptions" },
    },
  });
}

const Answer = z.object({
  response: z.object({ allowed: z.boolean(), status: z.object({ message: z.string() }).optional() }),
});

/** Throws unless Lifeboat has answered as it must: the time of a wrong answer is no result. */
export function checkAnswer(kind: Kind, { code, text }: { readonly code: number; readonly text: string }): void {
  const parsed = code === 200 ? Answer.parse(JSON.parse(text)).response : undefined;
  if (parsed === undefined || !isRight(kind, parsed)) throw new Error(`${TITLE[kind]}: answered ${code} ${text}`);
}

function isRight(kind: Kind, { allowed, status }: z.output<typeof Answer>["response"]): boolean {
  switch (kind) {
    case "ordinary":
      return allowed;
    case "first":
      return !allowed && status?.message.startsWith("Eviction triggered evacuation") === true;
    // Where VMs have budgets, theirs answers it.
    case "repeat":
      return allowed || status?.message.startsWith("Evacuation in progress") === true;
  }
}
