/** The accounts that schedule pods: a preemption by one that the guard does not know is not refused. */
import * as z from "zod/mini";
import type { Send } from "../../../shared/kube/transport.ts";

const SCHEDULER_ROLE = "system:kube-scheduler";
const Subject = z.object({ kind: z.string(), name: z.string(), namespace: z.optional(z.string()) });
const Bindings = z.object({
  items: z.array(z.object({ roleRef: z.object({ name: z.string() }), subjects: z._default(z.array(Subject), []) })),
});

/** Returns the usernames with the role of Kubernetes' scheduler, in any distribution. A group names nobody. */
export function schedulersIn(bindings: unknown): readonly string[] {
  const items = Bindings.safeParse(bindings).data?.items ?? [];
  const subjects = items.filter(({ roleRef }) => roleRef.name === SCHEDULER_ROLE).flatMap((one) => one.subjects);
  const named = subjects.flatMap(({ kind, name, namespace }) => {
    if (kind === "ServiceAccount") return [`system:serviceaccount:${namespace}:${name}`];
    return kind === "User" ? [name] : [];
  });
  return [...new Set(named)];
}

/** Returns a warning for schedulers that are not among the guard's requesters. */
export async function adviseOnSchedulers(send: Send, requesters: readonly string[]): Promise<string> {
  const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  const { body } = await send({ method: "GET", path, expect: [403, 404] });
  const unknown = schedulersIn(body).filter((name) => !requesters.includes(name));
  if (unknown.length === 0) return "";
  const patch = JSON.stringify({ spec: { guard: { requesters: [...requesters, ...unknown] } } });
  return `‼ the guard does not refuse preemptions by ${unknown.join(", ")}, which has the role ${SCHEDULER_ROLE}. If it schedules pods:
    kubectl patch lifeboatconfiguration lifeboat --type merge -p '${patch}', then lifeboat install
`;
}
