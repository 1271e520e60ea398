/** Creates the admission reviews of the benchmark, and checks the answers. */
import * as z from "zod";

export const KINDS = ["first", "repeat"] as const;
export type Kind = (typeof KINDS)[number];

export const TITLE = {
  first: "first eviction",
  repeat: "repeated eviction",
} as const satisfies Record<Kind, string>;

export interface ReviewedPod {
  readonly namespace: string;
  readonly name: string;
}

export function reviewOf(pod: ReviewedPod): string {
  return JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: crypto.randomUUID(),
      kind: { group: "policy", version: "v1", kind: "Eviction" },
      resource: { group: "", version: "v1", resource: "pods" },
      subResource: "eviction",
      ...pod,
      operation: "CREATE",
      userInfo: { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] },
      object: { apiVersion: "policy/v1", kind: "Eviction", metadata: pod },
      dryRun: false,
    },
  });
}

const Answer = z.object({
  response: z.object({ allowed: z.boolean(), status: z.object({ message: z.string() }).optional() }),
});

/** Throws if Lifeboat's answer is wrong. The benchmark measures only correct answers. */
export function checkAnswer(kind: Kind, { code, text }: { readonly code: number; readonly text: string }): void {
  const parsed = code === 200 ? Answer.parse(JSON.parse(text)).response : undefined;
  if (parsed === undefined || !isRight(kind, parsed)) throw new Error(`${TITLE[kind]}: wrong answer ${code} ${text}`);
}

function isRight(kind: Kind, { allowed, status }: z.output<typeof Answer>["response"]): boolean {
  const message = kind === "first" ? "Eviction triggered evacuation" : "Evacuation in progress";
  return !allowed && status?.message.startsWith(message) === true;
}
