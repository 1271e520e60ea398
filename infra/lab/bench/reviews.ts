/** Reviews of evictions: what an API server sends, and what has to come back. */
import * as z from "zod";

interface ReviewedPod {
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

/** Throws unless Lifeboat has answered a first request as it must: the time of a wrong answer is no result. */
export function checkAnswer(kind: "first", { code, text }: { readonly code: number; readonly text: string }): void {
  const { allowed, status } = code === 200 ? Answer.parse(JSON.parse(text)).response : { allowed: true };
  if (allowed || status?.message.startsWith("Eviction triggered evacuation") !== true)
    throw new Error(`${kind} eviction: answered ${code} ${text}`);
}
